"""Time and memory of a statement, for databases that run inside the runner and keep no limit themselves."""

import os
import threading
import time

from plugbay_scheduled_query.sources.dialects.session import Session
from plugbay_scheduled_query.sources.limits import resident_bytes

LOOK_EVERY_S = 0.05
MEMORY_EXIT = 81  # the exit status of a runner that used too much memory


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
