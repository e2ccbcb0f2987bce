"""The JSON API: the three specified endpoints, and beside them all that the pages can do."""

from plugbay_scheduled_query.web.api import (
    alerts,
    boards,
    history,
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
    queries.router,
    versions.router,
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
