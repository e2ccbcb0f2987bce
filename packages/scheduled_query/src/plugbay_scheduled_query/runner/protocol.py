"""How parent and runner talk: frames of one byte of kind, four of length, then the payload."""

import json
import select
import socket
import struct
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass
from enum import IntEnum
from typing import Any, NamedTuple

HEADER = struct.Struct("<BI")
FRAME_LIMIT = 32 * 1024 * 1024  # bytes: a longer frame means that the other side is not in its right mind
RECEIVE_BYTES = 256 * 1024
ROWS_FRAME_BYTES = 1024 * 1024
MEMORY_EXIT = 81  # the exit status of a runner that used too much memory

_NUMBER = struct.Struct("<I")


class FrameKind(IntEnum):
    """What a frame says; the first three come from the parent, the others from the runner.

    A request is a slice: several statements for one source, numbered, which the runner answers one by one,
    each with `ROWS` and an `END`. A `RECALL` asks for a range of them back, as far as they have not begun;
    `BEGUN` answers it with the number of the last one that has. Cancel, recall and its answer have a line of
    their own.
    """

    REQUEST = 1
    CANCEL = 2
    RECALL = 3
    READY = 16
    CONNECTING = 17
    STARTED = 18
    ROWS = 19
    END = 20
    BEGUN = 21


@dataclass(frozen=True, slots=True)
class Caps:
    """How much of a result is kept; what is cut makes it `truncated`, not a failure."""

    rows: int = 10_000
    columns: int = 1_000
    cell_bytes: int = 65_536
    result_bytes: int = 10_000_000


class Asked(NamedTuple):
    """One statement of a slice; its number is what cancel and recall speak of."""

    number: int
    sql: str
    timeout_s: float


@dataclass(frozen=True, kw_only=True)
class Request:
    """A slice of statements for one source; or a look at it: `tables`, `self_test`, or `end` of a session."""

    ask: str
    dialect: str
    key: str
    params: Mapping[str, Any]
    connect_s: float
    caps: Caps
    allowed_functions: Collection[str]
    statements: Sequence[Asked]

    def packed(self) -> bytes:
        content = vars(self) | {"caps": astuple(self.caps), "allowed_functions": [*self.allowed_functions]}
        return pack_json(FrameKind.REQUEST, content)

    @classmethod
    def unpacked(cls, payload: bytes) -> "Request":
        content = json.loads(payload)
        content["caps"] = Caps(*content["caps"])
        content["statements"] = [Asked(*each) for each in content["statements"]]
        return cls(**content)


class ProtocolError(Exception):
    """The other side sent something that is no frame."""


def pack(kind: FrameKind, payload: bytes = b"") -> bytes:
    """One frame as bytes."""
    return HEADER.pack(kind, len(payload)) + payload


def pack_rows(text: bytes) -> bytes:
    """The text of some rows, in as many frames as it takes."""
    parts = (text[at : at + ROWS_FRAME_BYTES] for at in range(0, len(text), ROWS_FRAME_BYTES))
    return b"".join(pack(FrameKind.ROWS, part) for part in parts)


def pack_json(kind: FrameKind, value: Any) -> bytes:
    """One frame whose payload is a JSON value."""
    return pack(kind, json.dumps(value, separators=(",", ":")).encode("ascii"))


def pack_numbers(kind: FrameKind, *numbers: int) -> bytes:
    """One frame about statements, by their numbers."""
    return pack(kind, b"".join(map(_NUMBER.pack, numbers)))


def numbers_in(payload: bytes) -> list[int]:
    """The numbers of the statements that a frame is about."""
    return [number for (number,) in _NUMBER.iter_unpack(payload)]


class FrameReader:
    """Reads whole frames from a socket, however they are split on the way."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._buffer = bytearray()
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)

    def read(self, deadline: float | None = None) -> tuple[int, bytes] | None:
        """The next frame, or None when the other side is gone; TimeoutError at the (monotonic) deadline."""
        while (frame := self._take()) is None:
            self._await_data(deadline)
            data = self._receive()
            if not data:
                return None
            self._buffer += data
        return frame

    def _take(self) -> tuple[int, bytes] | None:
        if len(self._buffer) < HEADER.size:
            return None
        kind, length = HEADER.unpack_from(self._buffer)
        if length > FRAME_LIMIT:
            raise ProtocolError
        end = HEADER.size + length
        if len(self._buffer) < end:
            return None
        payload = bytes(self._buffer[HEADER.size : end])
        del self._buffer[:end]
        return kind, payload

    def _await_data(self, deadline: float | None) -> None:
        if deadline is None:
            return
        left = deadline - time.monotonic()
        if not self._poll.poll(max(left, 0) * 1000):
            raise TimeoutError

    def _receive(self) -> bytes:
        try:
            return self._channel.recv(RECEIVE_BYTES)
        except ConnectionError:
            return b""
