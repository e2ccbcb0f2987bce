"""What keeps other sites out of a visitor's browser: origin checks, CSRF tokens, security headers."""

import contextlib
import hashlib
import hmac
import secrets
from collections.abc import Iterator
from urllib.parse import urlsplit

from fastapi import HTTPException
from starlette.datastructures import FormData, Headers
from starlette.requests import ClientDisconnect, HTTPConnection, Request

from plugbay.auth.roles import User, user_of

OWN_SITES = ("same-origin", "none")  # "none": the visitor typed it or used a bookmark
FIELD = "csrf_token"
HEADER = "x-csrf-token"
_SALT_LENGTH = 16  # characters; a token that differs on each page gives compression nothing to guess by
_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
Header = tuple[bytes, bytes]
FIXED: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    # "no-referrer" would make our own forms send `Origin: null`
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    # static files say otherwise themselves
    (b"cache-control", b"no-store"),
)
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; form-action {form_action}; frame-ancestors 'none'"
)


def cross_site_signs(headers: Headers) -> Iterator[str]:
    """Each header that says that another site's page caused this request."""
    own = _host(f"//{headers.get('host', '')}")
    for site in headers.getlist("sec-fetch-site"):
        if site.strip().lower() not in OWN_SITES:
            yield "Sec-Fetch-Site"
    for origin in headers.getlist("origin"):
        if _host(origin) != own:
            yield "Origin"


def cross_site_get_signs(headers: Headers) -> Iterator[str]:
    """The same for a GET that changes something: a link or a prefetch must not set it off."""
    yield from cross_site_signs(headers)
    own = _host(f"//{headers.get('host', '')}")
    if any(_host(referer) != own for referer in headers.getlist("referer")):
        yield "Referer"
    for name in ("Sec-Purpose", "Purpose"):
        if "prefetch" in headers.get(name, "").lower():
            yield name


def refuse_cross_site(request: HTTPConnection) -> None:
    """403 if a browser says that the request comes from another site."""
    signs = cross_site_signs(request.headers)
    if request.scope["type"] == "websocket":
        # browsers do not agree on what Sec-Fetch-Site says of ws: and wss:
        signs = (sign for sign in signs if sign == "Origin")
    _refuse(signs)


def refuse_cross_site_get(request: HTTPConnection) -> None:
    """403 if another site, or a prefetch, set off this state-changing GET; a bearer token is always meant."""
    user = user_of(request)
    if user is None or user.via != "token":
        _refuse(cross_site_get_signs(request.headers))


def _refuse(signs: Iterator[str]) -> None:
    sign = next(signs, None)
    if sign is not None:
        raise HTTPException(403, f"This request was refused because it came from another site ({sign}).")


def _host(url: str) -> str | None:
    """Host and port in one spelling; None for `null` and for what is no address."""
    try:
        parts = urlsplit(url)
        name, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not name:
        return None
    return name if port in (None, 80, 443) else f"{name}:{port}"


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


def with_security(headers: list[Header], nonce: str, form_action: str = "'self'") -> list[Header]:
    """The headers of a response of ours; what the response says itself stays."""
    policy = POLICY.format(nonce=nonce, form_action=form_action)
    given = {name.lower() for name, _ in headers}
    ours = (*FIXED, (b"content-security-policy", policy.encode("latin-1")))
    return [*headers, *(header for header in ours if header[0] not in given)]
