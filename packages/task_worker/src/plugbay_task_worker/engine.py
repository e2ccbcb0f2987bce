"""The port: what a plugin may ask of an engine, whichever adapter stands behind it.

A *task* is called again and again, once per tick in the whole cluster. A *timer* is called once, at a time,
in this process. A *job* is called wherever a worker is free: once, or once more if its worker died with it.
It carries a small payload and finds the rest in its owner's tables: an engine that is lost loses no truth.
Every call receives its `Job`.
"""

import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import TracebackType
from typing import Any, Literal, Protocol, Self

import sqlalchemy as sa
from plugbay import PlugbayError, get_logger

URGENT = 100  # the priority of what a person waits for; jobs of equal priority keep their order

WorkKind = Literal["job", "task", "timer"]
Hook = Callable[[], object]

log = get_logger(__name__)


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


class JobState(StrEnum):
    """Where a job stands; the last four are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RETURNED = "returned"


@dataclass(slots=True, eq=False)
class Job:
    """What a call receives: who asked for what, when it was due, and whether it should stop."""

    id: str
    kind: WorkKind
    owner: str
    name: str
    call: "Call"
    due_at: datetime
    """The tick of a task, the time of a timer, the submission of a job."""
    payload: Mapping[str, Any] = field(default_factory=dict)
    priority: int = 0
    lane: str = ""
    attempt: int = 1
    """Higher when a worker before died with this job, or was stopped."""
    missed: int = 0
    """Ticks that were passed over since the task's last one, as when the machine slept."""
    state: JobState = JobState.QUEUED
    started_at: datetime | None = None
    duration_s: float = 0.0
    error: str = ""
    cancel_reason: str = ""
    _hooks: list[Hook] = field(default_factory=list)
    # re-entrant, because a hook may look at the job it belongs to
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def cancelled(self) -> bool:
        """Whether somebody wants this job to stop; `cancel_reason` says why."""
        return bool(self.cancel_reason)

    def on_cancel(self, hook: Hook) -> "CancelHook":
        """Calls `hook` when the job is cancelled, at once if it already is.

        Used in a `with` statement the hook is taken back at its end: from there on it is not called, and a
        call under way has come to its end. A hook must not wait for the job.
        """
        with self._lock:
            self._hooks.append(hook)
            if self.cancelled:
                self._call(hook)
        return CancelHook(self, hook)

    def cancel(self, reason: str) -> bool:
        """For engines: asks the job to stop; False if it is over or was asked before."""
        with self._lock:
            if self.cancelled or self.state not in (JobState.QUEUED, JobState.RUNNING):
                return False
            self.cancel_reason = reason or "cancelled"
            for hook in list(self._hooks):
                self._call(hook)
        return True

    def begin(self, now: datetime) -> None:
        """For engines: the call is about to be made."""
        self.state, self.started_at = JobState.RUNNING, now

    def end(self, duration_s: float, error: str = "") -> None:
        """For engines: the call is over; who asks it to stop now comes too late."""
        with self._lock:
            self._hooks.clear()
            self.duration_s = duration_s
            self.error = self.cancel_reason if self.cancelled else error
            self.state = _outcome(self.cancelled, error)

    def give_back(self) -> None:
        """For engines: the call will never be made here."""
        with self._lock:
            self._hooks.clear()
            self.state = JobState.RETURNED

    def _forget(self, hook: Hook) -> None:
        with self._lock:
            if hook in self._hooks:
                self._hooks.remove(hook)

    def _call(self, hook: Hook) -> None:
        try:
            hook()
        except Exception:
            log.exception("cancel_hook_failed", owner=self.owner, name=self.name, job=self.id)


Call = Callable[[Job], object | Awaitable[object]]
Lanes = Callable[[Callable[[str], int]], Iterable[str]]  # how many of each a process has → what it would take


class CancelHook:
    """A hook that is in force until the end of its `with` statement, or of the job."""

    def __init__(self, job: Job, hook: Hook) -> None:
        self._job = job
        self._hook = hook

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._job._forget(self._hook)


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
class JobStats:
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
    kind: WorkKind
    owner: str
    name: str
    state: JobState
    payload: Mapping[str, Any]
    started_at: datetime | None
    duration_s: float
    error: str
    cancelling: bool

    @classmethod
    def of(cls, job: Job) -> "JobView":
        return cls(
            id=job.id,
            kind=job.kind,
            owner=job.owner,
            name=job.name,
            state=job.state,
            payload=job.payload,
            started_at=job.started_at,
            duration_s=job.duration_s,
            error=job.error,
            cancelling=job.cancelled,
        )


@dataclass(frozen=True, slots=True)
class NodeStats:
    """One process of the cluster."""

    id: str
    name: str
    """The machine and the process on it, for people."""
    workers: int
    """How many jobs it may have at work at once; 0 for one that leaves them to others."""
    is_this: bool


@dataclass(frozen=True)
class EngineStats:
    """What an engine is doing, and what it did of late; of several processes on one queue, all of them."""

    started: bool
    workers: int
    tasks: tuple[TaskStats, ...]
    jobs: tuple[JobStats, ...]
    timers: int
    queued: int
    running: tuple[JobView, ...]
    recent: tuple[JobView, ...]
    """What ended last, the latest first."""
    nodes: tuple[NodeStats, ...] = ()
    """The processes that share the queue; none where each has its own."""


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
        self,
        *,
        owner: str,
        name: str,
        call: Call,
        returned: Callable[[Job], object] | None = None,
        here: bool = False,
        lanes: "Lanes | None" = None,
    ) -> None:
        """Says who does the jobs of that name, and who is told of those that will never begin.

        `here` keeps them in the process that submits them: what they work on lives in its memory. `lanes` are
        those that this process would take another job from, where processes share jobs that have a lane.
        """
        ...

    def submit(
        self,
        owner: str,
        name: str,
        payload: Mapping[str, Any] | None = None,
        *,
        priority: int = 0,
        within: sa.Connection | None = None,
        lane: str = "",
    ) -> str:
        """Puts in one job and returns its id; the payload is what JSON can carry.

        `within` a transaction of `store.begin()` the job is there if and only if that is committed. A `lane`
        is for jobs of a name that are to be taken in turn: see `handle`.
        """
        ...

    def submit_many(
        self,
        owner: str,
        name: str,
        payloads: Iterable[Mapping[str, Any]],
        *,
        priority: int = 0,
        within: sa.Connection | None = None,
        lane: str = "",
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

    @property
    def works(self) -> bool:
        """Whether this process calls tasks and takes jobs of others; a server may leave both to workers."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether jobs that are submitted here may be done by another process."""
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


def _outcome(cancelled: bool, error: str) -> JobState:
    if cancelled:
        return JobState.CANCELLED
    return JobState.FAILED if error else JobState.DONE
