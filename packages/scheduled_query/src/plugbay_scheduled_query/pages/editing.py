"""Creating and editing a query: forms that come back filled in, and never overwrite unknowingly."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response
from plugbay import CurrentUser, FlashMessage, require_role

from plugbay_scheduled_query.core.draft import Refused, draft_of
from plugbay_scheduled_query.core.draft_form import as_form, from_form
from plugbay_scheduled_query.core.model import Query, RenderType
from plugbay_scheduled_query.core.timezones import zone_names
from plugbay_scheduled_query.pages.drafting import NEW, SCHEDULES, differences, metric_preview, upcoming
from plugbay_scheduled_query.pages.result_view import forms
from plugbay_scheduled_query.pages.site import NO_QUERY, PREFIX, Site, Typed, number
from plugbay_scheduled_query.repository.definitions import VersionConflict
from plugbay_scheduled_query.workbench import Saved, UnknownQuery

EDITOR = [require_role("editor")]
CONFLICT, REFUSED = 409, 422


def editing_routes(site: Site) -> APIRouter:
    router = APIRouter()

    @router.get("/create", dependencies=EDITOR)
    def new(request: Request) -> Response:
        return form_page(site, request, NEW | dict(request.query_params))

    @router.post("/create")
    def create(request: Request, typed: Typed, user: CurrentUser) -> Response:
        saved = site.parts.workbench.create(from_form(typed), user.name)
        if isinstance(saved, Refused):
            return form_page(site, request, typed, status_code=REFUSED, errors=saved.errors)
        return _after(site, request, saved, f"“{saved.query.name}” is created.")

    @router.get("/edit/{query_id}", dependencies=EDITOR)
    def edit(request: Request, query_id: str) -> Response:
        query = site.query(query_id)
        return form_page(site, request, stored_form(query), query)

    @router.post("/edit/{query_id}")
    def save(request: Request, query_id: str, typed: Typed, user: CurrentUser) -> Response:
        query = site.query(query_id)
        try:
            saved = site.parts.workbench.edit(query.id, from_form(typed), user.name, _version(typed))
        except UnknownQuery:
            raise HTTPException(404, NO_QUERY) from None
        except VersionConflict as conflict:
            return _conflict_page(site, request, typed, conflict.current)
        if isinstance(saved, Refused):
            return form_page(site, request, typed, query, REFUSED, errors=saved.errors)
        told = f"“{saved.query.name}” is saved." if saved.changed else "Nothing was changed."
        return _after(site, request, saved, told)

    return router


def form_page(
    site: Site,
    request: Request,
    typed: Mapping[str, str],
    query: Query | None = None,
    status_code: int = 200,
    **more: Any,
) -> Response:
    """The form, filled in with what was typed."""
    settings = site.parts.settings()
    context = {
        "typed": typed,
        "query": query,
        "errors": {},
        "sources": site.parts.book.all(),
        "schedules": SCHEDULES,
        "zones": sorted(zone_names()),
        "render_types": [kind.value for kind in RenderType],
        "settings": settings,
        "upcoming": upcoming(
            typed.get("cron_schedule", ""), typed.get("timezone") or settings.timezone, site.parts.clock.now()
        ),
        "metric": metric_preview(typed),
        "preview": latest_forms(site, query),
        "topic": "editor",
        **more,
    }
    return site.page(request, "editor", context, status_code)


def latest_forms(site: Site, query: Query | None) -> dict[str, Any] | None:
    """The latest result of a query in each form, for the preview."""
    latest = site.parts.glances.latest([query.id]).get(query.id) if query else None
    return (
        {"forms": forms(latest.columns, latest.text, latest.is_whole), "latest": latest} if latest else None
    )


def stored_form(query: Query) -> dict[str, str]:
    """A query as its form shows it; the version says what an edit was made of."""
    return as_form(draft_of(query)) | {"version": str(query.version)}


def _conflict_page(site: Site, request: Request, typed: Mapping[str, str], current: Query) -> Response:
    theirs = stored_form(current)
    conflict = {"current": current, "differences": differences(typed, theirs)}
    return form_page(site, request, typed, current, CONFLICT, conflict=conflict)


def _version(typed: Mapping[str, str]) -> int | None:
    text = typed.get("version", "")
    return number(text, NO_QUERY) if text else None


def _after(site: Site, request: Request, saved: Saved, told: str) -> Response:
    site.parts.capacities.forget()
    warnings = [FlashMessage(text, "warning") for text in site.parts.workbench.warnings(saved)]
    return site.to(request, f"{PREFIX}/query/{saved.query.id}", FlashMessage(told), *warnings)
