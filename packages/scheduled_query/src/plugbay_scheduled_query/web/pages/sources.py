"""Data sources: listed, added with a self-test, edited, looked into and deleted. For admins."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response
from plugbay import FlashMessage, require_role

from plugbay_scheduled_query.catalogue.editing import SavedSource, SourceLocked, Tested, UnknownSource
from plugbay_scheduled_query.catalogue.sources import SourceView
from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.repository.sources import SourceInUse
from plugbay_scheduled_query.runs.executing import SourceProblem
from plugbay_scheduled_query.web.pages.site import HOME, PREFIX, Site, Typed, number

SOURCES = f"{PREFIX}/sources"
CRUMBS = (HOME, ("Data sources", SOURCES))
NO_SOURCE = "There is no such data source."
REFUSED = 422


def source_routes(site: Site) -> APIRouter:
    router = APIRouter(dependencies=[require_role("admin")])

    @router.get("/sources")
    def sources(request: Request) -> Response:
        context = {"views": site.parts.catalogue.views(), "levels": site.parts.capacities.by_source()}
        return site.page(
            request, "sources", {**context, "pace": site.parts.capacities.pace(), "topic": "sources"}
        )

    @router.get("/sources/add")
    def new(request: Request) -> Response:
        return form_page(site, request, {})

    @router.post("/sources/add")
    def add(request: Request, typed: Typed) -> Response:
        saved = site.parts.source_editing.add(given(typed))
        if isinstance(saved, Refused):
            return form_page(site, request, typed, status_code=REFUSED, errors=saved.errors)
        return _after(site, request, saved, f"The data source “{saved.view.stored.name}” is added.")

    @router.get("/sources/{source_id}")
    def edit(request: Request, source_id: str) -> Response:
        view = found(site, source_id)
        return form_page(site, request, stored_form(view), view)

    @router.post("/sources/{source_id}")
    def save(request: Request, source_id: str, typed: Typed) -> Response:
        view = found(site, source_id)
        try:
            saved = site.parts.source_editing.edit(view.stored.id, given(typed))
        except (UnknownSource, SourceLocked) as error:
            return site.to(request, SOURCES, FlashMessage(str(error), "error"))
        if isinstance(saved, Refused):
            return form_page(site, request, typed, view, REFUSED, errors=saved.errors)
        return _after(site, request, saved, f"The data source “{saved.view.stored.name}” is saved.")

    @router.post("/sources/{source_id}/delete")
    def delete(request: Request, source_id: str) -> Response:
        view = found(site, source_id)
        try:
            site.parts.source_editing.delete(view.stored.id)
        except (UnknownSource, SourceLocked, SourceInUse) as error:
            reason = f"The data source “{view.stored.name}” stays: {error}"
            return site.to(request, SOURCES, FlashMessage(reason, "error"))
        return site.to(request, SOURCES, FlashMessage(f"The data source “{view.stored.name}” is deleted."))

    @router.post("/sources/{source_id}/test")
    def test(request: Request, source_id: str) -> Response:
        view = found(site, source_id)
        return site.to(
            request, SOURCES, *told(view.stored.name, site.parts.source_editing.test(view.stored.id))
        )

    @router.get("/sources/{source_id}/schema")
    def schema(request: Request, source_id: str) -> Response:
        view = found(site, source_id)
        context = {"view": view, "crumbs": CRUMBS, "topic": "sources", "schema": None, "problem": ""}
        try:
            is_fresh = "fresh" in request.query_params
            context["schema"] = site.parts.catalogue.schema(view.stored.id, is_fresh)
        except SourceProblem as problem:
            context["problem"] = str(problem)
        return site.page(request, "schema", context)

    return router


def form_page(
    site: Site,
    request: Request,
    typed: Mapping[str, str],
    view: SourceView | None = None,
    status_code: int = 200,
    errors: Mapping[str, str] | None = None,
) -> Response:
    """The form of a source, filled in with what was typed."""
    context = {"typed": typed, "view": view, "errors": errors or {}, "crumbs": CRUMBS, "topic": "sources"}
    return site.page(request, "source", context, status_code)


def given(typed: Mapping[str, str]) -> dict[str, Any]:
    """What a form sent, as the API would have sent it."""
    fields: dict[str, Any] = {name: typed[name] for name in ("name", "url") if name in typed}
    return fields | {"accepts_unguarded": bool(typed.get("accepts_unguarded"))}


def stored_form(view: SourceView) -> dict[str, str]:
    """A source as its form shows it; the URL without its secrets."""
    form = {"name": view.stored.name, "url": view.masked_url or ""}
    return form | ({"accepts_unguarded": "on"} if view.stored.accepts_unguarded else {})


def found(site: Site, source_id: str) -> SourceView:
    """The source of that number, or 404."""
    view = site.parts.catalogue.view(number(source_id, NO_SOURCE))
    if view is None:
        raise HTTPException(404, NO_SOURCE)
    return view


def told(name: str, tested: Tested) -> list[FlashMessage]:
    """What a test found, in sentences."""
    if tested.error:
        return [FlashMessage(f"“{name}” cannot be reached: {tested.error}", "error")]
    works = FlashMessage(f"“{name}” answers: {tested.server}.")
    return [works, *_warnings(tested.warnings, tested.statements)]


def _after(site: Site, request: Request, saved: SavedSource, text: str) -> Response:
    return site.to(request, SOURCES, FlashMessage(text), *_warnings(saved.warnings, saved.statements))


def _warnings(warnings: tuple[str, ...], statements: tuple[str, ...]) -> list[FlashMessage]:
    if not warnings:
        return []
    advice = "\nA better account:\n" + "\n".join(statements) if statements else ""
    sentences = (text[:1].upper() + text[1:] for text in warnings)
    return [FlashMessage("\n".join(sentences) + advice, "warning")]
