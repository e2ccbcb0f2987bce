"""The adapter for several processes on one PostgreSQL: their jobs are everybody's, on Procrastinate."""

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from plugbay import Clock, Store, get_logger
from procrastinate.jobs import Job as Entry

from plugbay_task_worker import embedded
from plugbay_task_worker.cluster import Cluster, Report, added_up, less
from plugbay_task_worker.embedded import STOPPING, EmbeddedEngine
from plugbay_task_worker.engine import Call, EngineStats, Job, JobState, JobView, Lanes, NodeStats
from plugbay_task_worker.handlers import Handler
from plugbay_task_worker.shared_queue import Row, SharedQueue, queue_of
from plugbay_task_worker.shared_worker import SharedWorker
from plugbay_task_worker.steady_manager import BEAT_S, Ending
from plugbay_task_worker.tick_claims import StoreTickClaims
from plugbay_task_worker.ticker import OURS
from plugbay_task_worker.worker_pool import WorkerPool

REAP_S = 15  # how often somebody looks for jobs of dead workers
REPORT_S = 2.0  # how old what others see of this node may be
LONGEST_ID = 18  # digits of a number that the table can hold
RUN_TASK = "run_task"  # the job by which a process that calls no tasks has one called
MIGRATIONS = Path(__file__).parent / "migrations/shared"

log = get_logger(__name__)


