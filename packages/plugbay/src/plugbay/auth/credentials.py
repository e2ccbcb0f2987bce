"""What a request shows to say who sends it, the session cookie among it. Nothing here asks the store."""

import base64
import binascii
from dataclasses import dataclass

from starlette.requests import HTTPConnection
from starlette.responses import Response

from plugbay.web.requests import root_path

TOKEN_PREFIX = "pb_"  # lets people and secret scanners see what it is  # noqa: S105
MAX_HEADER = 8192  # characters of `Authorization`; a name and a password of full length fit in
COOKIE_NAME = "plugbay_session"
MAX_COOKIE = 128  # characters; ours have 43


@dataclass(frozen=True)
class SessionCookie:
    """The value of our cookie."""

    value: str


@dataclass(frozen=True)
class BearerToken:
    """An API token."""

    value: str


@dataclass(frozen=True)
class BasicLogin:
    """A name with a password, or with a token in the place of the password."""

    name: str
    password: str

    @property
    def is_token(self) -> bool:
        return self.password.startswith(TOKEN_PREFIX)


Credential = SessionCookie | BearerToken | BasicLogin


def read_credential(request: HTTPConnection) -> Credential | None:
    """The one credential that counts: `Authorization`, when it is there, else the cookie."""
    headers = request.headers.getlist("authorization")
    if headers:
        return _from_header(headers[0]) if len(headers) == 1 else None
    value = session_cookie(request)
    return SessionCookie(value) if value else None


def _from_header(header: str) -> Credential | None:
    scheme, _, value = header.strip().partition(" ")
    value = value.strip()
    if len(header) > MAX_HEADER or not value:
        return None
    if scheme.lower() == "bearer":
        return BearerToken(value)
    return _read_basic(value) if scheme.lower() == "basic" else None


def _read_basic(value: str) -> BasicLogin | None:
    try:
        raw = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    name, colon, password = _decode(raw).partition(":")
    return BasicLogin(name, password) if colon else None


def _decode(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")  # what old clients send


def cookie_name(request: HTTPConnection) -> str:
    """Under https with a prefix that keeps a sister domain from setting a cookie of this name."""
    if request.scope.get("scheme") not in ("https", "wss"):
        return COOKIE_NAME
    return f"__Secure-{COOKIE_NAME}" if root_path(request.scope) else f"__Host-{COOKIE_NAME}"


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
    return value if 0 < len(value) <= MAX_COOKIE and value.isascii() else None


def set_session_cookie(request: HTTPConnection, response: Response, value: str, max_age: int) -> None:
    name = cookie_name(request)
    response.set_cookie(
        name,
        value,
        max_age=max_age,
        path=root_path(request.scope) or "/",
        secure=name != COOKIE_NAME,
        httponly=True,
        samesite="lax",
    )


def clear_session_cookie(request: HTTPConnection, response: Response) -> None:
    set_session_cookie(request, response, "", 0)
