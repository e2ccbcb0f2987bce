"""The JSON API: the three specified endpoints, and beside them all that the pages can do."""

from collections.abc import Callable

from fastapi import APIRouter

from plugbay_scheduled_query.api.executions import executions_router
from plugbay_scheduled_query.api.history import history_router
from plugbay_scheduled_query.api.parameters import PREFIX
from plugbay_scheduled_query.api.queries import queries_router
from plugbay_scheduled_query.api.results import results_router
from plugbay_scheduled_query.api.runs import runs_router
from plugbay_scheduled_query.api.sources import sources_router
from plugbay_scheduled_query.api.tools import tools_router
from plugbay_scheduled_query.parts import Parts
from plugbay_scheduled_query.routes_below import RoutesBelow

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
