"""The session cookie: its name, its attributes, and how to read it when someone meddled."""

from starlette.requests import HTTPConnection
from starlette.responses import Response

from plugbay.web.paths import root_path

NAME = "plugbay_session"
MAX_VALUE = 128  # characters; ours have 43


def cookie_name(request: HTTPConnection) -> str:
    """Under https with a prefix that keeps a sister domain from setting a cookie of this name."""
    if request.scope.get("scheme") not in ("https", "wss"):
        return NAME
    return f"__Secure-{NAME}" if root_path(request.scope) else f"__Host-{NAME}"


def session_cookie(request: HTTPConnection) -> str | None:
    """The cookie's value; two different ones tell nothing, for one of them was put there by a stranger."""
    name = cookie_name(request)
    values = set()
    for header in request.headers.getlist("cookie"):
        for pair in header.split(";"):
            key, _, value = pair.partition("=")
            if key.strip() == name:
                values.add(value.strip())
    value = values.pop() if len(values) == 1 else ""
    return value if 0 < len(value) <= MAX_VALUE and value.isascii() else None


def set_session_cookie(request: HTTPConnection, response: Response, value: str, max_age: int) -> None:
    name = cookie_name(request)
    response.set_cookie(
        name,
        value,
        max_age=max_age,
        path=root_path(request.scope) or "/",
        secure=name != NAME,
        httponly=True,
        samesite="lax",
    )


def clear_session_cookie(request: HTTPConnection, response: Response) -> None:
    set_session_cookie(request, response, "", 0)
