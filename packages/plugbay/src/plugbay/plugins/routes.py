"""The block of the application's routes that belongs to the host and its plugins, and who is inside it."""

import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, FastAPI, HTTPException
from fastapi.routing import APIRoute, APIWebSocketRoute, RouteContext, iter_route_contexts
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from plugbay.auth.guard import ANSWERING, behind_login, open_to_all
from plugbay.auth.roles import BEGAN, LEAVE, MOMENTS, state_of
from plugbay.errors import PluginRefused, UnknownPlugin
from plugbay.logs import get_logger
from plugbay.web import url_below_root
from plugbay.web.requests import host_of, root_path, route_path

# a value that fits each of Starlette's path convertors, to try a path that has parameters
_SAMPLES = {"integer": "1", "float": "1.0", "uuid": "00000000-0000-4000-8000-000000000000"}

_INCLUDED = "plugbay_included"

log = get_logger(__name__)


@dataclass(frozen=True)
class Contribution:
    """What one owner adds: a router, where it stands, and what guards it."""

    owner: str
    router: APIRouter
    prefix: str = ""
    dependencies: Sequence[Any] = ()
    include_in_schema: bool = True

    @property
    def is_open(self) -> bool:
        return any(gate.dependency is open_to_all for gate in self.dependencies)


@dataclass
class _Block:
    """Our part of the application's routes, as it is served now."""

    contributions: list[Contribution] = field(default_factory=list)
    routes: list[BaseRoute] = field(default_factory=list)
    detours: list[BaseRoute] = field(default_factory=list)


class RouteTable:
    """Adds and takes back routers while the application runs; the application's own routes come first."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._block = _Block()
        self._announced: list[Contribution] = []

    @property
    def contributions(self) -> list[Contribution]:
        return list(self._block.contributions)

    def of_owner(self, owner: str) -> list[RouteContext]:
        """The routes that an owner contributed, with their full paths."""
        routers = [item for item in self._known() if item.owner == owner]
        return [route for item in routers for route in iter_route_contexts(self._included(item))]

    def announce(self, contribution: Contribution) -> None:
        """Keeps the place of a router that is served later; refuses one that clashes."""
        self.check(contribution)
        self._announced = [*self._announced, contribution]

    def serve(self, owner: str) -> None:
        """Opens what an owner announced."""
        ready = [item for item in self._announced if item.owner == owner]
        if ready:
            self._announced = [item for item in self._announced if item.owner != owner]
            self.replace([*(item for item in self.contributions if item.owner != owner), *ready])

    def remove_owner(self, owner: str) -> None:
        """Takes back all that an owner contributed or announced."""
        self._announced = [item for item in self._announced if item.owner != owner]
        self.replace([item for item in self.contributions if item.owner != owner])

    def replace(self, contributions: Sequence[Contribution]) -> None:
        """Serves exactly these from now on; requests under way are not disturbed."""
        # FastAPI keeps what was included in a cached tree: only a fresh block forgets the old one
        fresh = [route for item in contributions for route in self._included(item)]
        open_ones = [route for item in contributions if item.is_open for route in self._included(item)]
        detours: list[BaseRoute] = [_Detour(_FOR_ALL, open_ones), _Detour(_AFTER_LOGIN, fresh)]
        self._swap(_Block(list(contributions), fresh, detours))
        self._app.openapi_schema = None

    def keep_last(self) -> None:
        """Routes that the application added after us are its own: they win over ours."""
        routes = self._app.router.routes
        if self._block.detours and routes[-1] is not self._block.detours[-1]:
            self._swap(self._block)

    def warn_if_hidden(self) -> None:
        """Names the application's route that answers every page of ours in our place, if there is one."""
        ours = [route for route in iter_route_contexts(self._block.routes) if "GET" in (route.methods or ())]
        for other in self._application_routes():
            if ours and all("GET" in _methods_taken(other, route) for route in ours):
                shown = f"{type(other).__name__} {getattr(other, 'path', '') or '/'}"
                log.warning("routes_hidden", by=shown, hint="use app.router.default instead")
                return

    def check(self, contribution: Contribution) -> None:
        """Refuses a router with a route that cannot be guarded, or that is already taken."""
        taken = [("the application", route) for route in self._application_routes()]
        taken += [(item.owner, route) for item in self._known() for route in self._included(item)]
        for route in iter_route_contexts(self._included(contribution)):
            _refuse_unguarded(route)
            for owner, other in taken:
                for method in _methods_taken(other, route):
                    shown = f"{method} {route.path}"
                    raise PluginRefused(reason=f"its route {shown} is already taken by {owner}")

    def _known(self) -> list[Contribution]:
        return [*self._block.contributions, *self._announced]

    def _application_routes(self) -> list[BaseRoute]:
        ours = {*map(id, self._block.routes), *map(id, self._block.detours)}
        return [route for route in self._app.router.routes if id(route) not in ours]

    def _swap(self, block: _Block) -> None:
        self._app.router.routes = [*self._application_routes(), *block.routes, *block.detours]
        self._block = block

    def _included(self, item: Contribution) -> list[BaseRoute]:
        """The router as FastAPI would include it."""
        gates = (*self._app.router.dependencies, *item.dependencies)
        if self._app.router.dependencies:
            return _include(item, gates)  # they are of this application alone, and go with it
        # kept on the router, for all hosts of the process: reading a route takes FastAPI a millisecond
        known: dict[Any, list[BaseRoute]] = vars(item.router).setdefault(_INCLUDED, {})
        key = (item.prefix, item.include_in_schema, len(item.router.routes), *map(_identity, gates))
        if key not in known:
            known[key] = _include(item, gates)
        return known[key]


