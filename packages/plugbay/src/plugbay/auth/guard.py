"""The guard before every route of host and plugins, and what surrounds every answer of theirs."""

import json
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from inspect import iscoroutinefunction
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from fastapi import HTTPException, WebSocketException
from fastapi.openapi.models import HTTPBearer
from fastapi.params import Depends
from fastapi.security.base import SecurityBase
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from plugbay.auth.browser_security import CsrfTokens, presented_token, refuse_cross_site, with_security
from plugbay.auth.roles import (
    ANSWER,
    BEGAN,
    LEAVE,
    MOMENTS,
    NONCE,
    OURS,
    USER,
    Role,
    User,
    bad_csrf_token,
    claim,
    missing_role,
    signed_out_part,
    state_of,
    unauthorized,
    user_of,
    whole_response,
)
from plugbay.errors import StoreError
from plugbay.web.requests import host_of, is_machine_path

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
SENT_BY_BROWSER = ("session", "app")  # whichever page asks: these logins need a CSRF token
POLICY_VIOLATION = 1008  # the close code of a WebSocket that is not let in
MAX_BODY = 1024 * 1024  # bytes; the longest query text with its form is far below
_ADMITTED = "plugbay_admitted"
_TROUBLE = "plugbay_store_trouble"
NO_BODY: Message = {"type": "http.request", "body": b"", "more_body": False}

T = TypeVar("T")

ANSWERING: ContextVar[Any] = ContextVar("plugbay_answering", default=None)
"""The application whose request is being answered: the routes of a process are shared by all of its hosts."""


@runtime_checkable
class AuthManager(Protocol):
    """Each verb is `def` (called in a thread) or `async def` (called on the event loop), as you like."""

    def identify(self, request: HTTPConnection) -> User | Awaitable[User | None] | None:
        """Who sends this request (or opens this WebSocket), or None; called once for each."""
        ...

    def challenge(self, request: HTTPConnection) -> Response | Awaitable[Response]:
        """What an anonymous visitor of a page gets: a redirect to your login, as a rule."""
        ...

    def logout(self, request: HTTPConnection) -> Response | Awaitable[Response]:
        """Ends the login and says where to go next; called by `POST /logout`."""
        ...


async def open_to_all(request: HTTPConnection) -> None:
    """`Depends(open_to_all)` on a route or router: no login needed."""
    claim(request.scope)


async def open_to_viewers() -> None:
    """`Depends(open_to_viewers)` on a route: any user may call it, although it changes something."""


async def runs() -> None:
    """`Depends(runs)` on a route: it starts or ends a run, for editors and their tokens of scope `run`."""


async def scrapes() -> None:
    """Beside the guard of a router: all that a token of scope `metrics` may ask for."""


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


class BehindLogin(SecurityBase):
    """The dependency of every guarded route: has the guard of the host decide whose application answers."""

    model = HTTPBearer(description="An API token, made on the account page.")
    scheme_name = "API token"

    async def __call__(self, request: HTTPConnection) -> None:
        guard: Guard = host_of(request).guard
        await guard(request)


behind_login = BehindLogin()


class Guard(BehindLogin):
    """Lets viewers look and editors change; a route may ask for more, or say that it is open."""

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
        if trouble := state.get(_TROUBLE):
            raise trouble
        if _ADMITTED not in state:
            if not has_marker(request.scope, open_to_all):
                await self._let_in(request)
            state[_ADMITTED] = True

    async def recognise(self, request: HTTPConnection) -> None:
        """Notes whose request it is where no guard stood before it; nobody is turned away."""
        state = state_of(request.scope)
        if USER not in state:
            try:
                user = await self._identify(request)
                state[USER] = user if user and user.scope != "metrics" else None
            except (HTTPException, StoreError):
                state[USER] = None

    async def _let_in(self, request: HTTPConnection) -> None:
        user = await self._identify(request)
        state_of(request.scope)[USER] = user  # also of who is turned away: nobody is asked twice
        if user is None:
            raise await self._turn_away(request)
        if not _may_pass(user, request.scope):
            if user.scope == "metrics":
                state_of(request.scope)[USER] = None  # a page that refuses has a menu
            raise missing_role(user, needed_role(request.scope))
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
    """What the guard asks for by default: looking is for viewers, changing and running for editors."""
    looks = (_is_safe(scope) or scope["type"] == "websocket") and not has_marker(scope, runs)
    return "viewer" if looks or has_marker(scope, open_to_viewers) else "editor"


