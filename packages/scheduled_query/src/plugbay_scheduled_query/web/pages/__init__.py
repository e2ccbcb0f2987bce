"""The pages that people live in."""

from fastapi import APIRouter
from fastapi.responses import Response

from plugbay_scheduled_query.web.pages import (
    alerts,
    board_form,
    boards,
    bulk,
    channels,
    dashboard,
    editor,
    listing,
    query_page,
    sources,
    versions,
    widgets,
)
from plugbay_scheduled_query.web.pages.site import PREFIX, CurrentSite

__all__ = ["PREFIX", "ROUTERS"]

router = APIRouter(prefix=PREFIX, include_in_schema=False)

ROUTERS = (
    listing.router,
    bulk.router,
    editor.router,
    query_page.router,
    versions.router,
    dashboard.router,
    widgets.router,
    sources.router,
    alerts.router,
    channels.router,
    board_form.router,
    boards.router,
    router,
)


@router.get("/help")
def show(site: CurrentSite) -> Response:
    """What all of this is, and how to use it."""
    return site.page("help", {"settings": site.parts.settings()})
