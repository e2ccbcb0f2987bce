"""The dashboard: how all queries went, who stands out, and the history over all of them."""

from datetime import timedelta
from statistics import median, quantiles
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response
from plugbay import CurrentUser

from plugbay_scheduled_query.repository.definitions import Listing
from plugbay_scheduled_query.repository.overview import NamedExecution, hours_between
from plugbay_scheduled_query.web.pages.charts import activity_chart, brief_of
from plugbay_scheduled_query.web.pages.query_page import STATUSES, HistoryView, history_view
from plugbay_scheduled_query.web.pages.site import PREFIX, UNCHANGED, CurrentSite, Site, fingerprint

LIMIT = 25  # executions on a page of the history
STANDOUTS = 5  # queries that are slow or fail much
LATEST = 8  # queries that ran last
SUGGESTED = 200  # names offered by the filter
HOUR_S, DAY_S = 3600, 86_400
SPANS = {
    "24h": (timedelta(hours=24), HOUR_S, "24 hours"),
    "7d": (timedelta(days=7), HOUR_S, "7 days"),
    "30d": (timedelta(days=30), DAY_S, "30 days"),
}

router = APIRouter(prefix=PREFIX, include_in_schema=False)


@router.get("/dashboard")
async def dashboard(site: CurrentSite, user: CurrentUser) -> Response:
    """The whole page."""
    return await site.parts.doors.overviews.run(user.name, _whole_page, site)


@router.get("/dashboard/live")
async def live(site: CurrentSite, user: CurrentUser) -> Response:
    """The same once something ran; the history only while its newest page is open."""
    return await site.parts.doors.overviews.run(user.name, _news, site)


def _whole_page(site: Site) -> Response:
    names = site.parts.overview.names(SUGGESTED)
    return site.page("dashboard", {**dashboard_context(site), "names": names, "topic": "dashboard"})


def _news(site: Site) -> Response:
    if site.has_seen(dashboard_fingerprint(site)):
        return Response(status_code=UNCHANGED)
    return site.page("dashboard_live", dashboard_context(site))


def dashboard_context(site: Site) -> dict[str, Any]:
    """All that changes as queries run; `seen` is read first, so that nothing in between is missed."""
    span = site.asked.get("span", "")
    span = span if span in SPANS else next(iter(SPANS))
    context = {"seen": dashboard_fingerprint(site), **activity(site, span), **latest_results(site)}
    context |= standouts(site, SPANS[span][0])
    context |= {"lateness": lateness(site), "sources": site.parts.catalogue.all()}
    return {**context, **history(site, history_view(site.asked))}


def dashboard_fingerprint(site: Site) -> str:
    """Changes when something ran, when queries came or went, and with each hour of the chart."""
    hour = int(site.parts.clock.now().timestamp()) // HOUR_S
    return fingerprint(site.parts.overview.newest(), hour)


def standouts(site: Site, length: timedelta) -> dict[str, Any]:
    """Who was slow and who failed in the same time."""
    found = site.parts.standouts
    return {
        "slowest": found.slowest(length, STANDOUTS),
        "most_failing": found.most_failing(length, STANDOUTS),
    }


def activity(site: Site, span: str) -> dict[str, Any]:
    """Executions over time by status, and their totals."""
    length, step_s, words = SPANS[span]
    now = site.parts.clock.now()
    found = site.parts.activity.by_time(length, by_day=step_s == DAY_S)
    totals = {status: sum(counts.values()) for status, counts in found.items()}
    chart = activity_chart(found, hours_between(now - length, now, step_s))
    return {"span": span, "span_words": words, "spans": list(SPANS), "totals": totals, "activity": chart}


def latest_results(site: Site) -> dict[str, Any]:
    """The queries that ran last, each with its value in a few words."""
    listing = Listing(sort="last_executed", descending=True)
    queries, total = site.parts.definitions.page(listing, 0, LATEST)
    latest = site.parts.overview.latest([query.id for query in queries])
    ran = [query for query in queries if query.last_executed]
    shown = [(query, brief_of(query, latest.get(query.id))) for query in ran]
    return {"recent": shown, "latest_fingerprint": fingerprint(shown), "query_count": total}


def lateness(site: Site) -> dict[str, float] | None:
    """How late the last scheduled executions started, in milliseconds."""
    late = [seconds * 1000 for seconds in site.parts.overview.lateness_s()]
    if not late:
        return None
    high = quantiles(late, n=20)[-1] if len(late) > 1 else late[0]
    return {"median": median(late), "p95": min(high, max(late)), "worst": max(late), "count": len(late)}


def history(site: Site, view: HistoryView) -> dict[str, Any]:
    """A page of the history over all queries, or of those that the filter names."""
    found, total, problem = _executions(site, view)
    if not found and total:
        view = view.within(total, LIMIT)
        found, total, problem = _executions(site, view)
    return {
        "view": view,
        "is_current": view.is_current(site.parts.clock.now()),
        "ran": found,
        "total": total,
        "problem": problem or view.error,
        "pages": -(-total // LIMIT),
        "limit": LIMIT,
        "statuses": STATUSES,
    }


def _executions(site: Site, view: HistoryView) -> tuple[list[NamedExecution], int, str]:
    overview = site.parts.overview
    found, total = overview.page(view.wanted, (view.page - 1) * LIMIT, LIMIT, view.query)
    is_unknown = view.query and not total and not overview.has_named(view.query)
    return found, total, f"No query has “{view.query}” in its name." if is_unknown else ""
