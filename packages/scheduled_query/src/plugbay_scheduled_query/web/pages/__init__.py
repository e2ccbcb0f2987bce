"""The pages that people live in."""

from collections.abc import Callable

from fastapi import APIRouter

from plugbay_scheduled_query.web.pages.dashboard import dashboard_routes
from plugbay_scheduled_query.web.pages.editing import editing_routes, hint_routes
from plugbay_scheduled_query.web.pages.listing import action_routes, listing_routes
from plugbay_scheduled_query.web.pages.query_page import execution_routes, query_routes
from plugbay_scheduled_query.web.pages.site import PREFIX, Site, help_routes
from plugbay_scheduled_query.web.pages.sources import source_routes
from plugbay_scheduled_query.web.pages.widgets import widget_routes
from plugbay_scheduled_query.web.parts import Parts, RoutesBelow

__all__ = ["pages_router"]


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
