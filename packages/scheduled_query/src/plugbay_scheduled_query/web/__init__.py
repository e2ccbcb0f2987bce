"""The service on the web: pages for people, `/api` for programs.

Looking is for viewers and changing for editors, as everywhere; a route that asks for more says so.
"""

from collections.abc import Sequence

from fastapi import APIRouter
from starlette.routing import Match
from starlette.types import Scope

from plugbay_scheduled_query.web import api, pages


class RoutesBelow(APIRouter):
    """Says no to a request for another path at once, instead of asking each of its routes."""

    def __init__(self, path: str, routers: Sequence[APIRouter]) -> None:
        # one flat list: FastAPI goes through a router in a router anew at each level
        super().__init__(routes=[route for router in routers for route in router.routes])
        self._path = path

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        # anywhere in the path: whoever mounts us may put something before it
        return super().matches(scope) if self._path in scope["path"] else (Match.NONE, {})


router = APIRouter()
router.include_router(RoutesBelow(pages.PREFIX, pages.ROUTERS))
router.include_router(RoutesBelow(api.PREFIX, api.ROUTERS))
