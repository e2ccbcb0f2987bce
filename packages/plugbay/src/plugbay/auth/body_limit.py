"""No request body of ours is larger than 1 MB, whatever its head says."""

from fastapi import HTTPException
from starlette.types import Message, Receive, Scope

MAX_BODY = 1024 * 1024  # bytes; the longest query text with its form is far below


class LimitedBody:
    """Hands on the parts of a body up to the limit, then raises 413; the server throws the rest away."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope = scope
        self._receive = receive
        self._seen = 0

    async def receive(self) -> Message:
        if not self._seen:
            refuse_large_body(self._scope)
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        if self._seen > MAX_BODY:
            raise too_large()
        return message


def refuse_large_body(scope: Scope) -> None:
    """413 for a body that says itself that it is too large, read or not."""
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if length.isdigit() and int(length[:20]) > MAX_BODY:
        raise too_large()


def too_large() -> HTTPException:
    return HTTPException(413, f"A request body has at most {MAX_BODY} bytes.")
