"""What the buttons of a list or a query page do: one call each, then the refreshed row or the way back."""

from typing import Literal

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response
from plugbay import CurrentUser, FlashMessage, require_role

from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.model import Execution, Status
from plugbay_scheduled_query.pages.listing import row_context
from plugbay_scheduled_query.pages.site import (
    LIST,
    NO_QUERY,
    PREFIX,
    Site,
    came_from,
    is_part,
    with_toasts,
)
from plugbay_scheduled_query.repository.definitions import VersionConflict
from plugbay_scheduled_query.workbench import Saved, UnknownQuery

QUICK_S = 0.3  # a run that ends within this shows its result at once


def action_routes(site: Site) -> APIRouter:
    router = APIRouter()

    @router.post("/run/{query_id}")
    def run(request: Request, query_id: str, user: CurrentUser) -> Response:
        query = site.query(query_id)
        ran = site.parts.service.run_now(query.id, user.name, QUICK_S)
        if ran is None:
            raise HTTPException(404, NO_QUERY)
        return _done(
            site, request, query_id, FlashMessage(_told(query.name, ran.execution), _level(ran.execution))
        )

    @router.post("/cancel/{query_id}")
    def cancel(request: Request, query_id: str, user: CurrentUser) -> Response:
        query = site.query(query_id)
        is_stopping = site.parts.service.cancel(query.id, user.name)
        told = f"“{query.name}” is being cancelled." if is_stopping else f"“{query.name}” was not running."
        return _done(site, request, query_id, FlashMessage(told, "info"))

    @router.post("/toggle/{query_id}")
    def toggle(request: Request, query_id: str, user: CurrentUser) -> Response:
        query = site.query(query_id)
        try:
            saved = site.parts.workbench.toggle(query.id, user.name)
        except VersionConflict:
            return _done(
                site, request, query_id, FlashMessage(f"Somebody just changed “{query.name}”.", "warning")
            )
        site.parts.capacities.forget()
        return _done(site, request, query_id, *_switched(site, query.name, saved))

    @router.post("/duplicate/{query_id}")
    def duplicate(request: Request, query_id: str, user: CurrentUser) -> Response:
        query = site.query(query_id)
        saved = site.parts.workbench.duplicate(query.id, user.name)
        if isinstance(saved, Refused):
            return site.back(request, *refusals(f"“{query.name}” was not copied", saved))
        told = f"This is a copy of “{query.name}”. It is switched off until you enable it."
        return site.to(request, f"{PREFIX}/edit/{saved.query.id}", FlashMessage(told))

    @router.get("/delete/{query_id}", dependencies=[require_role("editor")])
    def ask(request: Request, query_id: str) -> Response:
        """The question before it: a page, or what htmx puts into a dialog."""
        context = {"query": site.query(query_id), "is_dialog": is_part(request)}
        return site.page(request, "delete_form" if is_part(request) else "delete", context)

    @router.post("/delete/{query_id}")
    def delete(request: Request, query_id: str, user: CurrentUser) -> Response:
        query = site.query(query_id)
        try:
            site.parts.workbench.delete(query.id, user.name)
        except UnknownQuery:
            raise HTTPException(404, NO_QUERY) from None
        site.parts.capacities.forget()
        message = FlashMessage(f"“{query.name}” and its history are deleted.")
        is_from_list = (came_from(request) or "").partition("?")[0].endswith(LIST)
        return site.back(request, message) if is_from_list else site.to(request, LIST, message)

    return router


def refusals(what: str, refused: Refused) -> list[FlashMessage]:
    """What the checks said, where there is no form to say it at."""
    reasons = "; ".join(f"{field}: {reason}" for field, reason in refused.errors.items())
    return [FlashMessage(f"{what}: {reasons}", "error")]


def _done(site: Site, request: Request, query_id: str, *messages: FlashMessage) -> Response:
    if not is_part(request):
        return site.back(request, *messages)
    return with_toasts(site.page(request, "row", row_context(site, query_id)), *messages)


def _told(name: str, execution: Execution | None) -> str:
    if execution is None:
        return f"“{name}” is running."
    if execution.status is Status.SUCCESS:
        return f"“{name}” ran in {execution.duration_ms:,} ms."
    return f"“{name}”: {execution.status.value}. {execution.error_message or ''}".strip()


def _level(execution: Execution | None) -> Literal["success", "info", "error"]:
    if execution is None:
        return "info"
    return "success" if execution.status is Status.SUCCESS else "error"


def _switched(site: Site, name: str, saved: Saved | Refused) -> list[FlashMessage]:
    if isinstance(saved, Refused):
        return refusals(f"“{name}” was not switched", saved)
    told = (
        f"“{name}” runs on schedule again."
        if saved.query.enabled
        else f"“{name}” no longer runs on schedule."
    )
    warnings = site.parts.workbench.warnings(saved)
    return [FlashMessage(told), *(FlashMessage(text, "warning") for text in warnings)]
