"""uvicorn's HTTP protocol with a limit on what is no body: request line, headers, chunk lines, trailers."""

from asyncio import TimerHandle, Transport
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD = 64 * 1024  # bytes; browsers and proxies stay below 16 kB
PART = 4096  # bytes that the parser gets at a time: an unfinished head is too large by no more than this
HEAD_S = 60.0  # for a whole head; the slowest phone needs a second or two
LINGER_S = 5.0  # the refusal is lost if we hang up on somebody who still sends

TOO_LARGE = f"The request line, the headers and the trailers have at most {MAX_HEAD} bytes together."
TOO_SLOW = f"The headers must be complete within {HEAD_S:.0f} seconds."


class HeadTooLarge(Exception):
    """Stops the parser in the middle of its work."""


class BoundedHead(HttpToolsProtocol):
    """Answers 431 or 408 and hangs up; what was asked before on the same connection is answered first."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._known = 0  # bytes of this head as the parser has told them
        self._fed = 0  # bytes that it got since it last told the end of something
        self._is_begun = False
        self._is_before_body = True
        self._refusal: tuple[int, str] | None = None
        self._timer: TimerHandle | None = None

    # what the connection tells

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(HEAD_S)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PART):
            if not self._is_listening():
                return
            part = data[start : start + PART]
            self._fed += len(part)
            super().data_received(part)
            if self._fed > MAX_HEAD and self._is_listening():
                self._refuse(431, TOO_LARGE)
        if self._is_listening() and self._is_within_head() and self._timer is None:
            self._wait(HEAD_S)

    def _is_listening(self) -> bool:
        # a connection that became a WebSocket has left our set
        return not (self._refusal or self.transport.is_closing()) and self in self.connections

    def _is_within_head(self) -> bool:
        return self._is_before_body and (self._is_begun or self._fed > 0)

    # what the parser tells

    def on_message_begin(self) -> None:
        self._is_begun, self._known, self._fed = True, 0, 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + 4)  # the colon, the space and the end of the line
        if self._is_before_body:  # nobody reads trailers, and they must not pass for headers
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_begun, self._is_before_body, self._known, self._fed = False, False, 0, 0
        self._stop_waiting()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._fed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_before_body, self._known, self._fed = True, 0, 0
        super().on_message_complete()

    def _count(self, length: int) -> None:
        self._known += length
        if self._known > MAX_HEAD:
            raise HeadTooLarge

    # how it ends

    def send_400_response(self, msg: str) -> None:
        if self._known > MAX_HEAD:
            self._refuse(431, TOO_LARGE)
        else:
            super().send_400_response(msg)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._refusal and self.cycle.response_complete and not self.transport.is_closing():
            self._hang_up()

    def _refuse(self, status: int, text: str) -> None:
        self._refusal = status, text
        self._stop_waiting()
        if not self._is_before_body:  # the request that goes on and on is the one that is being answered
            self._break_off()
        elif self.cycle is None or self.cycle.response_complete:
            self._hang_up()

    def _break_off(self) -> None:
        is_unanswered = not self.cycle.response_started and not self.pipeline
        self.cycle.disconnected = True
        self.cycle.message_event.set()
        if is_unanswered:
            self._hang_up()
        else:
            self.transport.close()

    def _hang_up(self) -> None:
        assert self._refusal
        self._unset_keepalive_if_required()
        self.transport.write(_answer(*self._refusal))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._timer = self.loop.call_later(LINGER_S, self.transport.close)

    def _wait(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self._is_within_head():
            self.transport.close()  # a browser that kept a connection in reserve
        elif self._is_listening():
            self._refuse(408, TOO_SLOW)


def _answer(status: int, text: str) -> bytes:
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "content-type: text/plain; charset=utf-8",
        f"content-length: {len(text)}",
        "connection: close",
    ]
    return "\r\n".join([*lines, "", text]).encode("ascii")