class ProcrastinateEngine(EmbeddedEngine):
    """An `Engine` whose jobs any process on the store may do; tasks and timers are as in the embedded one."""

    def __init__(
        self,
        clock: Clock,
        store: Store,
        *,
        workers: int = 16,
        task_workers: int = 16,
        recent: int = 100,
        works: bool = True,
    ) -> None:
        store.migrate("procrastinate", MIGRATIONS)
        self.node = secrets.token_hex(16)
        self._store = store
        self._queue = SharedQueue(store)
        self._cluster = Cluster(store, self.node)
        self._endings: dict[str, Callable[[Ending], None]] = {}
        self._is_closing = self._is_known = False
        self._reporting: threading.Thread | None = None
        self._handed_in = Report()
        self._leaving = threading.Event()
        claims = StoreTickClaims(store)
        super().__init__(
            clock, claims, workers=workers, task_workers=task_workers, recent=recent, works=works
        )
        self._shared = self._new_shared_pool()
        self._worker = SharedWorker(store, self)
        self._recent = recent
        self.handle(owner=OURS, name=RUN_TASK, call=self._run_task)
        self.every(owner=OURS, name="take_back", seconds=REAP_S, call=self.take_back)

    # what plugins ask for

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
        super().handle(owner=owner, name=name, call=call, returned=returned, here=here, lanes=lanes)
        self.look()  # some of its jobs may have waited for it

    def look(self) -> None:
        """There may be jobs that this process would take by now."""
        self._worker.poke()

    def cancel(self, job_id: str, reason: str = "cancelled") -> bool:
        if super().cancel(job_id, reason) or self._shared.cancel(job_id, reason):
            return True
        if not (job_id.isdecimal() and len(job_id) <= LONGEST_ID):
            return False
        was_there, dropped = self._queue.cancel(job_id, reason)
        if dropped:
            job = self._job_of(dropped)
            job.cancel(reason)
            job.end(0.0)
            self._tell(job)
        return was_there

    def run_task(self, owner: str, name: str) -> bool:
        if self._works:
            return super().run_task(owner, name)
        self.submit(OURS, RUN_TASK, {"owner": owner, "name": name})
        return True

    def take_back(self, job: Job | None = None) -> None:
        """Gives jobs of workers that died to the others; not while all may just have lost the store."""
        if not self.is_steady:
            return
        again, lost = self._queue.take_back()
        for row in again:
            log.warning("job_taken_back", owner=row.owner, name=row.name, job=row.id, attempt=row.attempt)
        for row in lost:
            log.error("job_given_up", owner=row.owner, name=row.name, job=row.id, attempt=row.attempt)
        for node in self._cluster.bury():
            log.warning("node_died", node=node)

    @property
    def is_steady(self) -> bool:
        """Whether the store has answered for so long that who is silent must be dead."""
        return self._worker.steady_s >= BEAT_S

    def alive(self) -> set[str]:
        """The nodes of the cluster, this one among them, as of a moment ago."""
        return {node.id for node in self._cluster.seen()}

    @property
    def working_nodes(self) -> int:
        """How many of them take jobs."""
        return max(1, sum(node.workers > 0 for node in self._cluster.seen()))

    def stats(self) -> EngineStats:
        own, others = super().stats(), self._cluster.others()
        at_work = {job.id: job for job in own.running}
        for row, began, is_cancelled in self._queue.at_work():
            at_work.setdefault(row.id, _view(row, began, is_cancelled))
        total = added_up([self._own_report(), *others.reports], self._recent)
        nodes = (*([self._this()] if own.started else []), *others.nodes)
        names = {(task.owner, task.name) for task in own.tasks}
        return EngineStats(
            started=own.started,
            workers=self._slots if not own.started else sum(node.workers for node in nodes),
            tasks=tuple(
                task for task in total.tasks if (task.owner, task.name) in names and task.owner != OURS
            ),
            jobs=tuple(job for job in total.jobs if job.owner != OURS),
            timers=own.timers,
            queued=own.queued + self._queue.waiting(),
            running=tuple(at_work.values()),
            recent=total.recent,
            nodes=nodes,
        )

    def resize(self, *, workers: int, task_workers: int, recent: int) -> None:
        super().resize(workers=workers, task_workers=task_workers, recent=recent)
        self._recent = recent
        self._shared.resize(workers)
        self._worker.poke()

    @property
    def is_shared(self) -> bool:
        return True

    def wait_idle(self, timeout_s: float = 10.0) -> bool:
        """Waits until nothing is queued or running in the queues of this process, here or elsewhere."""
        deadline = time.monotonic() + timeout_s
        while super().wait_idle(max(0.0, deadline - time.monotonic())):
            is_busy = self._is_started and self._works and self._queue.has_open(self._owners())
            if not is_busy and self._shared.wait_idle(0) and super().wait_idle(0):
                return True
            if time.monotonic() >= deadline:
                return False
            self._leaving.wait(0.01)
        return False

    # what the worker asks for, in its own thread

    def wanted(self, taken: Counter[str]) -> tuple[list[str], int]:
        """The queues to take from; of lanes one job at a time, since each may be the last that is wanted."""
        if self._is_closing or not self._works or not self._is_known:
            return [], 0
        queues, laned = [], []
        for one in self._handlers.all():
            if one.here or one.is_leaving:
                continue
            if one.lanes is None:
                queues.append(queue_of(one.owner, one.name))
            else:
                laned += _lane_queues(one, one.lanes, taken)
        return queues + laned, 1 if laned else self._workers

    @property
    def most(self) -> int:
        return self._workers

    def begin(self, entry: Entry, ended: Callable[[Ending], None]) -> None:
        """Has a job done that was taken off the queue."""
        job = self._job_of(_row(entry))
        if self._is_closing or not self._handlers.get(job.owner, job.name):
            ended(Ending.BACK)  # it was taken for somebody who left meanwhile
            return
        self._endings[job.id] = ended
        self._shared.put([job])

    # inside

    @property
    def _pools(self) -> tuple[WorkerPool, ...]:
        return *super()._pools, self._shared

    @property
    def _slots(self) -> int:
        return self._workers if self._works else 0

    def _open(self) -> None:
        self._shared.open()
        super()._open()
        self._is_closing = self._is_known = False
        self._leaving.clear()
        self._worker.start()
        self._reporting = threading.Thread(target=self._report, name="task-worker-report", daemon=True)
        self._reporting.start()

    def _close(self) -> int:
        """What waits is left to the others; who is the last one hands it back."""
        self._is_closing = True
        self._worker.stop()
        returned = super()._close() + self._shared.close()
        if not self._has_others():
            returned += self._hand_back(self._owners())
        return returned

    def _renew(self) -> None:
        super()._renew()
        self._shared = self._new_shared_pool()
        self._worker = SharedWorker(self._store, self)

    def _join(self, timeout_s: float) -> None:
        for ended in list(self._endings.values()):  # those who did not listen: their rows go all the same
            ended(Ending.DONE)
        self._endings.clear()
        super()._join(timeout_s)
        self._worker.join(embedded.UNWIND_S)
        self._leaving.set()
        if self._reporting and self._reporting is not threading.current_thread():
            self._reporting.join(embedded.UNWIND_S)
        try:
            report = self._own_report()
            self._cluster.leave(report)
            self._handed_in = added_up([self._handed_in, report])
        except Exception as error:
            log.warning("leave_failed", error=error)  # the others will see that we are gone

    def _put(self, handler: Handler, jobs: list[Job], within: sa.Connection | None) -> None:
        if handler.here:
            super()._put(handler, jobs, within)
        elif (handler.is_leaving or self._is_over) and not self._has_others():
            self._jobs.give_back(jobs)
        else:
            self._queue.put(jobs, within)

    @property
    def _is_over(self) -> bool:
        return self._is_closing or (self._was_stopped and not self._is_started)

    def _give_back_owner(self, owner: str) -> int:
        returned = super()._give_back_owner(owner) + self._shared.give_back_owner(owner)
        return returned if self._has_others() else returned + self._hand_back({owner})

    def _hand_back(self, owners: set[str]) -> int:
        return self._jobs.give_back([self._job_of(row) for row in self._queue.drop(owners)])

    def _has_others(self) -> bool:
        try:
            return self._cluster.has_others()
        except Exception as error:
            log.warning("others_unknown", error=error)
            return True  # what waits stays where it is

    def _ended(self, job: Job) -> None:
        ended = self._endings.pop(job.id, None)
        if ended is None:
            super()._ended(job)
            return
        ending = self._ending(job)
        if ending is not Ending.BACK:
            self._tell(job)
        ended(ending)

    def _ending(self, job: Job) -> Ending:
        if job.state is JobState.RETURNED:
            return Ending.BACK
        was_stopped = job.state is JobState.CANCELLED and job.cancel_reason == STOPPING
        return Ending.AGAIN if was_stopped and self._has_others() else Ending.DONE

    def _tell(self, job: Job) -> None:
        try:
            super()._ended(job)
        except Exception:
            log.exception("bookkeeping_failed", owner=job.owner, name=job.name, job=job.id)

    def _job_of(self, row: Row) -> Job:
        handler = self._handlers.get(row.owner, row.name)
        return row.job(handler.call if handler else print)

    def _owners(self) -> set[str]:
        return {one.owner for one in self._handlers.all()}

    def _run_task(self, job: Job) -> None:
        super().run_task(job.payload["owner"], job.payload["name"])

    def _report(self) -> None:
        """Shows the others what this node does, as long as it is there."""
        told = None
        while not self._leaving.wait(REPORT_S if told else 0.05):
            worker, report = self._worker.id, self._own_report()
            now = (worker, self._slots, report)
            if worker is None or now == told:
                continue
            try:
                self._cluster.report(worker, self._slots, report)
                told = now
                if not self._is_known:
                    self._is_known = True
                    self.look()
            except Exception as error:
                log.debug("report_failed", error=error)

    def _own_report(self) -> Report:
        """What this process did, but for what the cluster keeps of an earlier life of it."""
        stats = super().stats()
        return less(Report(stats.tasks, stats.jobs, stats.recent), self._handed_in)

    def _this(self) -> NodeStats:
        return self._cluster.this(self._slots)

    def _new_shared_pool(self) -> WorkerPool:
        return WorkerPool("task-worker-shared", self._workers, self._clock, self._ended)


def _lane_queues(handler: Handler, lanes: Lanes, taken: Counter[str]) -> list[str]:
    def has(lane: str) -> int:
        return taken[queue_of(handler.owner, handler.name, lane)]

    return [queue_of(handler.owner, handler.name, lane) for lane in lanes(has)]


def _row(entry: Entry) -> Row:
    given: Any = entry.task_kwargs
    return Row(
        id=str(entry.id),
        owner=given["owner"],
        name=given["name"],
        priority=entry.priority,
        attempt=entry.attempts + 1,
        worker=entry.worker_id,
        submitted_at=datetime.fromisoformat(given["at"]),
        payload=given["payload"],
    )


def _view(row: Row, began: datetime | None, is_cancelled: bool) -> JobView:
    return JobView(
        id=row.id,
        kind="job",
        owner=row.owner,
        name=row.name,
        state=JobState.RUNNING,
        payload=row.payload,
        started_at=began,
        duration_s=0.0,
        error="",
        cancelling=is_cancelled,
    )
