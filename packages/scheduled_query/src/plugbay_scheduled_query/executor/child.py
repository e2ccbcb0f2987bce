"""The parent's hold on one runner: start it, talk to it, end it."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from plugbay_scheduled_query.runner.limits import MEMORY_EXIT
from plugbay_scheduled_query.runner.protocol import FrameReader, Kind, ProtocolError
from plugbay_scheduled_query.runner.watch import cancel_frame

PROGRAM = "from plugbay_scheduled_query.runner.program import main; main()"
START_LIMIT_S = 30  # a machine that is busy starting many
FAREWELL_S = 1.0  # a runner that was hung up on ends by itself in this time
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
    """One runner process; used by one thread at a time, except for `cancel` and `kill`."""

    def __init__(self, memory_bytes: int) -> None:
        """Start it; to be called from a thread that outlives it, whose end would end the runner (Linux)."""
        self.dialect: str | None = None
        self.key = ""
        self.number = 0  # of the request at hand, or of the last one
        self.session = 0  # the number that the server gave to its session, if it goes on when we end
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
        if frame is None or frame[0] != Kind.READY:
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
        """Ask the runner to stop the request of this number."""
        with contextlib.suppress(OSError):
            self._control.sendall(cancel_frame(number))

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
        [sys.executable, "-S", "-P", "-c", PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=(channel_fd, control_fd),
        env=_environment(),
        cwd="/",
        start_new_session=True,  # Ctrl-C in the server's terminal is for the server
    )


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    # without the site module (a third of the start-up time) the import path must be told
    path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry)
    return {**kept, "PYTHONPATH": path, "MALLOC_ARENA_MAX": "1"}
