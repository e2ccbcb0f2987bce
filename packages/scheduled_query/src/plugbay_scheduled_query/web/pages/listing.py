"""Which queries a list shows, as its address says; what cannot be understood is left out. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from anyio import from_thread
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response
from plugbay import CurrentUser, FlashMessage, require_role

from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.model import Execution, Status
from plugbay_scheduled_query.core.paging import MAX_SEARCH, BadParameter, plain_integer
from plugbay_scheduled_query.queries.editing import Saved, UnknownQuery
from plugbay_scheduled_query.repository.definitions import Filter, Listing, Sort, VersionConflict
from plugbay_scheduled_query.web.pages.site import (
    LIST,
    NO_QUERY,
    PREFIX,
    UNCHANGED,
    Site,
    came_from,
    has_seen,
    is_part,
    mark,
    mark_of,
    mark_of_all,
    with_toasts,
)

LIMIT = 50
MAX_PAGE = 1_000_000
SORTS = tuple(word for word in get_args(Sort) if word != "id")
FILTERS = get_args(Filter)


@dataclass(frozen=True, slots=True)
class ListView:
    """A page of a list: what it shows and in which order."""

    listing: Listing
    page: int = 1
    limit: int = LIMIT

    @property
    def is_filtered(self) -> bool:
        listing = self.listing
        return bool(listing.search or listing.data_source or listing.tag or listing.only != "all")

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.limit

    def within(self, total: int) -> "ListView":
        """The same, or its last page when there are fewer by now."""
        return replace(self, page=max(1, min(self.page, -(-total // self.limit))))


def list_view(given: Mapping[str, str], limit: int = LIMIT) -> ListView:
    """Reads an address."""
    listing = Listing(
        search=given.get("search", "").strip()[:MAX_SEARCH],
        only=_one_of(given.get("status", ""), FILTERS),
        data_source=given.get("source", ""),
        tag=given.get("tag", ""),
        sort=_one_of(given.get("sort", ""), SORTS),
        descending=given.get("order") == "desc",
    )
    return ListView(listing, page_number(given), limit)


def page_number(given: Mapping[str, str], name: str = "page") -> int:
    """The page that an address asks for, else the first."""
    try:
        return plain_integer(name, given.get(name, "1"), maximum=MAX_PAGE)
    except BadParameter:
        return 1


def _one_of(word: str, words: tuple[Any, ...]) -> Any:
    return word if word in words else words[0]


MOST_SOURCES = 4  # shown with how full they are; the fullest first


def listing_routes(site: Site) -> APIRouter:
    router = APIRouter()

    @router.get("/")
    def queries(request: Request) -> Response:
        view = list_view(request.query_params)
        return site.page(request, "list", {**list_context(site, view), "topic": "list", "crumbs": ()})

    @router.get("/rows")
    def rows(request: Request) -> Response:
        context = list_context(site, list_view(request.query_params))
        if has_seen(request, context["seen"]):
            return Response(status_code=UNCHANGED)
        return site.page(request, "list_live", {**context, "is_refresh": True})

    @router.get("/row/{query_id}")
    def row(request: Request, query_id: str) -> Response:
        context = row_context(site, query_id)
        if has_seen(request, mark_of(context["query"], site.parts.clock.now())):
            return Response(status_code=UNCHANGED)
        return site.page(request, "row", context)

    return router


def list_context(site: Site, view: ListView) -> dict[str, Any]:
    """One page of the list and the counters above it."""
    definitions, overview = site.parts.definitions, site.parts.overview
    queries, total = definitions.page(view.listing, view.offset, view.limit)
    if not queries and total:
        view = view.within(total)
        queries, total = definitions.page(view.listing, view.offset, view.limit)
    counts = definitions.counts() | {"running": overview.running()}
    levels, sources, next_due = fill_levels(site), site.parts.catalogue.all(), overview.next_due()
    counters = mark(counts, next_due, [f"{name} {level.fill_then:.3f}" for name, level in levels])
    return {
        "view": view,
        "sources": sources,
        "queries": queries,
        "total": total,
        "pages": -(-total // view.limit),
        "counts": counts,
        "next_due": next_due,
        "levels": levels[:MOST_SOURCES],
        "under_way": overview.under_way([query.id for query in queries if query.running]),
        "timeout": site.parts.settings().query_timeout,
        "counters_mark": counters,
        "seen": mark_of_all(queries, site.parts.clock.now(), total, counters),
    }


def row_context(site: Site, query_id: str) -> dict[str, Any]:
    """One row of the list."""
    query = site.query(query_id)
    under_way = site.parts.overview.under_way([query.id] if query.running else [])
    return {
        "query": query,
        "under_way": under_way,
        "timeout": site.parts.settings().query_timeout,
    }


def fill_levels(site: Site) -> list[tuple[str, Any]]:
    """How full each source is, the fullest first."""
    levels: Mapping[str, Any] = site.parts.capacities.by_source()
    return sorted(levels.items(), key=lambda item: -item[1].fill_then)


QUICK_S = 0.3  # a run that ends within this shows its result at once


def action_routes(site: Site) -> APIRouter:
    router = APIRouter()

    @router.post("/run/{query_id}")
    def run(request: Request, query_id: str, user: CurrentUser) -> Response:
        query = site.query(query_id)
        ran = from_thread.run(site.parts.service.run_now, query.id, user.name, QUICK_S)
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
            saved = site.parts.editing.toggle(query.id, user.name)
        except VersionConflict:
            return _done(
                site, request, query_id, FlashMessage(f"Somebody just changed “{query.name}”.", "warning")
            )
        return _done(site, request, query_id, *_switched(site, query.name, saved))

    @router.post("/duplicate/{query_id}")
    def duplicate(request: Request, query_id: str, user: CurrentUser) -> Response:
        query = site.query(query_id)
        saved = site.parts.editing.duplicate(query.id, user.name)
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
            site.parts.editing.delete(query.id, user.name)
        except UnknownQuery:
            raise HTTPException(404, NO_QUERY) from None
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
    warnings = site.parts.editing.warnings(saved)
    return [FlashMessage(told), *(FlashMessage(text, "warning") for text in warnings)]
