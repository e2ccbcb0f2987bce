"""All routes of the web interface, under /scheduled_query."""

from collections.abc import Callable

from fastapi import APIRouter

from plugbay_scheduled_query.pages.actions import action_routes
from plugbay_scheduled_query.pages.dashboard import dashboard_routes
from plugbay_scheduled_query.pages.editing import editing_routes
from plugbay_scheduled_query.pages.executions import execution_routes
from plugbay_scheduled_query.pages.help import help_routes
from plugbay_scheduled_query.pages.hints import hint_routes
from plugbay_scheduled_query.pages.listing import listing_routes
from plugbay_scheduled_query.pages.query_page import query_routes
from plugbay_scheduled_query.pages.site import PREFIX, Site
from plugbay_scheduled_query.pages.source_pages import source_routes
from plugbay_scheduled_query.pages.widgets import widget_routes
from plugbay_scheduled_query.parts import Parts
from plugbay_scheduled_query.routes_below import RoutesBelow

ROUTES = (
    listing_routes,
    action_routes,
    editing_routes,
    hint_routes,
    query_routes,
    execution_routes,
    dashboard_routes,
    widget_routes,
    source_routes,
    help_routes,
)


def pages_router(parts: Callable[[], Parts]) -> APIRouter:
    """The pages and what their forms do; `parts` is asked for with each request."""
    router = RoutesBelow(PREFIX, include_in_schema=False)
    site = Site(parts)
    for routes in ROUTES:
        router.include_router(routes(site), prefix=PREFIX)
    return router
