"""Lets claimed runs into the engine no faster than they may run: Run Now always finds a free worker."""

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable

from plugbay_scheduled_query.repository.claims import ClaimedRun


class Feed:
    """A queue with a door: at most `limit()` runs are inside, the others wait.

    Sources take turns, and where there are several none takes the last place: one that hangs or is slow keeps
    nobody else waiting. Within a source runs go in the order of their claim.
    """

    def __init__(self, let_in: Callable[[list[ClaimedRun]], None], limit: Callable[[], int]) -> None:
        self._let_in = let_in
        self._limit = limit
        self._lock = threading.Lock()
        self._waiting: dict[int, deque[ClaimedRun]] = {}  # by source, of all that ever came, in their turn
        self._inside: dict[int, int] = {}  # run → source
        self.is_shut = False

    def put(self, runs: Iterable[ClaimedRun]) -> None:
        with self._lock:
            for run in runs:
                if run.source_id not in self._waiting:  # who is new comes next
                    self._waiting = {run.source_id: deque(), **self._waiting}
                self._waiting[run.source_id].append(run)
        self._open()

    def leave(self, run_id: int) -> None:
        """A run is over: another may come in."""
        with self._lock:
            if self._inside.pop(run_id, None) is None:
                return  # it never came through this door: Run Now
        self._open()

    def shut(self) -> list[ClaimedRun]:
        """Nobody comes in any more; returns those who wait."""
        with self._lock:
            self.is_shut = True
            return [run for waiting in self._waiting.values() for run in waiting]

    def _open(self) -> None:
        with self._lock:
            coming = [] if self.is_shut else self._admitted(self._limit())
        if coming:
            self._let_in(coming)

    def _admitted(self, limit: int) -> list[ClaimedRun]:
        inside, admitted = Counter(self._inside.values()), []
        most = limit if len(self._waiting) < 2 else max(1, limit - 1)
        while len(self._inside) < limit:
            free = [source for source, runs in self._waiting.items() if runs and inside[source] < most]
            if not free:
                break
            source = min(free, key=inside.__getitem__)
            self._waiting[source] = waiting = self._waiting.pop(source)  # of equals the others are next
            run = waiting.popleft()
            self._inside[run.id] = source
            inside[source] += 1
            admitted.append(run)
        return admitted
