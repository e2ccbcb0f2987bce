"""The three verbs of an authentication manager: the built-in one and any that an application brings."""

from collections.abc import Awaitable
from typing import Protocol, runtime_checkable

from starlette.requests import HTTPConnection
from starlette.responses import Response

from plugbay.auth.user import User


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
