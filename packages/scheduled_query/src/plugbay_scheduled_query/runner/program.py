"""The program of the child process that runs other people's SQL: one statement at a time, under all limits.

It is started by exec with two inherited sockets, loads only the driver of the dialect it is given, and
ends when its parent does. One thread answers requests, statement by statement; another one watches.
"""

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import asdict
from typing import Any

from plugbay_scheduled_query.core.errors import SourceError, SourceRefusedError
from plugbay_scheduled_query.dialects import DIALECTS, dialect_named
from plugbay_scheduled_query.dialects.contract import Params, Session, StaleSessionError
from plugbay_scheduled_query.runner.limits import (
    Meter,
    data_bytes,
    die_with_parent,
    limit_address_space,
    limit_data,
    restrict_process,
)
from plugbay_scheduled_query.runner.protocol import (
    Asked,
    FrameKind,
    FrameReader,
    Request,
    numbers_in,
    pack,
    pack_json,
    pack_numbers,
)
from plugbay_scheduled_query.runner.results import ResultWriter

IDLE_SESSION_S = 60  # a connection that nobody uses is not kept longer
SESSION_AGE_S = 600  # nor one that everybody uses: the account's rights may have changed
ASK_AGAIN_S = 0.4  # a cancel that arrives before its statement reaches the server has no effect
LAST_WORDS_S = 0.8  # to tell the server that nobody waits for the answer any more
ERROR_LIMIT = 4000  # characters
RESIDENT_BASE_BYTES = 200_000_000  # DuckDB's own code and buffers, beside what a query may use

_EXTRAS = {dialect.driver: dialect.name for dialect in DIALECTS if dialect.driver}


def main() -> None:
    """Take the sockets from the command line and serve."""
    channel_fd, control_fd, parent, memory_bytes = map(int, sys.argv[1:5])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # meant for the server, which lets running queries finish
    die_with_parent(parent)
    restrict_process()
    watch = Watch(socket.socket(fileno=control_fd))
    watch.start()
    with contextlib.suppress(ConnectionError):  # the parent hung up: nobody is left to tell
        Runner(socket.socket(fileno=channel_fd), watch, memory_bytes, parent).serve()
    os._exit(0)  # at once: Python's own way out needs memory, of which there may be none left


