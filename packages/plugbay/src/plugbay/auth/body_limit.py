"""No request body of ours is larger than 1 MB, whatever its head says."""

from fastapi import HTTPException
from starlette.types import Message, Receive, Scope

MAX_BODY = 1024 * 1024  # bytes; the longest query text with its form is far below
MAX_DRAINED = 16 * MAX_BODY  # read and thrown away, so that a client that is still sending hears the 413


class LimitedBody:
    """Hands on the parts of a body up to the limit, then raises 413."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        self._announced = _content_length(scope)
        self._seen = 0

    async def receive(self) -> Message:
        if self._announced > MAX_BODY:
            await self._refuse(more=True)
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        if self._seen > MAX_BODY:
            await self._refuse(more=message.get("more_body", False))
        return message

    async def _refuse(self, more: bool) -> None:
        while more and self._seen <= MAX_DRAINED:
            message = await self._receive()
            self._seen += len(message.get("body", b""))
            more = message.get("more_body", False)
        raise HTTPException(413, f"A request body has at most {MAX_BODY} bytes.")


def _content_length(scope: Scope) -> int:
    value = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(value) if value.isdigit() else 0
