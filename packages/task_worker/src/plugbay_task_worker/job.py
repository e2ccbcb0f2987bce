"""One piece of work on its way: what a call receives, and what an adapter moves along."""

import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import TracebackType
from typing import Any, Literal, Self

from plugbay import get_logger

log = get_logger(__name__)

Kind = Literal["job", "task", "timer"]
Hook = Callable[[], object]


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
    kind: Kind
    owner: str
    name: str
    call: "Call"
    due_at: datetime
    """The tick of a task, the time of a timer, the submission of a job."""
    payload: Mapping[str, Any] = field(default_factory=dict)
    priority: int = 0
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


def _outcome(cancelled: bool, error: str) -> JobState:
    if cancelled:
        return JobState.CANCELLED
    return JobState.FAILED if error else JobState.DONE
