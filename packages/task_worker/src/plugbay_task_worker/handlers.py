"""Who does the jobs of each name, and what became of those that ended."""

import itertools
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from plugbay_task_worker.engine import (
    AlreadyRegistered,
    Call,
    Job,
    JobState,
    JobStats,
    JobView,
    Lanes,
    UnknownJob,
)


@dataclass(slots=True, eq=False)
class Handler:
    """The call behind a job's name."""

    owner: str
    name: str
    call: Call
    returned: Callable[[Job], object] | None = None
    here: bool = False
    lanes: Lanes | None = None
    is_leaving: bool = False
    runs: int = 0
    failures: int = 0
    cancelled: int = 0
    handed_back: int = 0
    seconds_total: float = 0.0

    def count(self, job: Job) -> None:
        """Takes down how a job ended."""
        self.runs += job.started_at is not None
        self.failures += job.state is JobState.FAILED
        self.cancelled += job.state is JobState.CANCELLED
        self.handed_back += job.state is JobState.RETURNED
        self.seconds_total += job.duration_s

    def stats(self) -> JobStats:
        return JobStats(
            self.owner,
            self.name,
            self.runs,
            self.failures,
            self.cancelled,
            self.handed_back,
            self.seconds_total,
        )


class JobHandlers:
    """The handlers by owner and name, and what ended of late."""

    def __init__(self, recent: int) -> None:
        self._lock = threading.Lock()
        self._by_name: dict[tuple[str, str], Handler] = {}
        self._recent: deque[JobView] = deque(maxlen=recent)

    def keep(self, recent: int) -> None:
        """Remembers that many of the jobs that ended."""
        with self._lock:
            self._recent = deque(itertools.islice(self._recent, recent), maxlen=recent)

    def add(self, handler: Handler) -> None:
        with self._lock:
            if (handler.owner, handler.name) in self._by_name:
                raise AlreadyRegistered(owner=handler.owner, kind="job", name=handler.name)
            self._by_name[handler.owner, handler.name] = handler

    def get(self, owner: str, name: str) -> Handler | None:
        return self._by_name.get((owner, name))

    def all(self) -> list[Handler]:
        with self._lock:
            return list(self._by_name.values())

    def find(self, owner: str, name: str) -> Handler:
        handler = self.get(owner, name)
        if handler is None:
            raise UnknownJob(owner=owner, name=name)
        return handler

    def begin_removal(self, owner: str) -> None:
        """From now on the owner's new jobs are handed back at once."""
        with self._lock:
            for key, handler in self._by_name.items():
                handler.is_leaving |= key[0] == owner

    def remove_owner(self, owner: str) -> None:
        with self._lock:
            self._by_name = {key: handler for key, handler in self._by_name.items() if key[0] != owner}

    def record(self, job: Job) -> Handler | None:
        """Takes down a job that ended; a timer only if it failed, or they would drown the rest."""
        with self._lock:
            if job.kind != "timer" or job.state is JobState.FAILED:
                self._recent.appendleft(JobView.of(job))
            handler = self._by_name.get((job.owner, job.name)) if job.kind == "job" else None
            if handler:
                handler.count(job)
            return handler

    def recent(self) -> tuple[JobView, ...]:
        with self._lock:
            return tuple(self._recent)

    def stats(self) -> tuple[JobStats, ...]:
        with self._lock:
            return tuple(self._by_name[key].stats() for key in sorted(self._by_name))
