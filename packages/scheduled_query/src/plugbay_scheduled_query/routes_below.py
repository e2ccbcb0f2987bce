"""A router that knows the path that all its routes stand below."""

from collections.abc import Iterable

from fastapi import APIRouter
from starlette.routing import BaseRoute, Match
from starlette.types import Scope


class RoutesBelow(APIRouter):
    """Says no to a request for another path at once, instead of asking each of its routes."""

    def __init__(
        self, path: str, routes: Iterable[BaseRoute] = (), *, include_in_schema: bool = True
    ) -> None:
        super().__init__(include_in_schema=include_in_schema)
        self._path = path
        self.routes.extend(routes)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        # anywhere in the path: whoever mounts us may put something before it
        return super().matches(scope) if self._path in scope["path"] else (Match.NONE, {})
