"""Marks on routes that make them more open than the guard's default."""

from collections.abc import Callable
from typing import Any

from fastapi.params import Depends
from starlette.requests import HTTPConnection
from starlette.types import Scope

from plugbay.auth.marks import claim


async def open_to_all(request: HTTPConnection) -> None:
    """`Depends(open_to_all)` on a route or router: no login needed."""
    claim(request.scope)


async def open_to_viewers() -> None:
    """`Depends(open_to_viewers)` on a route: any user may call it, although it changes something."""


def has_marker(scope: Scope, marker: Callable[..., Any]) -> bool:
    """Whether the chosen route, or the router that it was made on, carries the marker."""
    marks: list[Depends] = getattr(scope.get("route"), "dependencies", [])
    return any(each.dependency is marker for each in marks)


def dependencies_of(scope: Scope) -> list[Any]:
    """All that FastAPI will call before the chosen route, as it stands once its router is included."""
    # FastAPI keeps a route of an included router here, together with what the inclusion added
    route = scope.get("fastapi", {}).get("effective_route_context") or scope.get("route")
    dependant = getattr(route, "dependant", None)
    return [each.call for each in dependant.dependencies] if dependant is not None else []
