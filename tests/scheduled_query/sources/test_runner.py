import json
import os
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plugbay_scheduled_query.core.errors import SourceError
from plugbay_scheduled_query.dialects.sqlite import session as sqlite
from plugbay_scheduled_query.runner import program
from plugbay_scheduled_query.runner.program import Runner, Watch, describe
from plugbay_scheduled_query.runner.protocol import (
    Asked,
    Caps,
    FrameKind,
    FrameReader,
    Request,
    numbers_in,
)
from runner_kit import eventually, target


class Line:
    """The parent's end of a runner that lives in a thread of the test."""

    def __init__(self) -> None:
        self.channel, far_channel = socket.socketpair()
        self.control, far_control = socket.socketpair()
        self._far = (far_channel, far_control)
        self._reader = FrameReader(self.channel)
        self._answers = FrameReader(self.control)
        self.watch = Watch(far_control)
        self.runner = Runner(far_channel, self.watch, 100_000_000, os.getppid())
        self.runner._is_limited = True  # the limits of a process are not for the test's own
        self._thread = threading.Thread(target=self.runner.serve)
        self._thread.start()
        assert self.kind() == FrameKind.READY

    def kind(self) -> int:
        frame = self._reader.read()
        assert frame is not None
        return frame[0]

    def ask(self, url: str, *texts: str, ask: str = "run", number: int = 1, timeout_s: float = 30) -> None:
        """A slice of statements, numbered from `number` on."""
        place = target(url)
        request = Request(
            ask=ask,
            dialect=place.dialect,
            key=place.key,
            params=place.params,
            connect_s=10,
            caps=Caps(),
            allowed_functions=(),
            statements=[Asked(at, text, timeout_s) for at, text in enumerate(texts, number)],
        )
        self.channel.sendall(request.packed())

    def recall(self, first: int, end: int) -> int:
        """Calls these numbers back; the last one that has begun."""
        self.watch._recall(range(first, end))
        frame = self._answers.read()
        assert frame is not None
        assert frame[0] == FrameKind.BEGUN
        return numbers_in(frame[1])[0]

    def answer(self) -> tuple[list[FrameKind], Any]:
        """The kinds of frames up to the end, and what the end says."""
        kinds: list[FrameKind] = []
        while not kinds or kinds[-1] != FrameKind.END:
            frame = self._reader.read()
            assert frame is not None
            kinds.append(FrameKind(frame[0]))
        end = json.loads(frame[1])
        assert end.pop("ms") >= 0
        return kinds, end

    def close(self) -> None:
        self.channel.close()
        self._thread.join()
        for end in (self.control, *self._far):
            end.close()


@pytest.fixture
def line() -> Iterator[Line]:
    opened = Line()
    yield opened
    opened.close()


def test_a_session_is_opened_once_and_announced(line: Line, sqlite_url: str):
    line.ask(sqlite_url, "SELECT 1")
    kinds, end = line.answer()
    assert kinds == [FrameKind.CONNECTING, FrameKind.STARTED, FrameKind.ROWS, FrameKind.END]
    told = {"columns": ["1"], "row_count": 1, "truncated": False, "binary": []}
    assert end == {"status": "success", **told}
    line.ask(sqlite_url, "SELECT 2")
    assert line.answer()[0] == [FrameKind.ROWS, FrameKind.END]


def test_a_self_test_gets_a_session_of_its_own(line: Line, sqlite_url: str):
    line.ask(sqlite_url, "SELECT 1")
    line.answer()
    line.ask(sqlite_url, "", ask="self_test")
    kinds, end = line.answer()
    assert kinds == [FrameKind.CONNECTING, FrameKind.STARTED, FrameKind.END]
    assert end["data"]["warnings"] == []