def _may_pass(user: User, scope: Scope) -> bool:
    if user.scope == "metrics":
        return scrapes in dependencies_of(scope)
    return user.has_role(needed_role(scope)) or (user.scope == "run" and has_marker(scope, runs))


def guard_of(scope: Scope) -> Guard | None:
    """The guard of the chosen route, for those who need it before FastAPI does."""
    gates = [call for call in dependencies_of(scope) if isinstance(call, BehindLogin)]
    if behind_login in gates:
        own: Guard = scope["app"].state.plugbay.guard
        return own
    return next((gate for gate in gates if isinstance(gate, Guard)), None)


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


class SecurityMiddleware:
    """Adds the security headers and the limit of the body to the routes of host and plugins."""

    def __init__(self, app: ASGIApp, form_action: str = "'self'") -> None:
        self._app = app
        self._form_action = form_action

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = ANSWERING.set(scope.get("app"))
        try:
            if scope["type"] == "http":
                await self._answer(scope, receive, send)
            else:
                await self._app(scope, receive, send)
        finally:
            ANSWERING.reset(token)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        state_of(scope)[BEGAN] = next(MOMENTS)
        exchange = _Exchange(scope, receive, send, self._form_action)
        try:
            await self._app(scope, exchange.receive, exchange.send)
        finally:
            if leave := state_of(scope).pop(LEAVE, None):
                leave()


class _Exchange:
    """One request and its answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, form_action: str) -> None:
        self._scope = scope
        self._state = state_of(scope)
        self._receive = receive
        self._send = send
        self._form_action = form_action
        self._body: LimitedBody | None = None
        self._is_replaced = False

    async def receive(self) -> Message:
        if self._body is None:
            self._body = LimitedBody(self._scope, self._receive)
            await self._admit()
        if _TROUBLE in self._state:
            return NO_BODY
        if OURS in self._state:
            return await self._body.receive()
        return await self._receive()

    async def _admit(self) -> None:
        # FastAPI reads a body before it asks the guard: this way nobody's body is read for nothing
        if guard := guard_of(self._scope):
            try:
                await guard.admit(HTTPConnection(self._scope))
            except StoreError as trouble:  # FastAPI would call it a broken body: the guard says it again
                self._state[_TROUBLE] = trouble
        elif open_to_all in dependencies_of(self._scope):
            claim(self._scope)

    async def send(self, message: Message) -> None:
        if self._is_replaced:
            return
        if message["type"] == "http.response.start" and OURS in self._state:
            answer = self._state.pop(ANSWER, None)
            if answer is not None:
                self._is_replaced = True
                await answer(self._scope, self._receive, self._send_secured)
                return
            message = self._secured(message)
        await self._send(message)

    async def _send_secured(self, message: Message) -> None:
        is_start = message["type"] == "http.response.start"
        await self._send(self._secured(message) if is_start else message)

    def _secured(self, message: Message) -> Message:
        headers = with_security(
            list(message.get("headers", [])), self._state.get(NONCE, ""), self._form_action
        )
        return {**message, "headers": headers}


class LimitedBody:
    """Hands on the parts of a body up to the limit, then raises 413; the server throws the rest away."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope = scope
        self._receive = receive
        self._seen = 0

    async def receive(self) -> Message:
        if not self._seen:
            refuse_large_body(self._scope)
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        if self._seen > MAX_BODY:
            raise too_large()
        return message


def refuse_large_body(scope: Scope) -> None:
    """413 for a body that says itself that it is too large, read or not."""
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if length.isdigit() and int(length[:20]) > MAX_BODY:
        raise too_large()


def too_large() -> HTTPException:
    return HTTPException(413, f"A request body has at most {MAX_BODY} bytes.")


async def refuse_broken_json(request: Request) -> None:
    """422 for NaN, infinities and half characters (lone surrogates) anywhere in a JSON body."""
    if "json" not in request.headers.get("content-type", "").lower() or not await request.body():
        return
    try:
        json.dumps(await request.json(), ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise broken_json() from None


def broken_json() -> HTTPException:
    """In the form of FastAPI's own answer to JSON that cannot be read."""
    problem = {"type": "json_invalid", "loc": ["body"], "msg": "Not valid JSON text", "input": {}}
    return HTTPException(422, [problem])
