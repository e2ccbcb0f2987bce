"""Tokens that prove that a form came from our own page, shown to this very login."""

import contextlib
import hashlib
import hmac
import secrets

from fastapi import HTTPException
from starlette.datastructures import FormData
from starlette.requests import ClientDisconnect, HTTPConnection, Request

from plugbay.auth.marks import user_of
from plugbay.auth.user import User

FIELD = "csrf_token"
HEADER = "x-csrf-token"
_SALT_LENGTH = 16  # characters; a token that differs on each page gives compression nothing to guess by
_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")


class CsrfTokens:
    """Makes and checks tokens that are bound to one login by the session secret."""

    def __init__(self, secret: bytes) -> None:
        self._key = hmac.digest(secret, b"plugbay csrf", hashlib.sha256)

    def for_request(self, request: HTTPConnection) -> str:
        """The token for the forms of the page that answers this request."""
        user = user_of(request)
        return self.issue(user) if user else ""

    def issue(self, user: User) -> str:
        salt = secrets.token_hex(_SALT_LENGTH // 2)
        return salt + self._sign(salt, user)

    def is_valid(self, token: str, user: User) -> bool:
        salt, signature = token[:_SALT_LENGTH], token[_SALT_LENGTH:]
        return hmac.compare_digest(signature.encode(errors="replace"), self._sign(salt, user).encode())

    def _sign(self, salt: str, user: User) -> str:
        bound = f"{salt}:{user.via}:{user.session or user.name}"
        return hmac.new(self._key, bound.encode(errors="replace"), hashlib.sha256).hexdigest()


async def presented_token(request: Request) -> str:
    """The token of a request: from the header, else from the form's hidden field."""
    if token := request.headers.get(HEADER):
        return token
    if not request.headers.get("content-type", "").lower().startswith(_FORM_TYPES):
        return ""
    value = (await _form(request)).get(FIELD)
    return value if isinstance(value, str) else ""


async def _form(request: Request) -> FormData:
    # Reading the body first keeps it on the request: an endpoint can still have the form, the bytes or the
    # stream. If FastAPI parsed the form before us, the stream is used up and the form is on the request.
    try:
        with contextlib.suppress(RuntimeError):
            await request.body()
        form = await request.form()
    except ClientDisconnect:
        raise HTTPException(400, "The connection was closed before the form was complete.") from None
    if stack := request.scope.get("fastapi_middleware_astack"):
        stack.push_async_callback(form.close)  # uploaded files end with the request, as FastAPI's own do
    return form
