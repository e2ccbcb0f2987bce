"""The embedded adapter: one process, threads that sleep until there is work, nothing to install."""

import itertools
import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from plugbay import Clock, after_commit, get_logger

from plugbay_task_worker.engine import (
    Call,
    EngineStats,
    InvalidName,
    InvalidPeriod,
    Job,
    JobState,
    JobView,
    Lanes,
    NaiveTime,
    StopReport,
)
from plugbay_task_worker.handlers import Handler, JobHandlers
from plugbay_task_worker.tick_claims import TickClaims
from plugbay_task_worker.ticker import Task, Ticker
from plugbay_task_worker.worker_pool import WorkerPool

STOPPING = "the engine stops"  # why a call is asked to end when its process does
UNWIND_S = 2.0  # for a call that was asked to stop: to clear up and end
NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")

log = get_logger(__name__)


class EmbeddedEngine:
    """An `Engine` whose jobs live and die with the process; their truth is in their owner's tables."""

    def __init__(
        self,
        clock: Clock,
        claims: TickClaims,
        *,
        workers: int = 16,
        task_workers: int = 16,
        recent: int = 100,
        works: bool = True,
    ) -> None:
        self._clock = clock
        self._workers = workers
        self._works = works
        self._handlers = JobHandlers(recent)
        # ids of different lives of the process must differ: a stale page must not cancel another job
        self._ids = map(f"{secrets.token_hex(4)}-{{}}".format, itertools.count(1))
        self._ticker = Ticker(clock, claims, task_workers, self._new_id, self._ended, calls_tasks=works)
        self._jobs = self._new_pool()
        self._life = threading.RLock()
        self._is_started = self._was_stopped = False

    def every(self, *, owner: str, name: str, seconds: int, call: Call, at_start: bool = False) -> None:
        _check_name("task", name)
        if isinstance(seconds, bool) or not isinstance(seconds, int) or seconds < 1:
            raise InvalidPeriod(name=name, seconds=seconds)
        self._ticker.every(Task(owner, name, seconds, call, at_start))

    def at(self, *, owner: str, name: str, when: datetime, call: Call) -> None:
        if when.tzinfo is None:
            raise NaiveTime(name=name, when=when)
        self._ticker.at(owner, name, when, call)

    def handle(
        self,
        *,
        owner: str,
        name: str,
        call: Call,
        returned: Callable[[Job], object] | None = None,
        here: bool = False,
        lanes: Lanes | None = None,
    ) -> None:
        _check_name("job", name)
        self._handlers.add(Handler(owner, name, call, returned, here, lanes))

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
        payloads = [payload or {}]
        return self.submit_many(owner, name, payloads, priority=priority, within=within, lane=lane)[0]

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
        handler, now = self._handlers.find(owner, name), self._clock.now()
        jobs = [
            Job(self._new_id(), "job", owner, name, handler.call, now, as_json(payload), priority, lane)
            for payload in payloads
        ]
        self._put(handler, jobs, within)
        return [job.id for job in jobs]

    def cancel(self, job_id: str, reason: str = "cancelled") -> bool:
        return self._jobs.cancel(job_id, reason) or self._ticker.pool.cancel(job_id, reason)

    def run_task(self, owner: str, name: str) -> bool:
        return self._ticker.run_task(owner, name)

    def remove_owner(self, owner: str, grace_s: float = 0.0) -> StopReport:
        self._handlers.begin_removal(owner)
        self._ticker.remove_owner(owner)
        returned = self._give_back_owner(owner)
        cancelled, abandoned = self._wind_down(owner, grace_s, "its owner was unloaded")
        self._handlers.remove_owner(owner)
        return StopReport(returned, cancelled, abandoned)

    def start(self) -> None:
        with self._life:
            if self._is_started:
                return
            if self._was_stopped:
                self._renew()
            self._open()
            self._is_started = True

    def stop(self, grace_s: float = 30.0) -> StopReport:
        with self._life:
            if not self._is_started:
                return StopReport()
            self._ticker.close()
            returned = self._close()
            cancelled, abandoned = self._wind_down(None, grace_s, STOPPING)
            self._join(0.0 if abandoned else UNWIND_S)
            self._is_started, self._was_stopped = False, True
            return StopReport(returned, cancelled, abandoned)

    def stats(self) -> EngineStats:
        at_work = [JobView.of(job) for pool in self._pools for job in pool.running()]
        return EngineStats(
            started=self._is_started,
            workers=self._workers,
            tasks=self._ticker.stats(),
            jobs=self._handlers.stats(),
            timers=self._ticker.timers(),
            queued=self._jobs.queued(),
            running=tuple(job for job in at_work if job.state is JobState.RUNNING),
            recent=self._handlers.recent(),
        )

    def resize(self, *, workers: int, task_workers: int, recent: int) -> None:
        """Puts other numbers into effect, without a stop."""
        with self._life:
            self._workers = workers
            self._jobs.resize(workers)
            self._ticker.resize(task_workers)
            self._handlers.keep(recent)

    def problem(self) -> str | None:
        """What keeps tasks from being called at their ticks, if anything does."""
        return self._ticker.problem()

    @property
    def workers(self) -> int:
        return self._workers

    @property
    def works(self) -> bool:
        return self._works

    @property
    def is_shared(self) -> bool:
        return False

    def run_due(self) -> None:
        """Calls what is due by the clock, as the engine's own thread does when it wakes."""
        self._ticker.run_due()

    def wait_idle(self, timeout_s: float = 10.0) -> bool:
        """Waits until nothing else is queued or running; False if that took too long."""
        deadline = time.monotonic() + timeout_s
        while self._ticker.pool.wait_idle(deadline) and self._jobs.wait_idle(deadline):
            if self._ticker.pool.wait_idle(0):  # else a job has set off a task or a timer
                return True
        return False

    @property
    def _pools(self) -> tuple[WorkerPool, ...]:
        return self._ticker.pool, self._jobs

    def _open(self) -> None:
        self._jobs.open()
        self._ticker.start()

    def _close(self) -> int:
        """Begins no job any more; how many were handed back."""
        return self._jobs.close()

    def _renew(self) -> None:
        """Makes ready for another life."""
        self._jobs = self._new_pool()
        self._ticker.renew()

    def _put(self, handler: Handler, jobs: list[Job], within: sa.Connection | None) -> None:
        def put() -> None:
            if handler.is_leaving:
                self._jobs.give_back(jobs)
            else:
                self._jobs.put(jobs)

        if within is None:
            put()
        else:
            after_commit(within, put)

    def _give_back_owner(self, owner: str) -> int:
        return self._jobs.give_back_owner(owner)

    def _wind_down(self, owner: str | None, grace_s: float, reason: str) -> tuple[int, int]:
        """Waits for what runs, then asks it to stop, then gives it up: how many were asked, and given up."""
        deadline = time.monotonic() + grace_s
        for pool in self._pools:
            pool.wait_for(pool.running(owner), deadline)
        late = [(pool, job) for pool in self._pools for job in pool.running(owner)]
        cancelled = sum(job.cancel(reason) for _, job in late)
        deadline = time.monotonic() + UNWIND_S
        abandoned = [job for pool, job in late if not pool.wait_for([job], deadline)]
        for job in abandoned:
            log.error("abandoned", kind=job.kind, owner=job.owner, name=job.name, job=job.id, reason=reason)
        return cancelled, len(abandoned)

    def _join(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        for pool in self._pools:
            pool.join(deadline)

    def _ended(self, job: Job) -> None:
        handler = self._handlers.record(job)
        if handler and handler.returned and job.started_at is None:
            handler.returned(job)

    def _new_pool(self) -> WorkerPool:
        return WorkerPool("task-worker-job", self._workers, self._clock, self._ended)

    def _new_id(self) -> str:
        return next(self._ids)


def _check_name(kind: str, name: str) -> None:
    if not NAME.fullmatch(name):
        raise InvalidName(kind=kind, name=name)


def as_json(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The payload as it would arrive in another process, so that every engine hands over the same."""
    arrived: dict[str, Any] = json.loads(json.dumps(payload))
    return arrived
