"""What plugins write on their routes: which role it takes, and who is asking."""

from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import HTTPConnection

from plugbay.auth.answers import missing_role, unauthorized
from plugbay.auth.marks import user_of
from plugbay.auth.user import ROLES, Role, User


def require_role(role: Role) -> Any:
    """For `dependencies=[require_role("admin")]` on a router or route that asks for more than the guard."""
    if role not in ROLES:
        raise ValueError(f"the role must be one of {', '.join(ROLES)}; not {role!r}")

    async def has_role(request: HTTPConnection) -> None:
        if not (await current_user(request)).has_role(role):
            raise missing_role(role)

    return Depends(has_role)


async def current_user(request: HTTPConnection) -> User:
    """The user whom the guard let in; 401 on a route that it does not stand before."""
    user = user_of(request)
    if user is None:
        raise unauthorized(request)
    return user


CurrentUser = Annotated[User, Depends(current_user)]
