"""Lets claimed runs into the engine no faster than they may run: Run Now always finds a free worker."""

import threading
from collections import deque
from collections.abc import Callable, Iterable

from plugbay_scheduled_query.repository.claims import ClaimedRun


class Feed:
    """A queue with a door: at most `limit()` runs are inside, the others wait in the order of their claim."""

    def __init__(self, let_in: Callable[[list[ClaimedRun]], None], limit: Callable[[], int]) -> None:
        self._let_in = let_in
        self._limit = limit
        self._lock = threading.Lock()
        self._waiting: deque[ClaimedRun] = deque()
        self._inside: set[int] = set()
        self.is_shut = False

    def put(self, runs: Iterable[ClaimedRun]) -> None:
        with self._lock:
            self._waiting.extend(runs)
        self._open()

    def leave(self, run_id: int) -> None:
        """A run is over: another may come in."""
        with self._lock:
            if run_id not in self._inside:
                return  # it never came through this door: Run Now
            self._inside.remove(run_id)
        self._open()

    def shut(self) -> list[ClaimedRun]:
        """Nobody comes in any more; returns those who wait."""
        with self._lock:
            self.is_shut = True
            return list(self._waiting)

    def _open(self) -> None:
        with self._lock:
            if self.is_shut:
                return
            room = min(self._limit() - len(self._inside), len(self._waiting))
            coming = [self._waiting.popleft() for _ in range(room)]
            self._inside.update(run.id for run in coming)
        if coming:
            self._let_in(coming)
