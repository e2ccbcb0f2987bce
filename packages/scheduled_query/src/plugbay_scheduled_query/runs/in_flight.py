"""The runs of this process between claim and record, and those who wait for them."""

import threading
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Future

from plugbay_scheduled_query.core.model import Execution, Trigger
from plugbay_scheduled_query.repository.claims import ClaimedRun

Promise = Future[Execution | None]


class InFlight:
    """Any thread may look; a run leaves when it is recorded, and with it go its waiters."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, ClaimedRun] = {}
        self._begun: dict[int, ClaimedRun] = {}
        self._promises: dict[int, list[Promise]] = {}

    def __len__(self) -> int:
        with self._lock:
            return len(self._waiting) + len(self._begun)

    def add(self, runs: Iterable[ClaimedRun]) -> None:
        with self._lock:
            self._waiting.update((run.id, run) for run in runs)

    def begin(self, run_id: int) -> ClaimedRun | None:
        """The run, for whoever asks first; None for everybody else."""
        with self._lock:
            run = self._waiting.pop(run_id, None)
            if run:
                self._begun[run_id] = run
            return run

    def ids(self) -> list[int]:
        with self._lock:
            return [*self._waiting, *self._begun]

    def scheduled(self) -> Counter[int]:
        """How many of them the clock asked for, by source."""
        with self._lock:
            runs = [*self._waiting.values(), *self._begun.values()]
        return Counter(run.source_id for run in runs if run.run.trigger is Trigger.SCHEDULE)

    def has_begun(self, run_id: int) -> bool:
        with self._lock:
            return run_id in self._begun

    def promise(self, run_id: int) -> Promise | None:
        """A promise of the execution; None when the run is not here (any more)."""
        with self._lock:
            if run_id not in self._waiting and run_id not in self._begun:
                return None
            promise: Promise = Future()
            self._promises.setdefault(run_id, []).append(promise)
            return promise

    def end(self, run_id: int, execution: Execution | None) -> None:
        """The run is over here: recorded, or left to somebody else (None)."""
        with self._lock:
            self._waiting.pop(run_id, None)
            self._begun.pop(run_id, None)
            promises = self._promises.pop(run_id, [])
        for promise in promises:
            promise.set_result(execution)
