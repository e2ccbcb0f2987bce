"""The port: what a plugin may ask of an engine, whichever adapter stands behind it.

A *task* is called again and again, once per tick in the whole cluster. A *timer* is called once, at a time,
in this process. A *job* is called once, wherever a worker is free; it carries a small payload and finds the
rest in its owner's tables: an engine that is lost loses no truth.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from plugbay import PlugbayError

from plugbay_task_worker.job import Call, Job, JobState, Kind

URGENT = 100  # the priority of what a person waits for; jobs of equal priority keep their order


class AlreadyRegistered(PlugbayError):
    """{owner!r} already has a {kind} named {name!r}."""


class InvalidName(PlugbayError):
    """{name!r} cannot name a {kind}: use letters, digits, '_', '-' and '.', at most 100 of them."""


class InvalidPeriod(PlugbayError):
    """The task {name!r} is to be called every {seconds!r} seconds; a period is a whole number, 1 or more."""


class NaiveTime(PlugbayError):
    """The timer {name!r} wants to be called at {when}, which has no time zone."""


class UnknownJob(PlugbayError):
    """{owner!r} has registered no job named {name!r}."""


@dataclass(frozen=True)
class TaskStats:
    """How a periodic task has been doing in this process."""

    owner: str
    name: str
    seconds: int
    running: bool
    next_at: datetime | None
    last_at: datetime | None
    last_duration_s: float
    last_error: str
    runs: int
    failures: int
    skipped: int
    """Ticks that came while the one before was still at work."""
    missed: int
    """Ticks that nobody was awake for."""
    seconds_total: float
    lateness_total_s: float


@dataclass(frozen=True)
class JobKindStats:
    """How the jobs of one name have been doing in this process."""

    owner: str
    name: str
    runs: int
    failures: int
    cancelled: int
    returned: int
    seconds_total: float


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as it stood when one looked."""

    id: str
    kind: Kind
    owner: str
    name: str
    state: JobState
    priority: int
    payload: Mapping[str, Any]
    due_at: datetime
    started_at: datetime | None
    duration_s: float
    error: str
    cancelling: bool

    @classmethod
    def of(cls, job: Job) -> "JobView":
        return cls(
            job.id,
            job.kind,
            job.owner,
            job.name,
            job.state,
            job.priority,
            job.payload,
            job.due_at,
            job.started_at,
            job.duration_s,
            job.error,
            job.cancelled,
        )


@dataclass(frozen=True)
class EngineStats:
    """What an engine is doing, and what it did of late."""

    started: bool
    workers: int
    tasks: tuple[TaskStats, ...]
    jobs: tuple[JobKindStats, ...]
    timers: int
    queued: int
    running: tuple[JobView, ...]
    recent: tuple[JobView, ...]
    """What ended last, the latest first."""


@dataclass(frozen=True)
class StopReport:
    """What became of the work that was under way."""

    returned: int = 0
    cancelled: int = 0
    abandoned: int = 0
    """Calls that did not listen: their threads end with the process at the latest."""


class Engine(Protocol):
    """Calls what plugins register, by owner. Every call receives its `Job`, and may be an `async def`."""

    def every(self, *, owner: str, name: str, seconds: int, call: Call, at_start: bool = False) -> None:
        """Calls at each multiple of `seconds` by the wall clock (60: each full minute), once in the cluster.

        It never overlaps itself in a process; what it raises is logged and counted. `at_start` adds a call in
        each process as soon as the engine runs.
        """
        ...

    def at(self, *, owner: str, name: str, when: datetime, call: Call) -> None:
        """Calls once in this process, when the wall clock is there; another of that name takes its place."""
        ...

    def handle(
        self, *, owner: str, name: str, call: Call, returned: Callable[[Job], object] | None = None
    ) -> None:
        """Says who does the jobs of that name, and who is told of those that will never begin."""
        ...

    def submit(
        self, owner: str, name: str, payload: Mapping[str, Any] | None = None, *, priority: int = 0
    ) -> str:
        """Puts in one job and returns its id; the payload is what JSON can carry."""
        ...

    def submit_many(
        self, owner: str, name: str, payloads: Iterable[Mapping[str, Any]], *, priority: int = 0
    ) -> list[str]:
        """Puts in many jobs at once, for little more than the price of one."""
        ...

    def cancel(self, job_id: str, reason: str = "cancelled") -> bool:
        """Drops a job that waits, asks one that runs to stop; False if there is nothing to cancel."""
        ...

    def run_task(self, owner: str, name: str) -> bool:
        """Calls a periodic task now, beside its ticks; False if there is none or it is at work."""
        ...

    def remove_owner(self, owner: str, grace_s: float = 0.0) -> StopReport:
        """Takes back all that an owner registered; its jobs end as at `stop`."""
        ...

    @property
    def workers(self) -> int:
        """How many jobs may be at work at once in this process."""
        ...

    def start(self) -> None:
        """Begins to work; what was put in before has waited."""
        ...

    def stop(self, grace_s: float = 30.0) -> StopReport:
        """Hands back what has not begun, gives what runs `grace_s` to finish, then asks it to stop."""
        ...

    def stats(self) -> EngineStats:
        """What there is to see, as values."""
        ...
