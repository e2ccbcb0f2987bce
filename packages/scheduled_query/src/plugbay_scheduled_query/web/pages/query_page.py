"""The page of a query with its history, and below it one execution, and two of them compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import islice
from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response
from plugbay import CurrentUser
from plugbay.web import plain_integer, row_id

from plugbay_scheduled_query.core.diff import compare
from plugbay_scheduled_query.core.model import Execution, Query, Status
from plugbay_scheduled_query.core.paging import BadParameter, Period, period
from plugbay_scheduled_query.core.results import iter_rows
from plugbay_scheduled_query.core.schedule import UnknownTimezone, zone
from plugbay_scheduled_query.core.sorting import sorted_places
from plugbay_scheduled_query.repository.history import ALL, HistoryFilter
from plugbay_scheduled_query.web.pages.alert_form import alerts_of
from plugbay_scheduled_query.web.pages.charts import WEEKS, calendar, duration_chart, ready, value_chart
from plugbay_scheduled_query.web.pages.editor import upcoming
from plugbay_scheduled_query.web.pages.listing import page_number
from plugbay_scheduled_query.web.pages.series_view import MetricView, metric_view
from plugbay_scheduled_query.web.pages.site import (
    HOME,
    PREFIX,
    UNCHANGED,
    CurrentSite,
    Site,
    fingerprint,
    query_fingerprint,
)

POINTS = 300  # executions in a chart
HISTORY_LIMIT = 20  # executions on a page
ROWS = 200  # of a result on a page
SERIES_POINTS = 100  # executions in a chart of series: each brings up to a hundred samples
STATUSES = (ALL, *(status.value for status in Status))
NO_EXECUTION = "There is no such execution. It may have been removed from the history."
NO_RESULT = "This query has no result yet."
DAY = len("2026-11-15")

router = APIRouter(prefix=PREFIX, include_in_schema=False)


@router.get("/query/{query_id}")
def show(site: CurrentSite, query_id: str) -> Response:
    """The whole page of a query."""
    query = site.query(query_id)
    context = {**live_context(site, query), **about_context(site, query), "topic": "query"}
    return site.page("query", context | history_context(site, query) | why_context(site, query))


@router.get("/query/{query_id}/live")
def live(site: CurrentSite, query_id: str) -> Response:
    """The head and the latest result; charts and history with them once something ran."""
    query = site.query(query_id)
    if site.has_seen(seen(site, query)):
        return Response(status_code=UNCHANGED)
    context = live_context(site, query) | history_context(site, query)
    return site.page("query_live", {**context, "is_refresh": True})


@router.get("/query/{query_id}/result")
async def result(site: CurrentSite, query_id: str, user: CurrentUser) -> Response:
    """The latest result, a page of its rows at a time."""
    return await site.parts.doors.downloads.run(user.name, _result_page, site, query_id)


def _result_page(site: Site, query_id: str) -> Response:
    query = site.query(query_id)
    whole = site.parts.definitions.get(query.id, with_result=True)
    latest = site.parts.overview.latest([query.id]).get(query.id)
    if whole is None or whole.last_result is None or latest is None:
        raise HTTPException(404, NO_RESULT)
    context = _rows(whole.last_result, site.asked, len(latest.columns))
    context |= {"query": whole, "latest": latest, "crumbs": crumbs(query), "topic": "query"}
    return site.page("result", context)


@router.get("/execution/{execution_id}", name="show")
async def show_execution(site: CurrentSite, execution_id: str, user: CurrentUser) -> Response:
    """One execution, with a page of its rows."""
    return await site.parts.doors.downloads.run(user.name, _execution_page, site, execution_id)


def _execution_page(site: Site, execution_id: str) -> Response:
    execution, query = _found(site, execution_id)
    context = _rows(execution.result, site.asked, len(execution.result_key))
    context |= {"execution": execution, "query": query, "crumbs": crumbs(query), "topic": "history"}
    return site.page("execution", context)


@router.get("/diff")
async def diff(site: CurrentSite, user: CurrentUser) -> Response:
    """What changed from the older of two executions to the newer."""
    return await site.parts.doors.diffs.run(user.name, _diff_page, site)


def _diff_page(site: Site) -> Response:
    before, query = _found(site, site.asked.get("before", ""))
    after, other = _found(site, site.asked.get("after", ""))
    if query.id != other.id:
        raise HTTPException(404, "These executions are of two different queries.")
    if before.executed_at > after.executed_at:
        before, after = after, before
    context = {"before": before, "after": after, "query": query, "crumbs": crumbs(query)}
    return site.page("diff", {**context, "topic": "history", "diff": _difference(before, after)})


@dataclass(frozen=True, slots=True)
class HistoryView:
    """The filters above a history, and the page of it."""

    wanted: HistoryFilter
    page: int
    date_from: str = ""
    date_to: str = ""
    query: str = ""
    error: str = ""

    @property
    def is_filtered(self) -> bool:
        return bool(self.wanted.status != ALL or self.date_from or self.date_to or self.query)

    def within(self, total: int, limit: int) -> "HistoryView":
        """The same, or its last page when there are fewer by now."""
        return replace(self, page=max(1, min(self.page, -(-total // limit))))

    def is_current(self, now: datetime) -> bool:
        """Whether what happens now belongs on it; who looks back must not have rows pushed away."""
        return self.page == 1 and (self.wanted.until is None or self.wanted.until >= now)


def history_view(given: Mapping[str, str]) -> HistoryView:
    """Reads an address; dates that cannot be read are not applied, and the reason is told."""
    status = given.get("status", ALL)
    status = status if status in STATUSES else ALL
    date_from, date_to = given.get("date_from", "").strip(), given.get("date_to", "").strip()
    error, found = "", Period()
    try:
        found = period(date_from, date_to, _place(given.get("zone", "")))
    except BadParameter as problem:
        error = str(problem)
    wanted, days = HistoryFilter.of(status, found), (_day(date_from), _day(date_to))
    return HistoryView(wanted, page_number(given), *days, given.get("query", "").strip(), error)


def live_context(site: Site, query: Query) -> dict[str, Any]:
    """What changes with each execution."""
    parts = site.parts
    points = parts.histories.points(query.id, POINTS)
    latest, made = ready(parts.overview, [query]).get(query.id, (None, None))
    today = parts.clock.now().date()
    days = parts.histories.days(query.id, today - timedelta(weeks=WEEKS), today)
    return {
        "query": query,
        "under_way": parts.overview.under_way([query.id] if query.running else []),
        "timeout": query.timeout or parts.settings().query_timeout,
        "latest": latest,
        "shown": made,
        "values": value_chart(points),
        "durations": duration_chart(points),
        "calendar": calendar(days, today),
        "metric": published_metrics(site, query),
        "pause": parts.sessions.pause_named(query.data_source),
        "remarks": parts.reasons.about_latest(query),
        "alerts": alerts_of(site, query),
        "seen": seen(site, query),
    }


def seen(site: Site, query: Query) -> str:
    """Changes when anything that the page shows of its query does."""
    pause = site.parts.sessions.pause_named(query.data_source)
    alarming = site.parts.alerts.states.alarming([query.id])
    return fingerprint(query_fingerprint(query, site.parts.clock.now()), pause, alarming)


def why_context(site: Site, query: Query) -> dict[str, Any]:
    """What was asked in the field about a missing run, and the answer."""
    text, place = site.asked.get("why", "").strip(), _place(site.asked.get("zone", ""))
    asked = _local_moment(text, place) if text else None
    wrong = "Enter a day and a time, such as 2026-11-15 09:00." if text and asked is None else ""
    answer = site.parts.reasons.why(query, asked) if asked else None
    return {"why": text if asked else "", "why_answer": answer, "why_error": wrong}


def published_metrics(site: Site, query: Query) -> MetricView:
    """What the query shows on /metrics, or would if it were switched on."""
    parts = site.parts
    shown = parts.gauges.publication(query.id) if query.metrics else None
    if shown is None:
        return MetricView()
    points = parts.histories.snapshots(query.id, SERIES_POINTS) if shown.metrics[0].label_columns else []
    return metric_view(shown, points, query.enabled, parts.settings().metrics_enabled)


def about_context(site: Site, query: Query) -> dict[str, Any]:
    """The definition and when it runs."""
    timezone = query.timezone or site.parts.settings().timezone
    source = site.parts.sources.by_name(query.data_source)
    return {
        "upcoming": upcoming(query.cron_schedule, timezone, site.parts.clock.now()),
        "timezone": timezone,
        "dialect": source.dialect if source else "",
    }


def history_context(site: Site, query: Query) -> dict[str, Any]:
    """A page of the history, as the address asks for."""
    view = history_view(site.asked)
    found, total = site.parts.histories.page(query.id, view.wanted, view.page, HISTORY_LIMIT, whole=False)
    if not found and total:
        view = view.within(total, HISTORY_LIMIT)
        found, total = site.parts.histories.page(query.id, view.wanted, view.page, HISTORY_LIMIT, whole=False)
    return {
        "view": view,
        "is_cut": site.parts.histories.cut_at(query.id) is not None,
        "quota": site.parts.settings().history_bytes,
        "history_fingerprint": fingerprint(total, [execution.id for execution in found]),
        "is_current": view.is_current(site.parts.clock.now()),
        "sides": sides(found),
        "executions": found,
        "total": total,
        "pages": -(-total // HISTORY_LIMIT),
        "limit": HISTORY_LIMIT,
        "statuses": STATUSES,
    }


def sides(executions: Sequence[Execution]) -> tuple[int | None, int | None]:
    """The two newest executions with a result: what a comparison begins with, the older one first."""
    good = [execution.id for execution in executions if execution.status is Status.SUCCESS]
    return (good[1], good[0]) if len(good) > 1 else (None, None)


def crumbs(query: Query) -> tuple[tuple[str, str], ...]:
    """The way from the list to a page below a query."""
    return (HOME, (query.name, f"{PREFIX}/query/{query.id}"))


def _place(name: str) -> tzinfo:
    """The zone that a browser shows its times in, and so means its days in; else UTC."""
    try:
        return zone(name or "UTC")
    except UnknownTimezone:
        return UTC


def _local_moment(text: str, place: tzinfo) -> datetime | None:
    """What a field for a day and a time sent, in UTC."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=place).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _day(text: str) -> str:
    """What a field for days can show; browsers complain about anything else."""
    try:
        return date.fromisoformat(text[:DAY]).isoformat()
    except ValueError:
        return ""


