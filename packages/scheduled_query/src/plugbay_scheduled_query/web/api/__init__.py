"""The JSON API: the three specified endpoints, and beside them all that the pages can do."""

from collections.abc import Callable

from fastapi import APIRouter

from plugbay_scheduled_query.web.api.history import executions_router, history_router
from plugbay_scheduled_query.web.api.queries import queries_router, tools_router
from plugbay_scheduled_query.web.api.requests import PREFIX
from plugbay_scheduled_query.web.api.results import results_router
from plugbay_scheduled_query.web.api.runs import runs_router
from plugbay_scheduled_query.web.api.sources import sources_router
from plugbay_scheduled_query.web.parts import Parts, RoutesBelow

ROUTERS = (
    queries_router,
    history_router,
    executions_router,
    results_router,
    runs_router,
    sources_router,
    tools_router,
)


def api_router(parts: Callable[[], Parts]) -> APIRouter:
    """Everything under `/api`; the parts are asked for with each request, because they come and go."""
    return RoutesBelow(PREFIX, [route for make in ROUTERS for route in make(parts).routes])