def test_a_session_is_not_kept_for_another_source(line: Line, sqlite_url: str, tmp_path: Path):
    sqlite3.connect(tmp_path / "other.db").close()
    for url in (sqlite_url, f"sqlite:///{tmp_path}/other.db", sqlite_url):
        line.ask(url, "SELECT 1")
        assert FrameKind.CONNECTING in line.answer()[0]


def test_an_idle_session_is_closed_after_a_while(
    line: Line, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(program, "IDLE_SESSION_S", 0)
    line.ask(sqlite_url, "SELECT 1")
    line.answer()
    eventually(lambda: line.runner._session is None)


def test_an_old_session_is_replaced(line: Line, sqlite_url: str, monkeypatch: pytest.MonkeyPatch):
    line.ask(sqlite_url, "SELECT 1")
    line.answer()
    monkeypatch.setattr(program, "SESSION_AGE_S", 0)
    line.ask(sqlite_url, "SELECT 1")
    assert FrameKind.CONNECTING in line.answer()[0]


def test_a_request_that_was_cancelled_before_it_came_is_not_run(line: Line, sqlite_url: str):
    line.watch._cancelled.add(7)
    line.ask(sqlite_url, "SELECT 1", number=7)
    assert line.answer()[1] == {"status": "unbegun"}
    line.ask(sqlite_url, "SELECT 1", number=8)
    assert line.answer()[1]["status"] == "success"


def test_a_slice_is_answered_one_by_one_in_one_session(line: Line, sqlite_url: str):
    line.ask(sqlite_url, "SELECT 1", "SELECT missing", "SELECT 3")
    assert line.answer()[0] == [FrameKind.CONNECTING, FrameKind.STARTED, FrameKind.ROWS, FrameKind.END]
    assert line.answer()[1]["error"] == "no such column: missing"
    assert line.answer()[0] == [FrameKind.ROWS, FrameKind.END]


def test_what_was_called_back_is_not_begun(line: Line, sqlite_url: str):
    assert line.recall(6, 8) == 0
    line.ask(sqlite_url, "SELECT 5", "SELECT 6", "SELECT 7", number=5)
    assert line.answer()[1]["status"] == "success"
    line.ask(sqlite_url, "SELECT 8", number=8)
    assert line.answer()[1]["columns"] == ["8"]
    assert line.recall(9, 10) == 8


def test_a_cancel_is_for_one_statement_of_a_slice(line: Line, sqlite_url: str):
    line.watch._cancelled.add(2)
    line.ask(sqlite_url, "SELECT 1", "SELECT 2", "SELECT 3")
    assert [line.answer()[1]["status"] for _ in range(3)] == ["success", "unbegun", "success"]


def test_a_cancel_of_what_is_over_is_forgotten(line: Line, sqlite_url: str):
    line.ask(sqlite_url, "SELECT 1", number=5)
    line.answer()
    assert not line.watch._is_open(5)
    assert line.watch._is_open(6)


def test_a_runner_that_ran_out_of_memory_says_so_and_ends(
    line: Line, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
):
    def fail(self: object, sql: str) -> None:
        raise MemoryError

    monkeypatch.setattr(sqlite.SqliteSession, "execute", fail)
    line.ask(sqlite_url, "SELECT 1")
    _, end = line.answer()
    assert end == {"status": "failed", "error": "the query needs more than 100 MB of memory", "retire": True}
    line._thread.join()


def test_a_driver_that_is_missing_is_named_with_what_to_install():
    error = ModuleNotFoundError("No module named 'psycopg'", name="psycopg")
    assert describe(error) == (
        "the driver psycopg is not installed: pip install 'plugbay-scheduled-query[postgresql]'"
    )


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (SourceError("as it is"), "as it is"),
        (Exception(1045, "Access denied"), "Access denied (1045)"),
        (Exception(), "Exception"),
        (Exception("x" * 10_000), "x" * 4000),
        (ImportError("something else"), "something else"),
    ],
)
def test_an_error_is_told_in_its_own_words(error: Exception, text: str):
    assert describe(error) == text
