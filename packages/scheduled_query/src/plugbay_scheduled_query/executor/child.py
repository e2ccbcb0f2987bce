"""The parent's hold on one runner: start it, hand it a slice of statements, listen to its answers, end it."""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plugbay_scheduled_query.dialects.contract import RUNNER_DIR
from plugbay_scheduled_query.executor.time_limit import TimeLimit
from plugbay_scheduled_query.runner.protocol import (
    MEMORY_EXIT,
    FrameKind,
    FrameReader,
    ProtocolError,
    numbers_in,
    pack_numbers,
)

PROGRAM = "from plugbay_scheduled_query.runner.program import main; main()"
START_LIMIT_S = 30  # a machine that is busy starting many
FAREWELL_S = 1.0  # a runner that was hung up on ends by itself in this time
RECALL_LIMIT_S = 10.0  # the runner's second thread answers, whatever the first one does
PATIENCE_S = (
    0.05  # a statement that takes longer holds up nobody: those behind it in its slice are called back
)
RESULT_SLACK_BYTES = 1_000_000  # a runner that sends more than its cap is not in its right mind
# of the server's environment a runner gets only what drivers need: no keys, no passwords
PASSED_ON = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "PATH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TZ",
    "PGPASSFILE",
)


class RunnerGoneError(Exception):
    """The runner ended before it answered; the message says how."""


