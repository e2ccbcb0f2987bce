"""Requests whose heads do not end, before any login: on a real process, byte by byte."""

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from live import served
from plugbay import http_head
from plugbay.http_head import MAX_HEAD
from servers import START_S, Server, get, serving
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

GET = b"GET /healthz HTTP/1.1\r\nHost: bay\r\n"
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
CHUNKED = (
    b"POST /login HTTP/1.1\r\nHost: bay\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n"
    + FORM
    + b"\r\n"
)
MB = 1024 * 1024


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("bay")) as server:
        assert server.url
        yield server


@contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    where = urlsplit(url)
    with socket.create_connection((where.hostname or "", where.port or 0), timeout=START_S) as connection:
        yield connection


def answer_to(server: Server, *parts: bytes) -> bytes:
    """All that comes back until the server hangs up; what it no longer takes is not sent."""
    with connected(server.url) as connection:
        try:
            for part in parts:
                connection.sendall(part)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return read_all(connection)


def read_all(connection: socket.socket) -> bytes:
    found = b""
    try:
        while more := connection.recv(65536):
            found += more
    except ConnectionResetError:
        pass
    return found


def resident(server: Server) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


ENDLESS: dict[str, Callable[[], Iterator[bytes]]] = {
    "many headers": lambda: iter([GET, *[b"X-More: " + b"a" * 8000 + b"\r\n"] * 10_000, b"\r\n"]),
    "one header": lambda: iter([GET + b"X-More: ", *[b"a" * 8000] * 7500]),
    "one name": lambda: iter([GET, *[b"a" * 8000] * 2500]),
    "a folded header": lambda: iter([GET + b"X-More: a", *[b"\r\n  " + b"a" * 8000] * 2500]),
    "small headers": lambda: iter([GET, *[b"a:b\r\n" * 1600] * 2500]),
    "a path": lambda: iter([b"GET /", *[b"a" * 8000] * 2500]),
    "a query": lambda: iter([b"GET /healthz?", *[b"a=b&" * 2000] * 2500]),
    "empty lines": lambda: iter([b"\r\n" * 4000] * 2500),
    "trailers": lambda: iter([CHUNKED + b"1\r\na\r\n0\r\n", *[b"X-More: " + b"a" * 8000 + b"\r\n"] * 2500]),
    "one trailer": lambda: iter([CHUNKED + b"1\r\na\r\n0\r\nX-More: ", *[b"a" * 8000] * 2500]),
    "a chunk's extension": lambda: iter([CHUNKED + b"1;", *[b"a" * 8000] * 2500]),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_head_without_end_is_refused_before_the_memory_is_taken(server: Server, kind: str):
    """80 MB of headers got 200, and an unfinished header of 60 MB held 100 MB, without any login."""
    assert get(f"{server.url}/healthz").status_code == 200
    before = resident(server)
    with httpx2.Client(base_url=server.url, verify=False, timeout=START_S) as neighbour:
        assert neighbour.get("/healthz").status_code == 200
        said = answer_to(server, *ENDLESS[kind]())
        assert neighbour.get("/healthz").status_code == 200
    assert said.startswith(b"HTTP/1.1 400" if kind == "a folded header" else b"HTTP/1.1 431 ")
    assert said.count(b"HTTP/1.1") == 1
    assert resident(server) - before < 8 * MB


@pytest.mark.parametrize("room", [-1, 0, 1])
def test_the_limit_is_64_kb_to_the_byte(server: Server, room: int):
    path = b"/healthz?" + b"a" * 1000
    rest = MAX_HEAD - len(path) - len(b"Host: bay\r\n") - len(b"Connection: close\r\n") - len(b"X-More: \r\n")
    head = b"GET " + path + b" HTTP/1.1\r\nHost: bay\r\nConnection: close\r\nX-More: "
    said = answer_to(server, head + b"a" * (rest + room) + b"\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 431" if room > 0 else b"HTTP/1.1 200")


def test_a_body_is_no_head(server: Server):
    fields = {"username": "admin", "password": "x" * 900_000}
    answer = httpx2.post(f"{server.url}/login", data=fields, verify=False, timeout=START_S)
    assert answer.status_code == 401


def test_a_body_in_many_small_chunks_is_no_head_either(server: Server):
    chunks = b"1\r\na\r\n" * 100_000
    said = answer_to(server, CHUNKED, chunks, b"0\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 401")


def test_one_connection_serves_many_large_heads(server: Server):
    head = GET + b"X-More: " + b"a" * 60_000 + b"\r\n\r\n"
    with connected(server.url) as connection:
        for _ in range(20):
            connection.sendall(head)
            said = b""
            while not said.endswith(b'{"status":"alive"}'):
                said += connection.recv(65536)
            assert said.startswith(b"HTTP/1.1 200 OK")


def test_requests_in_one_go_are_answered_in_turn_and_then_the_large_one_is_refused(server: Server):
    said = answer_to(server, (GET + b"\r\n") * 5 + GET + b"X-More: " + b"a" * 70_000 + b"\r\n\r\n")
    assert re.findall(rb"HTTP/1.1 (\d+)", said) == [b"200"] * 5 + [b"431"]


def test_trailers_do_not_pass_for_headers(server: Server):
    """A trailer was added to the headers of the request that was being answered."""
    request = CHUNKED.replace(b"/login", b"/account/password")
    said = answer_to(server, request, b"0\r\nAuthorization: Bearer pb_x\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 401")


async def greeting(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("hello")(scope, receive, send)


@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        (b"", []),  # a browser keeps a connection in reserve: it is closed without a word
        (b"G", [b"408"]),
        (b"\r\n", [b"408"]),
        (GET, [b"408"]),
        (GET + b"X-More: a", [b"408"]),
        (GET + b"\r\n" + GET, [b"200", b"408"]),
    ],
)
def test_a_head_that_trickles_in_ends_too(
    monkeypatch: pytest.MonkeyPatch, sent: bytes, statuses: list[bytes]
):
    """A connection with half a head stayed open for as long as the other side liked."""
    monkeypatch.setattr(http_head, "HEAD_S", 0.2)
    options = {"http": http_head.BoundedHead, "timeout_keep_alive": START_S}
    with served(greeting, **options) as url, connected(url) as connection:
        connection.sendall(sent)
        assert re.findall(rb"HTTP/1.1 (\d+)", read_all(connection)) == statuses
