"""What a runner is held to by the system: its memory, its files, and an end with its parent.

The time limit is not the system's: its steps are in `executor/time_limit.py`. Where a database keeps neither
time nor memory, the meter here watches over the statement.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path

from plugbay_scheduled_query.dialects.contract import Session
from plugbay_scheduled_query.runner.protocol import MEMORY_EXIT

FILE_BYTES = 16 * 1024 * 1024  # SQLite's -shm index of a long WAL needs some; nothing needs more
OPEN_FILES = 256
OOM_SCORE = "500"  # should memory run out, a runner goes before the server
LOOK_EVERY_S = 0.05

PR_SET_PDEATHSIG = 1
STATM = Path("/proc/self/statm")


def restrict_process() -> None:
    """The limits that fit every dialect: no core dumps, no large files, first to go when memory is short."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE)


def limit_address_space(more_bytes: int) -> None:
    """Let this process have no more than so much memory on top of what it has now."""
    if STATM.exists():
        most = _pages(0) + more_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def limit_data(more_bytes: int) -> None:
    """The same for memory that is written to: for a database that reserves far more than it uses."""
    if STATM.exists():
        most = data_bytes() + more_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def data_bytes() -> int:
    """The memory that this process has for writing; 0 where the system does not tell."""
    return _pages(5) if STATM.exists() else 0


def resident_bytes() -> int:
    """The memory that this process really uses; 0 where the system does not tell."""
    return _pages(1) if STATM.exists() else 0


def _pages(field: int) -> int:
    return int(STATM.read_text().split()[field]) * resource.getpagesize()


def die_with_parent(parent: int, is_wanted: bool = True) -> None:
    """Have the kernel end this process with the thread that started it (Linux), or take that back."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL if is_wanted else 0)
    if os.getppid() != parent:
        os._exit(0)  # it was gone before we could ask


class Meter:
    """Watches one statement from a thread: stops it when time is up, ends the runner for its memory."""

    def __init__(self, session: Session, timeout_s: float, memory_bytes: int) -> None:
        self._session = session
        self._deadline = time.monotonic() + timeout_s
        self._memory_bytes = memory_bytes
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._measure, name="meter", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._is_done.set()
        self._thread.join()

    def _measure(self) -> None:
        while not self._is_done.wait(LOOK_EVERY_S):
            if resident_bytes() > self._memory_bytes:
                os._exit(MEMORY_EXIT)
            if time.monotonic() >= self._deadline:
                self._session.cancel()
