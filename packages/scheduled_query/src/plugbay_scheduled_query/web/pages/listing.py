"""The list of queries, and what can be done to each of them from its row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from fastapi import APIRouter, Depends, HTTPException
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from plugbay import CurrentUser, FlashMessage, runs
from plugbay.web import plain_integer

from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.model import Execution, Query, Status
from plugbay_scheduled_query.core.paging import MAX_SEARCH
from plugbay_scheduled_query.core.rendering import Brief
from plugbay_scheduled_query.queries.editing import Saved, UnknownQuery
from plugbay_scheduled_query.repository.definitions import Filter, Listing, Sort, VersionConflict
from plugbay_scheduled_query.web.api.runs import paused_reason
from plugbay_scheduled_query.web.pages.charts import brief_of
from plugbay_scheduled_query.web.pages.site import (
    ADMIN,
    EDITOR,
    LIST,
    NO_QUERY,
    PREFIX,
    UNCHANGED,
    CurrentSite,
    Site,
    fingerprint,
    list_fingerprint,
    query_fingerprint,
    with_toasts,
)

LIMIT = 50  # queries on a page
MAX_PAGE = 1_000_000
FULL = 0.8  # the share of possible starts from which on a source is worth a warning
MOST_SOURCES = 4  # warned of; the fullest first
QUICK_S = 0.3  # a run that ends within this shows its result at once
SORTS = tuple(word for word in get_args(Sort) if word != "id")
FILTERS = get_args(Filter)

router = APIRouter(prefix=PREFIX, include_in_schema=False)


@router.get("/")
def queries(site: CurrentSite) -> Response:
    """The list."""
    context = list_context(site, list_view(site.asked))
    context |= {"briefs": briefs(site, context["queries"]), "topic": "list", "crumbs": ()}
    return site.page("list", context)


@router.get("/rows")
def rows(site: CurrentSite) -> Response:
    """The part of the list that refreshes itself."""
    context = list_context(site, list_view(site.asked))
    if site.has_seen(context["seen"]):
        return Response(status_code=UNCHANGED)
    context |= {"briefs": briefs(site, context["queries"]), "is_refresh": True}
    return site.page("list_live", context)


@router.get("/row/{query_id}")
def row(site: CurrentSite, query_id: str) -> Response:
    """One row, while its query runs."""
    query = site.query(query_id)
    if site.has_seen(query_fingerprint(query, site.parts.clock.now())):
        return Response(status_code=UNCHANGED)
    return _row_page(site, query)


@router.post("/run/{query_id}", dependencies=[Depends(runs)])
async def run(site: CurrentSite, query_id: str, user: CurrentUser) -> Response:
    """Run Now; who waits for the end of a run holds no thread."""
    query = await run_in_threadpool(site.query, query_id)
    if reason := await run_in_threadpool(paused_reason, site.parts, query.id):
        return await run_in_threadpool(_done, site, query_id, FlashMessage(reason, "error"))
    ran = await site.parts.run_by_hand(query.id, user.name, QUICK_S)
    if ran is None:
        raise HTTPException(404, NO_QUERY)
    return await run_in_threadpool(_done, site, query_id, _run_message(query.name, ran.execution))


@router.post("/cancel/{query_id}", dependencies=[Depends(runs)])
def cancel(site: CurrentSite, query_id: str, user: CurrentUser) -> Response:
    """Stops the run of a query, if there is one."""
    query = site.query(query_id)
    is_stopping = site.parts.service.cancel(query.id, user.name)
    what = "is being cancelled" if is_stopping else "was not running"
    return _done(site, query_id, FlashMessage(f"“{query.name}” {what}.", "info"))


@router.post("/toggle/{query_id}")
def toggle(site: CurrentSite, query_id: str, user: CurrentUser) -> Response:
    """Switches a query on or off."""
    query = site.query(query_id)
    try:
        saved = site.parts.editing.toggle(query.id, user.name)
    except VersionConflict:
        message = FlashMessage(f"Somebody just changed “{query.name}”.", "warning")
        return _done(site, query_id, message)
    return _done(site, query_id, *_toggle_messages(site, query.name, saved))


@router.post("/duplicate/{query_id}")
def duplicate(site: CurrentSite, query_id: str, user: CurrentUser) -> Response:
    """Makes a copy, and opens it in the editor."""
    query = site.query(query_id)
    saved = site.parts.editing.duplicate(query.id, user.name)
    if isinstance(saved, Refused):
        return site.back(refusal(f"“{query.name}” was not copied", saved))
    text = f"This is a copy of “{query.name}”. It is switched off until you enable it."
    return site.to(f"{PREFIX}/edit/{saved.query.id}", FlashMessage(text))


@router.post("/pause-all", dependencies=ADMIN)
def pause_all(site: CurrentSite, user: CurrentUser) -> Response:
    """The schedule starts nothing any more."""
    site.parts.pause_all(user.name)
    return site.back(FlashMessage("All queries are paused: nothing starts by itself.", "warning"))


@router.post("/resume-all", dependencies=ADMIN)
def resume_all(site: CurrentSite, user: CurrentUser) -> Response:
    """The schedule goes on."""
    is_resumed = site.parts.resume_all(user.name)
    text = "All queries run on schedule again." if is_resumed else "The schedule was not paused any more."
    return site.back(FlashMessage(text))


@router.get("/delete/{query_id}", dependencies=EDITOR)
def ask(site: CurrentSite, query_id: str) -> Response:
    """The question before it: a page, or what htmx puts into a dialog."""
    context = {"query": site.query(query_id), "is_dialog": site.is_part}
    return site.page("delete_form" if site.is_part else "delete", context)


@router.post("/delete/{query_id}")
def delete(site: CurrentSite, query_id: str, user: CurrentUser) -> Response:
    """Deletes a query with its history."""
    query = site.query(query_id)
    try:
        site.parts.editing.delete(query.id, user.name)
    except UnknownQuery:
        raise HTTPException(404, NO_QUERY) from None
    message = FlashMessage(f"“{query.name}” and its history are deleted.")
    is_from_list = (site.came_from or "").partition("?")[0].endswith(LIST)
    return site.back(message) if is_from_list else site.to(LIST, message)


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
    """Reads an address; what cannot be understood is left out."""
    listing = Listing(
        search=given.get("search", "").strip()[:MAX_SEARCH],
        only=_one_of(given.get("status", ""), FILTERS),
        data_source=given.get("source", ""),
        tag=given.get("tag", ""),
        sort=_one_of(given.get("sort", ""), SORTS),
        descending=given.get("order") == "desc",
    )
    return ListView(listing, page_number(given), limit)


def page_number(given: Mapping[str, str]) -> int:
    """The page that an address asks for, else the first."""
    try:
        number = plain_integer(given.get("page", "1"))
    except ValueError:
        return 1
    return number if 1 <= number <= MAX_PAGE else 1


def queries_in_view(site: Site, view: ListView) -> tuple[ListView, list[Query], int]:
    """The queries of a page and the total; of the last page when there are fewer by now."""
    queries, total = site.parts.definitions.page(view.listing, view.offset, view.limit)
    if not queries and total:
        view = view.within(total)
        queries, total = site.parts.definitions.page(view.listing, view.offset, view.limit)
    return view, site.parts.reasons.mark(queries), total


def list_context(site: Site, view: ListView) -> dict[str, Any]:
    """One page of the list and the counters above it."""
    view, queries, total = queries_in_view(site, view)
    overview = site.parts.overview
    counts = site.parts.definitions.counts() | {"running": overview.running()}
    levels, sources, next_due = fill_levels(site), site.parts.catalogue.all(), overview.next_due()
    pauses = list(site.parts.sessions.pauses().values())
    alarms = site.parts.alerts.states.alarming([query.id for query in queries])
    counters = fingerprint(counts, next_due, [f"{name} {level.fill_then:.3f}" for name, level in levels])
    return {
        "view": view,
        "sources": sources,
        "queries": queries,
        "alarms": alarms,
        "total": total,
        "pages": -(-total // view.limit),
        "counts": counts,
        "next_due": next_due,
        "levels": [(name, level) for name, level in levels if level.fill_then > FULL][:MOST_SOURCES],
        "under_way": overview.under_way([query.id for query in queries if query.running]),
        "timeout": site.parts.settings().query_timeout,
        "counters_fingerprint": counters,
        "seen": list_fingerprint(queries, site.parts.clock.now(), total, counters, [pauses, alarms]),
        "pauses": pauses,
    }


def briefs(site: Site, queries: Sequence[Query]) -> dict[int, Brief | None]:
    """The latest results in a few words, by query."""
    latest = site.parts.overview.latest([query.id for query in queries])
    return {query.id: brief_of(query, latest.get(query.id)) for query in queries}


def fill_levels(site: Site) -> list[tuple[str, Any]]:
    """How full each source is, the fullest first."""
    levels: Mapping[str, Any] = site.parts.capacities.by_source()
    return sorted(levels.items(), key=lambda item: -item[1].fill_then)


def _one_of(word: str, words: tuple[Any, ...]) -> Any:
    return word if word in words else words[0]


def _row_page(site: Site, query: Query) -> Response:
    under_way = site.parts.overview.under_way([query.id] if query.running else [])
    timeout = site.parts.settings().query_timeout
    context = {
        "query": query,
        "under_way": under_way,
        "timeout": timeout,
        "alarms": site.parts.alerts.states.alarming([query.id]),
        "briefs": briefs(site, [query]),
        "sources": site.parts.catalogue.all(),
    }
    return site.page("row", context)


def _done(site: Site, query_id: str, *messages: FlashMessage) -> Response:
    if not site.is_part:
        return site.back(*messages)
    return with_toasts(_row_page(site, site.query(query_id)), *messages)


def _run_message(name: str, execution: Execution | None) -> FlashMessage:
    if execution is None:
        return FlashMessage(f"“{name}” is running.", "info")
    if execution.status is Status.SUCCESS:
        return FlashMessage(f"“{name}” ran in {execution.duration_ms:,} ms.")
    reason = f"“{name}”: {execution.status.value}. {execution.error_message or ''}".strip()
    return FlashMessage(reason, "error")


def _toggle_messages(site: Site, name: str, saved: Saved | Refused) -> list[FlashMessage]:
    if isinstance(saved, Refused):
        return [refusal(f"“{name}” was not switched", saved)]
    what = "runs on schedule again" if saved.query.enabled else "no longer runs on schedule"
    warnings = site.parts.editing.warnings(saved)
    return [FlashMessage(f"“{name}” {what}."), *(FlashMessage(text, "warning") for text in warnings)]


def refusal(what: str, refused: Refused) -> FlashMessage:
    """What the checks said, where there is no form to say it at."""
    reasons = "; ".join(f"{field}: {reason}" for field, reason in refused.errors.items())
    return FlashMessage(f"{what}: {reasons}", "error")