def _found(site: Site, execution_id: str) -> tuple[Execution, Query]:
    execution = site.parts.histories.get(row_id(execution_id, NO_EXECUTION))
    if execution is None:
        raise HTTPException(404, NO_EXECUTION)
    return execution, site.query(str(execution.scheduled_query_id))


def _rows(text: str | None, asked: Mapping[str, str], columns: int) -> dict[str, Any]:
    """A page of the rows of a result, which is sorted as a whole if the address asks for it."""
    if text is None:
        return {"rows": [], "row_count": 0, "page": 1, "pages": 0, "limit": ROWS, "sorted": None}
    column, descending = _sorting(asked, columns), asked.get("order") == "desc"
    is_sorted = column is not None
    places = sorted_places(iter_rows(text), column or 0, descending) if is_sorted else []
    count = len(places) if is_sorted else sum(1 for _ in iter_rows(text))
    pages = -(-count // ROWS)
    page = max(1, min(page_number(asked), pages))
    part = slice((page - 1) * ROWS, page * ROWS)
    rows = _at(text, places[part]) if is_sorted else list(islice(iter_rows(text), part.start, part.stop))
    how = {"column": column, "descending": descending}
    return {"rows": rows, "row_count": count, "page": page, "pages": pages, "limit": ROWS, "sorted": how}


def _at(text: str, places: Sequence[int]) -> list[list[Any]]:
    """The rows at these places, in this order."""
    wanted = set(places)
    found = {place: row for place, row in enumerate(iter_rows(text)) if place in wanted}
    return [found[place] for place in places]


def _sorting(asked: Mapping[str, str], columns: int) -> int | None:
    """The column that an address asks to sort by, counted from 0."""
    try:
        column = plain_integer(asked.get("sort", ""))
    except ValueError:
        return None
    return column if 0 <= column < columns else None


def _difference(before: Execution, after: Execution) -> Any:
    if before.result is None or after.result is None:
        return None
    return compare(before.result_key, before.result, after.result_key, after.result)
