"""Messages that survive one redirect: put down by one request, shown by the next page."""

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from starlette.requests import HTTPConnection, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "plugbay_flash"
MAX_AGE_S = 60  # a message that is not shown by then has lost its context
MAX_MESSAGES = 5
MAX_TEXT = 480  # bytes, of which JSON may make six each
MAX_COOKIE = 4000  # bytes: browsers drop a cookie of more than 4,096

Level = Literal["success", "info", "warning", "error"]


@dataclass(frozen=True)
class FlashMessage:
    """A sentence for the person who asked, and how glad it should look."""

    text: str
    level: Level = "success"


def flash(request: HTTPConnection, *messages: FlashMessage) -> None:
    """Shows the messages on this request's page or, after a redirect, on the next one."""
    _box(request.scope)["out"].extend(messages)


def take_flashes(request: HTTPConnection) -> list[FlashMessage]:
    """What is to be shown now; afterwards there is nothing left."""
    box = _box(request.scope)
    messages = [*box["in"], *box["out"]]
    box["taken"], box["in"], box["out"] = True, [], []
    return messages


class FlashMiddleware:
    """Carries the messages in a signed cookie that only the server can write."""

    def __init__(self, app: ASGIApp, secret: bytes) -> None:
        self._app = app
        self._secret = secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        box = _box(scope)
        box["in"] = arrived = read_cookie(scope, self._secret)

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                if box["out"]:
                    waiting = [*box["in"], *box["out"]]
                    message["headers"] = [*message.get("headers", []), self._set(scope, waiting)]
                elif box["taken"] and arrived:
                    message["headers"] = [*message.get("headers", []), self._set(scope, [])]
            await send(message)

        await self._app(scope, receive, send_with_cookie)

    def _set(self, scope: Scope, messages: list[FlashMessage]) -> tuple[bytes, bytes]:
        value, age = (encode(messages, self._secret), MAX_AGE_S) if messages else ("", 0)
        path = scope.get("root_path") or "/"
        secure = "; Secure" if scope.get("scheme") == "https" else ""
        cookie = f"{COOKIE}={value}; Path={path}; Max-Age={age}; HttpOnly; SameSite=Lax{secure}"
        return (b"set-cookie", cookie.encode("latin-1"))


def encode(messages: list[FlashMessage], secret: bytes) -> str:
    """The cookie's value; when there is too much to say, the oldest messages give way."""
    kept = [asdict(message) | {"text": _short(message.text)} for message in messages[-MAX_MESSAGES:]]
    while True:
        body = base64.urlsafe_b64encode(json.dumps(kept, ensure_ascii=False).encode()).decode()
        value = f"{body}.{_sign(body, secret)}"
        if len(COOKIE) + len(value) < MAX_COOKIE or len(kept) < 2:
            return value
        del kept[0]


def decode(value: str, secret: bytes) -> list[FlashMessage]:
    """The messages of a cookie; none if it is not one of ours."""
    body, _, signature = value.partition(".")
    if not hmac.compare_digest(signature.encode(), _sign(body, secret).encode()):
        return []
    try:
        return [FlashMessage(**item) for item in json.loads(base64.urlsafe_b64decode(body))]
    except (binascii.Error, ValueError, TypeError):
        return []


def read_cookie(scope: Scope, secret: bytes) -> list[FlashMessage]:
    marker = COOKIE.encode()
    for name, value in scope["headers"]:
        if name == b"cookie" and marker in value:
            return decode(cookie_parser(value.decode("latin-1")).get(COOKIE, ""), secret)
    return []


def _short(text: str) -> str:
    return text.encode(errors="replace")[:MAX_TEXT].decode(errors="ignore")


def _sign(body: str, secret: bytes) -> str:
    return hmac.new(secret, b"flash:" + body.encode(), hashlib.sha256).hexdigest()


def _box(scope: Scope) -> dict[str, Any]:
    box: dict[str, Any] = scope.setdefault("plugbay.flash", {"in": [], "out": [], "taken": False})
    return box