class Watch:
    """The second thread: it sees a cancel or a recall come and the parent go, whatever the first one does."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._reader = FrameReader(control)
        self._lock = threading.Lock()
        self._number = 0  # of the statement at hand; 0 between two
        self._begun = 0  # the number of the last one that began
        self._recalled = range(0)  # the numbers that may not begin any more
        self._cancelled: set[int] = set()
        self._session: Session | None = None

    def start(self) -> None:
        threading.Thread(target=self._listen, name="watch", daemon=True).start()

    def enter(self, number: int) -> bool:
        """The first thread begins with a statement; False if it was called back before that."""
        with self._lock:
            if number in self._recalled:
                return False
            self._number = self._begun = number
            return True

    def attend(self, session: Session) -> None:
        """This session may be cancelled from now on."""
        self._session = session

    def leave(self) -> bool:
        """The statement is done: waits for a cancel that is under way, and lets none come after it.

        Whether there was one.
        """
        with self._lock:
            was_cancelled = self.is_cancelled
            self._session = None
            self._cancelled.discard(self._number)
            self._number = 0
            return was_cancelled

    @property
    def is_cancelled(self) -> bool:
        """Whether someone asked to stop the statement at hand."""
        return self._number in self._cancelled

    def _listen(self) -> None:
        while True:
            try:
                frame = self._reader.read(time.monotonic() + ASK_AGAIN_S if self.is_cancelled else None)
            except TimeoutError:
                self._stop_session()
                continue
            if frame is None:
                self._end()
            elif frame[0] == FrameKind.CANCEL:
                self._cancelled.update(filter(self._is_open, numbers_in(frame[1])))
                self._stop_session()
            elif frame[0] == FrameKind.RECALL:
                self._recall(range(*numbers_in(frame[1])))

    def _is_open(self, number: int) -> bool:
        """Whether a statement is at hand or still to come."""
        return number == self._number or number > self._begun

    def _recall(self, numbers: range) -> None:
        with self._lock:
            self._recalled = numbers
            self._control.sendall(pack_numbers(FrameKind.BEGUN, self._begun))

    def _stop_session(self) -> None:
        with self._lock, contextlib.suppress(Exception):
            if self.is_cancelled and self._session is not None:
                self._session.cancel()

    def _end(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, LAST_WORDS_S)  # ends the process, even if the next lines hang
        self._lock.acquire()  # for good: what is stopped now must not look like an answer
        with contextlib.suppress(Exception):
            if self._session is not None:
                self._session.cancel()
        os._exit(0)


class Runner:
    """Answers requests until the parent hangs up; keeps the session of the last source if it is clean."""

    def __init__(self, channel: socket.socket, watch: Watch, memory_bytes: int, parent: int) -> None:
        self._channel = channel
        self._reader = FrameReader(channel)
        self._watch = watch
        self._memory_bytes = memory_bytes
        self._parent = parent
        self._session: Session | None = None
        self._key = ""
        self._opened_at = 0.0
        self._is_limited = False
        self._worn_at_bytes = sys.maxsize  # what a database keeps of its memory, the next query would lack

    def serve(self) -> None:
        """Ready; then one request after the other."""
        self._channel.sendall(pack(FrameKind.READY))
        while (request := self._next_request()) is not None:
            if not self._handle(request):
                return

    def _next_request(self) -> Request | None:
        try:
            frame = self._reader.read(time.monotonic() + IDLE_SESSION_S if self._session else None)
        except TimeoutError:
            self._close_session()
            frame = self._reader.read()
        return Request.unpacked(frame[1]) if frame else None

    def _handle(self, request: Request) -> bool:
        """Answers one statement after the other; False when this runner is good for no more."""
        last = request.statements[-1]
        for asked in request.statements:
            if not self._watch.enter(asked.number):
                break
            end = self._handle_one(request, asked)
            if end.get("retire"):
                return False
            if asked is not last:
                self._renew_session(end, is_last=False)
        self._renew_session(end, is_last=True)
        return True

    def _handle_one(self, request: Request, asked: Asked) -> dict[str, Any]:
        writer, began = ResultWriter(request.caps, self._channel.sendall), time.monotonic()
        end: dict[str, Any] = {"status": "unbegun"}
        try:
            if not self._watch.is_cancelled:
                end = self._answer(request, asked, writer)
        except MemoryError:
            end = {"status": "failed", "error": self._memory_text(), "retire": True}
        except Exception as error:
            is_refused = isinstance(error, SourceRefusedError)
            end = {"status": "failed", "error": describe(error), "refused": is_refused}
        was_cancelled = self._watch.leave()
        end["ms"] = round((time.monotonic() - began) * 1000)
        if self._session is not None and not self._session.is_at_rest:
            end["is_left"] = True
        if self._is_worn():
            end["retire"] = True
        rows = writer.rest() if "row_count" in end else b""
        self._channel.sendall(rows + pack_json(FrameKind.END, end))
        if (
            was_cancelled
        ):  # perhaps too late to count, but on its way to the server: not in this session, then
            self._close_session()
        return end

    def _answer(self, request: Request, asked: Asked, writer: ResultWriter) -> dict[str, Any]:
        session = self._ready_session(request, asked.timeout_s)
        started = time.monotonic()
        try:
            end = self._ask(session, request, asked, writer)
        except Exception as error:
            end = self._ending(session, error)
        is_late = time.monotonic() - started >= asked.timeout_s
        if self._watch.is_cancelled:
            return {"status": "cancelled"}
        # MariaDB answers 1 instead of an error when SLEEP meets the limit: only the clock tells
        return {"status": "timeout"} if is_late else end

    def _ask(self, session: Session, request: Request, asked: Asked, writer: ResultWriter) -> dict[str, Any]:
        if request.ask == "tables":
            return {"status": "success", "data": [asdict(table) for table in session.tables()]}
        if request.ask == "self_test":
            return {"status": "success", "data": asdict(session.self_test())}
        if request.ask == "end":
            return {"status": "success", "data": session.end(asked.sql)}
        session.allowed_functions = frozenset(request.allowed_functions)
        with self._metered(session, asked.timeout_s):
            return self._run(session, asked.sql, writer)

    def _metered(self, session: Session, timeout_s: float) -> contextlib.AbstractContextManager[None]:
        if session.is_watched:
            return Meter(session, timeout_s, self._memory_bytes + RESIDENT_BASE_BYTES)
        return contextlib.nullcontext()

    def _run(self, session: Session, sql: str, writer: ResultWriter) -> dict[str, Any]:
        if "\0" in sql:  # a C library would read only what stands before it
            raise SourceError("the statement contains a NUL character")
        writer.write(session.execute(sql))
        return {
            "status": "success",
            "columns": writer.columns,
            "row_count": writer.row_count,
            "truncated": writer.is_truncated,
            "binary": writer.binary_columns,
        }

    def _ending(self, session: Session, error: Exception) -> dict[str, Any]:
        if isinstance(error, MemoryError):
            raise error
        if session.is_timeout(error):
            return {"status": "timeout"}
        return {"status": "failed", "error": describe(error)}

    def _ready_session(self, request: Request, timeout_s: float) -> Session:
        if self._session is not None and self._can_serve(request):
            with contextlib.suppress(StaleSessionError):
                self._session.begin(timeout_s)
                self._watch.attend(self._session)
                return self._session
        self._close_session()
        return self._new_session(request, timeout_s)

    def _can_serve(self, request: Request) -> bool:
        is_young = time.monotonic() - self._opened_at < SESSION_AGE_S
        return is_young and self._key == request.key and request.ask != "self_test"

    def _new_session(self, request: Request, timeout_s: float) -> Session:
        self._channel.sendall(pack(FrameKind.CONNECTING))
        session = self._open(request)
        self._session, self._key, self._opened_at = session, request.key, time.monotonic()
        try:
            session.begin(timeout_s)
        except StaleSessionError:
            raise SourceError("the connection was lost as soon as it was made") from None
        self._watch.attend(session)
        self._channel.sendall(pack(FrameKind.STARTED, session.mark.encode()))
        return session

    def _open(self, request: Request) -> Session:
        params = Params(request.params, self._memory_bytes, request.connect_s)
        session = dialect_named(request.dialect).open_session(params)
        if not self._is_limited:
            self._is_limited = True
            die_with_parent(self._parent, is_wanted=not session.outlives_client)
            if session.limits_address_space:
                limit_address_space(self._memory_bytes)
            else:  # the meter comes first, but cannot look while the driver makes Python's values
                limit_data(2 * self._memory_bytes)
                self._worn_at_bytes = data_bytes() + self._memory_bytes // 2
        return session

    def _is_worn(self) -> bool:
        return self._worn_at_bytes < sys.maxsize and data_bytes() > self._worn_at_bytes

    def _renew_session(self, end: dict[str, Any], is_last: bool) -> None:
        is_clean = False
        with contextlib.suppress(Exception):
            is_stopped = end["status"] == "timeout"
            is_clean = self._session is not None and not is_stopped and self._session.reset(is_last)
        if not is_clean:
            self._close_session()

    def _close_session(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with contextlib.suppress(Exception):
                session.close()

    def _memory_text(self) -> str:
        return f"the query needs more than {self._memory_bytes // 1_000_000} MB of memory"


def describe(error: Exception) -> str:
    """An error in the words of its database, or of the machine that lacks a driver."""
    if isinstance(error, ImportError) and error.name in _EXTRAS:
        package = f"plugbay-scheduled-query[{_EXTRAS[error.name]}]"
        return f"the driver {error.name} is not installed: pip install '{package}'"
    if isinstance(error, UnicodeEncodeError):
        return "the statement contains characters that are not valid Unicode"
    if len(error.args) == 2 and isinstance(error.args[0], int):
        return f"{error.args[1]} ({error.args[0]})"[:ERROR_LIMIT]  # PyMySQL's number and text
    return (str(error).strip() or type(error).__name__)[:ERROR_LIMIT]
