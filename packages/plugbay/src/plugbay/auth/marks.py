"""What the guard writes on a request, so that middleware and pages know whose it is."""

import secrets
from typing import Any

from starlette.requests import HTTPConnection
from starlette.types import Scope

from plugbay.auth.user import User

OURS = "plugbay_ours"  # the request goes to a route of host or plugins
USER = "plugbay_user"
NONCE = "nonce"  # lets the page's own <style> elements through the Content-Security-Policy
LEAVE = "plugbay_leave"  # what is to be called when the request is over
ANSWER = "plugbay_answer"  # a response that takes the place of the one on its way


def state_of(scope: Scope) -> dict[str, Any]:
    """The dictionary behind `request.state`."""
    state: dict[str, Any] = scope.setdefault("state", {})
    return state


def claim(scope: Scope) -> dict[str, Any]:
    """Marks a request as one to a route of ours."""
    state = state_of(scope)
    if OURS not in state:
        state[OURS] = True
        state[NONCE] = secrets.token_urlsafe(16)
    return state


def user_of(request: HTTPConnection) -> User | None:
    """The user that the guard let in; None on public pages and on routes that are not ours."""
    user: User | None = state_of(request.scope).get(USER)
    return user
