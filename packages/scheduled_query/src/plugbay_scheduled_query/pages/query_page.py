"""One query: its latest result, how it went over time, its history and its definition."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from plugbay_scheduled_query.core.exposition import family_header, gauge_help, sample_line
from plugbay_scheduled_query.core.model import Execution, Query, Status
from plugbay_scheduled_query.pages.charts import WEEKS, calendar, duration_chart, value_chart
from plugbay_scheduled_query.pages.drafting import upcoming
from plugbay_scheduled_query.pages.history_view import STATUSES, history_view
from plugbay_scheduled_query.pages.news import mark, mark_of
from plugbay_scheduled_query.pages.result_view import shown
from plugbay_scheduled_query.pages.site import UNCHANGED, Site, has_seen

POINTS = 300  # executions in a chart
HISTORY_LIMIT = 20


def query_routes(site: Site) -> APIRouter:
    router = APIRouter()

    @router.get("/query/{query_id}")
    def show(request: Request, query_id: str) -> Response:
        query = site.query(query_id)
        context = {**live_context(site, query), **about_context(site, query), "topic": "query"}
        return site.page(request, "query", context | history_context(site, request, query))

    @router.get("/query/{query_id}/live")
    def live(request: Request, query_id: str) -> Response:
        """The head and the latest result; charts and history with them once something ran."""
        query = site.query(query_id)
        if has_seen(request, mark_of(query, site.parts.clock.now())):
            return Response(status_code=UNCHANGED)
        context = live_context(site, query) | history_context(site, request, query)
        return site.page(request, "query_live", {**context, "is_refresh": True})

    return router


def live_context(site: Site, query: Query) -> dict[str, Any]:
    """What changes with each execution."""
    parts = site.parts
    points = parts.glances.points(query.id, POINTS)
    today = parts.clock.now().date()
    since = today - timedelta(weeks=WEEKS)
    return {
        "query": query,
        "under_way": parts.glances.under_way([query.id] if query.running else []),
        "timeout": query.timeout or parts.settings().query_timeout,
        "latest": (latest := parts.glances.latest([query.id]).get(query.id)),
        "shown": shown(query, latest),
        "values": value_chart(points),
        "durations": duration_chart(points),
        "calendar": calendar(parts.glances.days(query.id, since, today), today),
        "metric_text": metric_text(query),
        "seen": mark_of(query, parts.clock.now()),
    }


def about_context(site: Site, query: Query) -> dict[str, Any]:
    """The definition and when it runs."""
    timezone = query.timezone or site.parts.settings().timezone
    source = site.parts.sources.by_name(query.data_source)
    return {
        "upcoming": upcoming(query.cron_schedule, timezone, site.parts.clock.now()),
        "timezone": timezone,
        "dialect": source.dialect if source else "",
    }


def history_context(site: Site, request: Request, query: Query) -> dict[str, Any]:
    """A page of the history, as the address asks for."""
    view = history_view(request.query_params)
    found, total = site.parts.histories.page(query.id, view.wanted, view.page, HISTORY_LIMIT, whole=False)
    if not found and total:
        view = view.within(total, HISTORY_LIMIT)
        found, total = site.parts.histories.page(query.id, view.wanted, view.page, HISTORY_LIMIT, whole=False)
    return {
        "view": view,
        "history_mark": mark(total, [execution.id for execution in found]),
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


def metric_text(query: Query) -> str:
    """The lines of the query's gauge as /metrics shows them."""
    metric = query.monitor_metric_config
    if metric is None:
        return ""
    head = family_header(metric.metric_name, "gauge", gauge_help(query.query))
    if query.metric_value is None:
        return head
    return head + sample_line(metric.metric_name, metric.labels, query.metric_value)
