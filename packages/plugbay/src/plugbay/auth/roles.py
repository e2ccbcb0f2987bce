"""Who asks, what they may do, and how they are refused."""

import itertools
import secrets
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from fastapi import Depends, HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Scope

from plugbay.web.requests import is_machine_path

Role = Literal["viewer", "editor", "admin"]
Via = Literal["session", "token", "basic", "app"]
TokenScope = Literal["metrics", "read", "run", "all"]
ROLES: tuple[Role, ...] = get_args(Role)  # each may do what those before it may do
SCOPES: tuple[TokenScope, ...] = get_args(TokenScope)  # likewise

# what is written on a request, so that middleware and pages know whose it is
OURS = "plugbay_ours"  # the request goes to a route of host or plugins
USER = "plugbay_user"
NONCE = "nonce"  # lets the page's own <style> elements through the Content-Security-Policy
BEGAN = "plugbay_began"  # which of all `MOMENTS` of this process the request came in at
LEAVE = "plugbay_leave"  # what is to be called when the request is over
ANSWER = "plugbay_answer"  # a response that takes the place of the one on its way

MOMENTS = itertools.count()  # what comes earlier has the smaller number, whatever clocks say

LOGIN_NEEDED = "Authentication is required."
BEARER = 'Bearer realm="Plugbay"'
BASIC = 'Basic realm="Plugbay", charset="UTF-8"'


@dataclass(frozen=True)
class User:
    """A visitor who is known: `via` tells how, `session` what a form's CSRF token is bound to.

    With a token of less than the whole `scope`, the role is `viewer`, whatever its user may do.
    """

    name: str
    role: Role
    via: Via = "app"
    id: int | None = None
    session: str | None = field(default=None, repr=False)
    scope: TokenScope = "all"

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"a role is one of {', '.join(ROLES)}; {self.name!r} has {self.role!r}")

    def has_role(self, role: str) -> bool:
        """Whether this user may do what `role` may do; a role that does not exist is nobody's."""
        return role in ROLES and ROLES.index(self.role) >= ROLES.index(role)


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


def unauthorized(request: HTTPConnection, detail: str = LOGIN_NEEDED) -> HTTPException:
    # offered to a page's form or script, Basic would make the browser ask for a password in a box of its own
    by_script = request.headers.get("sec-fetch-mode", "navigate") != "navigate"
    is_for_programs = is_machine_path(request.scope) and not by_script
    offered = f"{BEARER}, {BASIC}" if is_for_programs else BEARER
    return HTTPException(401, detail, {"WWW-Authenticate": offered})


def signed_out_part() -> HTTPException:
    """For a part that htmx loads into a page: the whole page loads anew, and lands on the login."""
    headers = {"WWW-Authenticate": BEARER, "HX-Refresh": "true"}
    return HTTPException(401, LOGIN_NEEDED, headers)


def missing_role(user: User, role: Role) -> HTTPException:
    """What this user is told; one with a narrow token, that it is the token's fault."""
    if user.scope != "all":
        return HTTPException(403, f"This is outside of the scope of the token, which is {user.scope}.")
    return HTTPException(403, f"This needs the role {role}.")


def bad_csrf_token() -> HTTPException:
    return HTTPException(403, "This form is not from this login. Load its page again and send it once more.")


def too_many_attempts(message: str, retry_after: int) -> HTTPException:
    return HTTPException(429, message, {"Retry-After": str(retry_after)})


def whole_response(scope: Scope, response: Response) -> HTTPException:
    """A response for a dependency to raise; our middleware puts the whole of it in place again."""
    claim(scope)[ANSWER] = response
    kept = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
    return HTTPException(response.status_code, headers=kept)


def require_role(role: Role) -> Any:
    """For `dependencies=[require_role("admin")]` on a router or route that asks for more than the guard."""
    if role not in ROLES:
        raise ValueError(f"the role must be one of {', '.join(ROLES)}; not {role!r}")

    async def has_role(request: HTTPConnection) -> None:
        user = await current_user(request)
        if not user.has_role(role):
            raise missing_role(user, role)

    return Depends(has_role)


async def current_user(request: HTTPConnection) -> User:
    """The user whom the guard let in; 401 on a route that it does not stand before."""
    user = user_of(request)
    if user is None:
        raise unauthorized(request)
    return user


CurrentUser = Annotated[User, Depends(current_user)]
