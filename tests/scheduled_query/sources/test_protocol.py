import socket
import time
from collections.abc import Iterator

import pytest
from plugbay_scheduled_query.runner.protocol import (
    FRAME_LIMIT,
    HEADER,
    ROWS_FRAME_BYTES,
    FrameKind,
    FrameReader,
    ProtocolError,
    pack,
    pack_json,
    pack_rows,
)


@pytest.fixture
def line() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        yield near, far


def soon() -> float:
    return time.monotonic() + 60


def test_a_frame_comes_back_as_it_was_sent(line):
    near, far = line
    near.sendall(
        pack(FrameKind.ROWS, b"abc") + pack(FrameKind.READY) + pack_json(FrameKind.END, {"a": "é\ud800"})
    )
    reader = FrameReader(far)
    assert reader.read(soon()) == (FrameKind.ROWS, b"abc")
    assert reader.read(soon()) == (FrameKind.READY, b"")
    assert reader.read(soon()) == (FrameKind.END, b'{"a":"\\u00e9\\ud800"}')


def test_a_frame_may_arrive_byte_by_byte(line):
    near, far = line
    reader = FrameReader(far)
    frame = pack(FrameKind.ROWS, b"abc")
    for byte in frame[:-1]:
        near.sendall(bytes([byte]))
        with pytest.raises(TimeoutError):
            reader.read(time.monotonic())
    near.sendall(frame[-1:])
    assert reader.read() == (FrameKind.ROWS, b"abc")


def test_nothing_comes_after_the_other_side_is_gone(line):
    near, far = line
    near.sendall(pack(FrameKind.READY) + b"\x01")
    near.close()
    reader = FrameReader(far)
    assert reader.read(soon()) == (FrameKind.READY, b"")
    assert reader.read(soon()) is None


def test_a_reader_waits_no_longer_than_its_deadline(line):
    with pytest.raises(TimeoutError):
        FrameReader(line[1]).read(time.monotonic() + 0.001)


def test_a_frame_of_an_impossible_length_is_an_error(line):
    near, far = line
    near.sendall(HEADER.pack(FrameKind.ROWS, FRAME_LIMIT + 1))
    with pytest.raises(ProtocolError):
        FrameReader(far).read(soon())


def test_much_text_goes_in_several_frames():
    text = b"x" * (ROWS_FRAME_BYTES * 2 + 1)
    packed = pack_rows(text)
    assert len(packed) == len(text) + 3 * HEADER.size
    assert pack_rows(b"") == b""