class Child:
    """One runner process; used by one thread at a time, except for `cancel`, `kill` and `hang_up`."""

    def __init__(self, memory_bytes: int) -> None:
        """Start it; to be called from a thread that outlives it, whose end would end the runner (Linux)."""
        self.dialect: str | None = None
        self.key = ""
        self.number = 0  # of the statement at hand, or of the last one
        self.last_number = 0  # that was ever sent
        self.session = ""  # the mark of its session, where it can go on when the runner ends
        self.last_used = time.monotonic()
        self._is_ready = False
        self._channel, far_channel = socket.socketpair()
        self._control, far_control = socket.socketpair()
        with far_channel, far_control:
            try:
                self.process = _spawn(far_channel.fileno(), far_control.fileno(), memory_bytes)
            except OSError:
                self.close()
                raise
        self._reader = FrameReader(self._channel)
        self._answers = FrameReader(self._control)

    def send(self, frame: bytes) -> None:
        """Send a request; RunnerGoneError when the runner is no more and so got nothing of it."""
        self._await_ready()
        try:
            self._channel.sendall(frame)
        except OSError:
            raise RunnerGoneError(self._last_words()) from None

    def _await_ready(self) -> None:
        if self._is_ready:
            return
        try:
            frame = self._reader.read(time.monotonic() + START_LIMIT_S)
        except TimeoutError:
            frame = None
        if frame is None or frame[0] != FrameKind.READY:
            self.kill()
            raise RunnerGoneError("the runner did not start")
        self._is_ready = True

    def has_died_idle(self) -> bool:
        """Whether it was ready once and is gone; one that never was is for its user to find out."""
        return self._is_ready and self.process.poll() is not None

    def read(self, deadline: float) -> tuple[int, bytes]:
        """The next frame; TimeoutError at the deadline, RunnerGoneError when there will be none."""
        try:
            frame = self._reader.read(deadline)
        except ProtocolError:
            self.kill()
            frame = None
        if frame is None:
            raise RunnerGoneError(self._last_words())
        return frame

    def cancel(self, number: int) -> None:
        """Ask the runner to stop the statement of this number."""
        with contextlib.suppress(OSError):
            self._control.sendall(pack_numbers(FrameKind.CANCEL, number))

    def recall(self, first: int, end: int) -> int:
        """Have the runner begin no more of these numbers; returns the last one that it has begun."""
        try:
            self._control.sendall(pack_numbers(FrameKind.RECALL, first, end))
            frame = self._answers.read(time.monotonic() + RECALL_LIMIT_S)
        except TimeoutError:
            self.kill()
            frame = None
        except (OSError, ProtocolError):
            frame = None
        return numbers_in(frame[1])[0] if frame else 0  # one that is gone begins nothing any more

    def kill(self) -> None:
        """End the runner at once."""
        self.process.kill()

    def hang_up(self) -> None:
        """Shut the line: the runner tells its database to stop, and ends."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close our ends of a line on which nobody speaks any more."""
        self._channel.close()
        self._control.close()

    def _last_words(self) -> str:
        try:
            status = self.process.wait(FAREWELL_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "the runner stopped answering"
        if status == MEMORY_EXIT:
            return "the query needs too much memory"
        how = f"by signal {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
        return f"the runner ended {how} while the query ran"


def _spawn(channel_fd: int, control_fd: int, memory_bytes: int) -> "subprocess.Popen[bytes]":
    arguments = map(str, (channel_fd, control_fd, os.getpid(), memory_bytes))
    return subprocess.Popen(
        [sys.executable, "-S", "-P", "-W", "ignore", "-c", PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=(channel_fd, control_fd),
        env=_environment(),
        cwd=RUNNER_DIR,
        start_new_session=True,  # Ctrl-C in the server's terminal is for the server
    )


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    # without the site module (a third of the start-up time) the import path must be told
    path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry)
    return {**kept, "PYTHONPATH": path, "MALLOC_ARENA_MAX": "1"}


@dataclass
class Reply:
    """What came back: a status, the text of the rows, and what the runner says about them."""

    status: str
    error: str | None = None
    end: dict[str, Any] = field(default_factory=dict)
    rows: bytearray = field(default_factory=bytearray)
    is_runner_sound: bool = True


class Conversation:
    """One slice of statements for one runner: asks once, and listens to one answer after the other."""

    def __init__(
        self,
        child: Child,
        limits: Sequence[TimeLimit],
        result_bytes: int,
        called_back: Callable[[int], object],
    ) -> None:
        """`called_back` hears from which place in the slice on the runner will begin nothing."""
        self._child = child
        self._limits = limits
        self._called_back = called_back
        self._first = child.last_number + 1 - len(limits)
        self._end = self._first + len(limits)  # the number after the last that the runner will answer
        self._most_bytes = result_bytes + RESULT_SLACK_BYTES
        self._rows = bytearray()

    def hold(self, request: bytes) -> Iterator[Reply]:
        """A reply for each statement, in order, until one of them is the runner's last, or called back.

        RunnerGoneError only when the runner never got the request.
        """
        self._child.send(request)
        for number in itertools.count(self._first):
            if number >= self._end:
                return
            self._child.number = number
            reply = self._reply(number)
            yield reply
            if not reply.is_runner_sound:
                return

    def _reply(self, number: int) -> Reply:
        self._limit = self._limits[number - self._first]
        self._limit.run()
        self._rows = bytearray()
        try:
            return self._listen(number)
        except RunnerGoneError as error:
            status = "timeout" if self._limit.is_over else "failed"
            return Reply(status, str(error), is_runner_sound=False)

    def _listen(self, number: int) -> Reply:
        recall_at = time.monotonic() + PATIENCE_S
        while True:
            deadline = self._limit.deadline
            is_followed = number + 1 < self._end
            try:
                kind, payload = self._child.read(min(deadline, recall_at) if is_followed else deadline)
            except TimeoutError:
                if is_followed:
                    self._call_back(number + 1)
                elif reply := self._run_out():
                    return reply
                continue
            if kind == FrameKind.END:
                return self._finish(json.loads(payload))
            self._note(kind, payload)

    def _call_back(self, first: int) -> None:
        """From this number on the runner begins nothing; what it has begun goes on."""
        self._end = max(first, 1 + self._child.recall(first, self._end))
        self._called_back(self._end - self._first)

    def _note(self, kind: int, payload: bytes) -> None:
        if kind == FrameKind.ROWS:
            self._rows += payload
            if len(self._rows) > self._most_bytes:
                self._child.kill()
        elif kind == FrameKind.CONNECTING:
            self._child.session = ""
            self._limit.connect()
        elif kind == FrameKind.STARTED:
            self._child.session = payload.decode()
            self._limit.run()

    def _run_out(self) -> Reply | None:
        if self._limit.is_connecting:
            self._child.kill()
            return Reply("failed", f"no connection within {self._limit.connect_s:g} s", is_runner_sound=False)
        if self._limit.is_over:
            self._child.kill()
            return Reply("timeout", "it did not stop at its time limit", is_runner_sound=False)
        self._limit.cancel()
        self._child.cancel(self._child.number)
        return None

    def _finish(self, end: dict[str, Any]) -> Reply:
        status = "timeout" if self._limit.is_over else end["status"]
        return Reply(status, end.get("error"), end, self._rows, not end.get("retire"))
