"""The JSON API: the three specified endpoints, and beside them what pages do with queries."""

from plugbay_scheduled_query.web.api import (
    alerts,
    boards,
    bulk,
    history,
    overall,
    queries,
    results,
    runs,
    schedule,
    sources,
    versions,
)
from plugbay_scheduled_query.web.api.requests import PREFIX

__all__ = ["PREFIX", "ROUTERS"]

ROUTERS = (
    bulk.router,  # before the queries: its path looks like one of theirs
    queries.router,
    versions.router,
    overall.router,  # before the history: its paths look like some of theirs
    history.router,
    results.router,
    runs.router,
    schedule.router,
    sources.router,
    queries.tools,
    alerts.router,
    alerts.channel_router,
    boards.router,
)
