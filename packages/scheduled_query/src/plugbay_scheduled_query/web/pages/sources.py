"""Data sources: listed, added with a self-test, edited, looked into and deleted. For admins."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response
from plugbay import CurrentUser, FlashMessage
from plugbay.web import Typed, plain_integer, row_id

from plugbay_scheduled_query.catalogue import SourceView
from plugbay_scheduled_query.catalogue.editing import NotReached, SourceLocked, UnknownSource
from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.errors import SourceProblem
from plugbay_scheduled_query.repository.sources import SourceInUse
from plugbay_scheduled_query.web.pages.site import ADMIN, HOME, NO_SOURCE, PREFIX, REFUSED, CurrentSite, Site

SOURCES = f"{PREFIX}/sources"
PACE = ("pace_s", "max_parallel")
PROPOSED_PACE = "0"  # who adds a source by hand wants its queries to run when they are due
CRUMBS = (HOME, ("Data sources", SOURCES))

router = APIRouter(prefix=PREFIX, include_in_schema=False, dependencies=ADMIN)


@router.get("/sources")
def sources(site: CurrentSite) -> Response:
    """All of them, with how full they are."""
    context = {"views": site.parts.catalogue.views(), "levels": site.parts.capacities.by_source()}
    context |= {"pauses": site.parts.sessions.pauses(), "added": site.asked.get("added", "")}
    return site.page("sources", {**context, "paces": site.parts.capacities.paces(), "topic": "sources"})


@router.get("/sources/add")
def new(site: CurrentSite) -> Response:
    """An empty form."""
    return form_page(site, {"pace_s": PROPOSED_PACE})


@router.post("/sources/add")
async def add(site: CurrentSite, typed: Typed, user: CurrentUser) -> Response:
    """Stores a new source, after a look at what its account can do."""
    return await site.parts.doors.looks.run(user.name, _added, site, typed)


def _added(site: Site, typed: Mapping[str, str]) -> Response:
    saved = site.parts.source_editing.add(from_form(typed), anyway="anyway" in typed)
    if isinstance(saved, Refused):
        return form_page(site, typed, refused=saved)
    site.parts.service.refill()
    return site.to(f"{SOURCES}?added={saved.view.stored.id}")


@router.get("/sources/{source_id}")
def edit(site: CurrentSite, source_id: str) -> Response:
    """The form of a stored source."""
    view = found(site, source_id)
    return form_page(site, stored_form(view), view)


@router.post("/sources/{source_id}")
async def save(site: CurrentSite, source_id: str, typed: Typed, user: CurrentUser) -> Response:
    """Stores what was typed."""
    return await site.parts.doors.looks.run(user.name, _stored, site, source_id, typed)


def _stored(site: Site, source_id: str, typed: Mapping[str, str]) -> Response:
    view = found(site, source_id)
    try:
        saved = site.parts.source_editing.edit(view.stored.id, from_form(typed), anyway="anyway" in typed)
    except (UnknownSource, SourceLocked) as error:
        return site.to(SOURCES, FlashMessage(str(error), "error"))
    if isinstance(saved, Refused):
        return form_page(site, typed, view, saved)
    site.parts.service.refill()  # another pace counts at once
    stored = saved.view.stored
    return site.to(f"{SOURCES}#s-{stored.id}", FlashMessage(f"The data source “{stored.name}” is saved."))


@router.get("/sources/{source_id}/delete")
def ask(site: CurrentSite, source_id: str) -> Response:
    """The question before it, with the queries that use the source: a page, or part of a dialog."""
    view = found(site, source_id)
    users = site.parts.sources.users(view.stored.id)
    context = {"view": view, "users": users, "is_dialog": site.is_part, "crumbs": CRUMBS, "topic": "sources"}
    return site.page("source_delete_form" if site.is_part else "source_delete", context)


@router.post("/sources/{source_id}/delete")
def delete(site: CurrentSite, source_id: str) -> Response:
    """Deletes a source that no query uses."""
    view = found(site, source_id)
    try:
        site.parts.source_editing.delete(view.stored.id)
    except (UnknownSource, SourceLocked, SourceInUse) as error:
        reason = f"The data source “{view.stored.name}” stays: {error}"
        return site.to(SOURCES, FlashMessage(reason, "error"))
    return site.to(SOURCES, FlashMessage(f"The data source “{view.stored.name}” is deleted."))


@router.post("/sources/{source_id}/test")
async def test(site: CurrentSite, source_id: str, user: CurrentUser) -> Response:
    """Connects, and tells what came of it."""
    return await site.parts.doors.looks.run(user.name, _tested, site, source_id)


def _tested(site: Site, source_id: str) -> Response:
    stored = found(site, source_id).stored
    site.parts.source_editing.test(stored.id)
    return site.to(f"{SOURCES}#s-{stored.id}")


@router.post("/sources/{source_id}/resume")
def resume(site: CurrentSite, source_id: str, user: CurrentUser) -> Response:
    """Lets queries start again at a source that is paused."""
    stored = found(site, source_id).stored
    is_resumed = site.parts.sessions.resume(stored.id, user.name)
    what = "goes on: what is due there starts now" if is_resumed else "was not paused any more"
    return site.to(SOURCES, FlashMessage(f"“{stored.name}” {what}."))


@router.get("/sources/{source_id}/schema")
async def schema(site: CurrentSite, source_id: str, user: CurrentUser) -> Response:
    """Its tables and columns."""
    return await site.parts.doors.looks.run(user.name, _schema_page, site, source_id)


def _schema_page(site: Site, source_id: str) -> Response:
    view = found(site, source_id)
    context = {"view": view, "crumbs": CRUMBS, "topic": "sources", "schema": None, "problem": ""}
    try:
        context["schema"] = site.parts.catalogue.schema(view.stored.id, "fresh" in site.asked)
    except SourceProblem as problem:
        context["problem"] = str(problem)
    return site.page("schema", context)


def form_page(
    site: Site,
    typed: Mapping[str, str],
    view: SourceView | None = None,
    refused: Refused | None = None,
) -> Response:
    """The form of a source, filled in with what was typed; what cannot be reached may be stored anyway."""
    context: dict[str, Any] = {"typed": typed, "view": view, "crumbs": CRUMBS}
    context |= {"errors": refused.errors if refused else {}}
    context |= {"is_unreached": isinstance(refused, NotReached), "settings": site.parts.settings()}
    return site.page("source", {**context, "topic": "sources"}, REFUSED if refused else 200)


def from_form(typed: Mapping[str, str]) -> dict[str, Any]:
    """What a form sent, as the API would have sent it."""
    fields: dict[str, Any] = {name: typed[name] for name in ("name", "url") if name in typed}
    fields |= {name: _number(typed[name].strip()) for name in PACE if name in typed}
    return fields | {"accepts_unguarded": bool(typed.get("accepts_unguarded"))}


def stored_form(view: SourceView) -> dict[str, str]:
    """A source as its form shows it; the URL without its secrets."""
    form = {"name": view.stored.name, "url": view.masked_url or ""}
    pace = {name: getattr(view.stored, name) for name in PACE}
    form |= {name: str(value) for name, value in pace.items() if value is not None}
    return form | ({"accepts_unguarded": "on"} if view.stored.accepts_unguarded else {})


def _number(text: str) -> int | str | None:
    """A number, nothing, or a text that the check will refuse."""
    try:
        return plain_integer(text) if text else None
    except ValueError:
        return text


def found(site: Site, source_id: str) -> SourceView:
    """The source of that number, or 404."""
    view = site.parts.catalogue.view(row_id(source_id, NO_SOURCE))
    if view is None:
        raise HTTPException(404, NO_SOURCE)
    return view
