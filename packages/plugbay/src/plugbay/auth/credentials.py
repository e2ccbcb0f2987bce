"""What a request shows to say who sends it. Nothing here asks the store."""

import base64
import binascii
from dataclasses import dataclass

from starlette.requests import HTTPConnection

from plugbay.auth.cookies import session_cookie
from plugbay.auth.tokens import PREFIX

MAX_HEADER = 8192  # characters of `Authorization`; a name and a password of full length fit in


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
        return self.password.startswith(PREFIX)


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
