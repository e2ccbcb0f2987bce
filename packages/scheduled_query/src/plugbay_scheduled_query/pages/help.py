"""The part of the documentation that is about these pages, one click away from each."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from plugbay_scheduled_query.pages.site import Site


def help_routes(site: Site) -> APIRouter:
    router = APIRouter()

    @router.get("/help")
    def show(request: Request) -> Response:
        return site.page(request, "help", {"settings": site.parts.settings()})

    return router