def _include(item: Contribution, gates: Sequence[Any]) -> list[BaseRoute]:
    shelf = APIRouter(dependency_overrides_provider=_Overrides())
    shelf.include_router(
        item.router,
        prefix=item.prefix,
        dependencies=list(gates),
        include_in_schema=item.include_in_schema,
    )
    return shelf.routes


def _identity(gate: Any) -> tuple[Any, ...]:
    """What tells one dependency from another, be it hashable or not; the included routes keep it alive."""
    return id(gate.dependency), gate.use_cache, gate.scope, tuple(getattr(gate, "scopes", None) or ())


async def _lead_on(request: Request) -> Response:
    query = request.scope["query_string"].decode("latin-1")
    path = url_below_root(request, quote(_other_spelling(route_path(request.scope))))
    return RedirectResponse(f"{path}?{query}" if query else path)


def _other_spelling(path: str) -> str:
    return path.rstrip("/") if path.endswith("/") else f"{path}/"


_ANY_METHOD = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_FOR_ALL, _AFTER_LOGIN = (
    APIRoute(
        "/{path:path}", _lead_on, methods=_ANY_METHOD, dependencies=[Depends(gate)], include_in_schema=False
    )
    for gate in (open_to_all, behind_login)
)


class _Detour(BaseRoute):
    """Leads from `/page/` to `/page` and the other way round, by a path alone, and past the same guard.

    Starlette would do so by the `Host` header, which is the visitor's to choose, and before any login.
    """

    def __init__(self, gate: APIRoute, routes: Sequence[BaseRoute]) -> None:
        self._gate = gate
        self._routes = routes

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path = route_path(scope)
        if scope["type"] != "http" or path == "/" or path.startswith("//"):  # two slashes would name a host
            return Match.NONE, {}
        other = {**scope, "path": root_path(scope) + _other_spelling(path)}
        leads_on = any(route.matches(other)[0] is not Match.NONE for route in self._routes)
        return self._gate.matches(scope) if leads_on else (Match.NONE, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._gate.handle(scope, receive, send)


class _Overrides:
    """What the application that answers puts in the place of dependencies, as its tests may do."""

    @property
    def dependency_overrides(self) -> dict[Any, Any]:
        return getattr(ANSWERING.get(), "dependency_overrides", {})


class OpenRequests:
    """Those inside the routes of a plugin, from one load to its end.

    WebSockets are not counted: they may stay for days.
    """

    def __init__(self) -> None:
        self._inside = 0
        self._opened: int | None = None
        self._is_closed = False
        self._changed = threading.Condition()

    def open(self) -> None:
        """From now on requests may come in, but none that was on its way to an earlier load."""
        with self._changed:
            if self._opened is None:
                self._opened = next(MOMENTS)

    async def __call__(self, request: HTTPConnection) -> None:
        """A dependency of every route of the plugin."""
        if isinstance(request, Request):
            state = state_of(request.scope)
            self._enter(state.get(BEGAN))
            state[LEAVE] = self._leave

    def close(self, patience_s: float) -> bool:
        """Lets nobody in any more and waits for those inside; False if some are still there."""
        with self._changed:
            self._is_closed = True
            return self._changed.wait_for(lambda: not self._inside, patience_s)

    def _enter(self, began: int | None) -> None:
        with self._changed:
            is_open = self._opened is not None and not self._is_closed
            if not is_open or (began is not None and began < (self._opened or 0)):
                raise HTTPException(404)  # while the request was on its way, the plugin went
            self._inside += 1

    def _leave(self) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()


@cache
def counted(owner: str) -> Callable[[HTTPConnection], Awaitable[None]]:
    """The same for the routes of an installed package, which all hosts of the process share."""

    async def count(request: HTTPConnection) -> None:
        try:
            plugin = host_of(request).modules.get(owner)
        except UnknownPlugin:
            raise HTTPException(404) from None
        await plugin.open_requests(request)

    return count


def _refuse_unguarded(route: RouteContext) -> None:
    if not isinstance(route.original_route, APIRoute | APIWebSocketRoute):
        kind = type(route.original_route).__name__
        raise PluginRefused(
            reason=f"its route {route.path} is a {kind}, which the login cannot guard: use a FastAPI route"
        )


def _methods_taken(other: BaseRoute, route: RouteContext) -> Iterator[str]:
    """The methods of `route` that `other`, standing before it, would answer."""
    kind = "websocket" if isinstance(route.original_route, APIWebSocketRoute) else "http"
    for method in sorted(route.methods or {"GET"}):
        scope = {"type": kind, "path": _sample_path(route), "root_path": "", "method": method, "headers": []}
        if other.matches(scope)[0] is Match.FULL:
            yield method


def _sample_path(route: RouteContext) -> str:
    convertors = getattr(route, "param_convertors", {})
    path = str(route.path_format)
    for name, convertor in convertors.items():
        kind = type(convertor).__name__.removesuffix("Convertor").lower()
        path = path.replace("{" + name + "}", _SAMPLES.get(kind, f"any-{name}"))
    return path
