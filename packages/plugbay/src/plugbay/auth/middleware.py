"""What surrounds every answer of a route of ours, and of no other route."""

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from plugbay.auth.body_limit import LimitedBody
from plugbay.auth.guard import guard_of
from plugbay.auth.markers import dependencies_of, open_to_all
from plugbay.auth.marks import ANSWER, LEAVE, OURS, claim, state_of
from plugbay.auth.security_headers import with_security


class SecurityMiddleware:
    """Adds the security headers and the limit of the body to the routes of host and plugins."""

    def __init__(self, app: ASGIApp, form_action: str = "'self'", whole_application: bool = False) -> None:
        self._app = app
        self._form_action = form_action
        self._whole = whole_application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._whole:
            claim(scope)
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
        if OURS in self._state:
            return await self._body.receive()
        return await self._receive()

    async def _admit(self) -> None:
        # FastAPI reads a body before it asks the guard: this way nobody's body is read for nothing
        if guard := guard_of(self._scope):
            await guard.admit(HTTPConnection(self._scope))
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
        headers = with_security(list(message.get("headers", [])), self._state, self._form_action)
        return {**message, "headers": headers}
