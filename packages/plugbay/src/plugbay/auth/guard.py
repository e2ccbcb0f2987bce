"""The guard before every route of host and plugins: nothing is open unless it says so itself."""

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import TypeVar, cast

from fastapi import HTTPException, WebSocketException
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.types import Scope

from plugbay.auth.answers import bad_csrf_token, missing_role, signed_out_part, unauthorized, whole_response
from plugbay.auth.body_limit import refuse_large_body
from plugbay.auth.csrf import CsrfTokens, presented_token
from plugbay.auth.json_body import refuse_broken_json
from plugbay.auth.manager import AuthManager
from plugbay.auth.markers import dependencies_of, has_marker, open_to_all, open_to_viewers
from plugbay.auth.marks import USER, claim, state_of, user_of
from plugbay.auth.origin import refuse_cross_site
from plugbay.auth.user import Role
from plugbay.errors import StoreError
from plugbay.web.paths import is_machine_path

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
SENT_BY_BROWSER = ("session", "app")  # whichever page asks: these logins need a CSRF token
POLICY_VIOLATION = 1008  # the close code of a WebSocket that is not let in
_ADMITTED = "plugbay_admitted"

T = TypeVar("T")


class Guard(SecurityBase):
    """Lets viewers look and editors change; a route may ask for more, or say that it is open."""

    model = HTTPBearer(description="An API token, made on the account page.")
    scheme_name = "API token"

    def __init__(self, manager: AuthManager, csrf: CsrfTokens) -> None:
        self._identify = awaitable(manager.identify)
        self._challenge = awaitable(manager.challenge)
        self._csrf = csrf

    async def __call__(self, request: HTTPConnection) -> None:
        if isinstance(request, Request):
            await self.admit(request)
            refuse_large_body(request.scope)
            await self._check_body(request)
        else:
            await self._admit_websocket(request)

    async def admit(self, request: HTTPConnection) -> None:
        """All that the head of a request tells; once let in, it is let in."""
        state = claim(request.scope)
        if _ADMITTED not in state:
            if not has_marker(request.scope, open_to_all):
                await self._let_in(request)
            state[_ADMITTED] = True

    async def recognise(self, request: HTTPConnection) -> None:
        """Notes whose request it is where no guard stood before it; nobody is turned away."""
        state = state_of(request.scope)
        if USER not in state:
            try:
                state[USER] = await self._identify(request)
            except (HTTPException, StoreError):
                state[USER] = None

    async def _let_in(self, request: HTTPConnection) -> None:
        user = await self._identify(request)
        state_of(request.scope)[USER] = user  # also of who is turned away: nobody is asked twice
        if user is None:
            raise await self._turn_away(request)
        if not user.has_role(needed_role(request.scope)):
            raise missing_role(needed_role(request.scope))
        if user.via != "token" and not _is_safe(request.scope):
            refuse_cross_site(request)

    async def _check_body(self, request: Request) -> None:
        user = user_of(request)
        if user is None or _is_safe(request.scope):
            return
        if user.via in SENT_BY_BROWSER and not self._csrf.is_valid(await presented_token(request), user):
            raise bad_csrf_token()
        await refuse_broken_json(request)

    async def _admit_websocket(self, request: HTTPConnection) -> None:
        try:
            await self.admit(request)
        except HTTPException as error:
            raise WebSocketException(POLICY_VIOLATION, str(error.detail)) from None

    async def _turn_away(self, request: HTTPConnection) -> HTTPException:
        if is_machine_path(request.scope) or not _is_safe(request.scope):
            return unauthorized(request)
        if "hx-request" in request.headers:
            return signed_out_part()
        return whole_response(request.scope, await self._challenge(request))


def needed_role(scope: Scope) -> Role:
    """What the guard asks for by default: looking is for viewers, changing for editors."""
    looks = _is_safe(scope) or scope["type"] == "websocket"
    return "viewer" if looks or has_marker(scope, open_to_viewers) else "editor"


def guard_of(scope: Scope) -> Guard | None:
    """The guard of the chosen route, for those who need it before FastAPI does."""
    return next((call for call in dependencies_of(scope) if isinstance(call, Guard)), None)


def _is_safe(scope: Scope) -> bool:
    return scope.get("method") in SAFE_METHODS


def awaitable(
    verb: Callable[[HTTPConnection], T | Awaitable[T]],
) -> Callable[[HTTPConnection], Awaitable[T]]:
    """A verb of a manager, called where it belongs: `async def` here, `def` in a thread."""
    if iscoroutinefunction(verb):
        return verb

    async def in_a_thread(request: HTTPConnection) -> T:
        return cast("T", await run_in_threadpool(verb, request))

    return in_a_thread
