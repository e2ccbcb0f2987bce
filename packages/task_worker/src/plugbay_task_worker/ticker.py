"""Periodic tasks and timers: a thread that sleeps until the next is due, and a pool that calls them."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from plugbay import Clock, get_logger

from plugbay_task_worker.engine import AlreadyRegistered, Call, Job, JobState, JobView, TaskStats
from plugbay_task_worker.tick_claims import Tick, TickClaims
from plugbay_task_worker.timetable import Due, Timetable
from plugbay_task_worker.worker_pool import WorkerPool

LONGEST_NAP_S = 5.0  # the clock may be set, and the machine may sleep: neither wakes a waiting thread
CLAIM_AGAIN_S = 5.0  # after the store could not be asked
HELD_UP_S = 90.0  # that a claim may wait for a thread: a tick of the shortest usual period is lost by then
FORGET_AFTER_S = 30 * 86_400  # claims of tasks that nobody registers any more
CLAIM, TIMER = 2, 1  # priorities over tasks, which have 0: what starts others comes first
OURS = "task_worker"  # the owner of what the ticker puts in for itself

Key = tuple[str, str, str]  # kind, owner, name

log = get_logger(__name__)


@dataclass(slots=True, eq=False)
class Task:
    """What is called again and again, but never twice at a time."""

    owner: str
    name: str
    seconds: int
    call: Call
    at_start: bool = False
    is_busy: bool = False
    last: JobView | None = None
    runs: int = 0
    failures: int = 0
    skipped: int = 0
    missed: int = 0
    seconds_total: float = 0.0
    lateness_total_s: float = 0.0

    def reserve(self) -> bool:
        """Makes the task busy; False if it already is, and its tick goes by."""
        if self.is_busy:
            self.skipped += 1
            log.warning("tick_skipped", owner=self.owner, name=self.name, reason="still at work")
            return False
        self.is_busy = True
        return True

    def end(self, job: Job) -> None:
        """Takes down what became of a call."""
        self.is_busy = False
        if job.started_at is None:
            return
        self.last = JobView.of(job)
        self.runs += 1
        self.failures += job.state is JobState.FAILED
        self.missed += job.missed
        self.seconds_total += job.duration_s
        self.lateness_total_s += max(0.0, (job.started_at - job.due_at).total_seconds())

    def stats(self, next_at: datetime | None) -> TaskStats:
        return TaskStats(
            owner=self.owner,
            name=self.name,
            seconds=self.seconds,
            running=self.is_busy,
            next_at=next_at,
            last_at=self.last.started_at if self.last else None,
            last_duration_s=self.last.duration_s if self.last else 0.0,
            last_error=self.last.error if self.last else "",
            runs=self.runs,
            failures=self.failures,
            skipped=self.skipped,
            missed=self.missed,
            seconds_total=self.seconds_total,
            lateness_total_s=self.lateness_total_s,
        )


class Ticker:
    """Calls tasks at their ticks and timers at their times."""

    def __init__(
        self,
        clock: Clock,
        claims: TickClaims,
        size: int,
        new_id: Callable[[], str],
        ended: Callable[[Job], None],
        *,
        calls_tasks: bool = True,
    ) -> None:
        self._clock = clock
        self._calls_tasks = calls_tasks  # else other processes do; timers are each one's own
        self._claims = claims
        self._size = size
        self._new_id = new_id
        self._tell = ended
        self._tasks: dict[Key, Task] = {}
        self._timers: dict[Key, Call] = {}
        self._at_work: dict[str, Task] = {}
        self._timetable: Timetable[Key] = Timetable()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self.pool = self._new_pool()

    def every(self, task: Task) -> None:
        with self._changed:
            if _key(task) in self._tasks:
                raise AlreadyRegistered(owner=task.owner, kind="task", name=task.name)
            self._tasks[_key(task)] = task
            if not self._calls_tasks:
                return
            self._timetable.repeat(_key(task), task.seconds, self._now_s())
            if self._thread and task.at_start:
                self._begin(task, self._clock.now())
            self._changed.notify()

    def at(self, owner: str, name: str, when: datetime, call: Call) -> None:
        with self._changed:
            key = ("timer", owner, name)
            self._timers[key] = call
            self._timetable.once(key, when.timestamp())
            self._changed.notify()

    def run_task(self, owner: str, name: str) -> bool:
        with self._changed:
            task = self._tasks.get(("task", owner, name))
            return task is not None and not task.is_busy and self._begin(task, self._clock.now())

    def remove_owner(self, owner: str) -> None:
        """Takes back tasks and timers; a call under way goes on."""
        with self._changed:
            for entries in (self._tasks, self._timers):
                for key in [key for key in entries if key[1] == owner]:
                    del entries[key]
                    self._timetable.remove(key)
        self.pool.give_back_owner(owner)

    def start(self) -> None:
        """Begins to tick; ticks that went by before are not made up for."""
        with self._changed:
            if self._thread:
                return
            self._timetable.realign(self._now_s())
            self.pool.open()
            self._put(OURS, "forget_old_claims", CLAIM, self._clock.now(), self._forget_old_claims)
            for task in [task for task in self._tasks.values() if task.at_start and not task.is_busy]:
                if self._calls_tasks:
                    self._begin(task, self._clock.now())
            self._thread = threading.Thread(target=self._watch, name="task-worker-clock", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Ticks no more; calls under way go on."""
        with self._changed:
            thread, self._thread = self._thread, None
            self._changed.notify()
        if thread:
            thread.join()
        self.pool.close()
        with self._changed:
            # ticks that were still to be claimed went back with the rest: their tasks are free again
            at_work = set(self._at_work.values())
            for task in self._tasks.values():
                task.is_busy = task in at_work

    def renew(self) -> None:
        """Begins with a new pool in place of one that was closed."""
        self.pool = self._new_pool()

    def resize(self, size: int) -> None:
        self._size = size
        self.pool.resize(size)

    def problem(self) -> str | None:
        """What keeps tasks from being called at their ticks, if anything does."""
        thread, now = self._thread, self._clock.now()
        if not thread or not thread.is_alive():
            return "the engine is not ticking"
        claims = [job for job in self.pool.waiting() if job.priority == CLAIM]
        if any((now - job.due_at).total_seconds() >= HELD_UP_S for job in claims):
            return f"all task workers are busy: no tick could begin for {HELD_UP_S:.0f} s"
        return None

    def timers(self) -> int:
        return len(self._timers)

    def stats(self) -> tuple[TaskStats, ...]:
        with self._changed:
            return tuple(task.stats(self._next_at(key)) for key, task in sorted(self._tasks.items()))

    def run_due(self) -> None:
        """Calls all that is due by the clock. The thread does this when it wakes; a test may, too."""
        with self._changed:
            if not self._thread:
                return
            due = self._timetable.take_due(self._now_s())
            for item in due:
                if call := self._timers.pop(item.key, None):
                    self._put(item.key[1], item.key[2], TIMER, _datetime(item.at), call)
            ticking = [(task, item) for item in due if (task := self._tasks.get(item.key)) and task.reserve()]
            if ticking:
                # on a thread of the pool: a store that is slow to answer must not hold up the timers
                self._put(OURS, "claim_ticks", CLAIM, self._clock.now(), lambda _: self._claim(ticking))

    def _claim(self, ticking: list[tuple[Task, Due[Key]]]) -> None:
        wanted = {_tick(task, item): (task, item) for task, item in ticking}
        try:
            won = self._claims.claim(list(wanted))
        except Exception:
            self._claim_later(ticking)
            raise
        with self._changed:
            for tick, (task, item) in wanted.items():
                task.is_busy = False
                if tick in won and self._is_registered(task):
                    self._begin(task, _datetime(item.at), item.missed)

    def _claim_later(self, ticking: list[tuple[Task, Due[Key]]]) -> None:
        with self._changed:
            for task, item in ticking:
                task.is_busy = False
                if self._is_registered(task):
                    self._timetable.again(item.key, self._now_s() + CLAIM_AGAIN_S)
            self._changed.notify()

    def _is_registered(self, task: Task) -> bool:
        return self._tasks.get(_key(task)) is task

    def _begin(self, task: Task, due_at: datetime, missed: int = 0) -> bool:
        job = Job(self._new_id(), "task", task.owner, task.name, task.call, due_at, missed=missed)
        task.is_busy = True
        self._at_work[job.id] = task
        return self.pool.put([job])

    def _put(self, owner: str, name: str, priority: int, due_at: datetime, call: Call) -> None:
        self.pool.put([Job(self._new_id(), "timer", owner, name, call, due_at, priority=priority)])

    def _ended(self, job: Job) -> None:
        with self._changed:
            if task := self._at_work.pop(job.id, None):
                task.end(job)
        self._tell(job)

    def _watch(self) -> None:
        with self._changed:
            while self._thread is threading.current_thread():
                self._changed.wait(self._look())

    def _look(self) -> float | None:
        """Does what is due, and says for how long one may sleep; whatever happens, the watch goes on."""
        try:
            self.run_due()
            first_at = self._timetable.first_at()
            return None if first_at is None else min(LONGEST_NAP_S, max(0.0, first_at - self._now_s()))
        except Exception:
            log.exception("watch_failed")
            return LONGEST_NAP_S

    def _forget_old_claims(self, _: Job) -> None:
        self._claims.forget_before(int(self._now_s()) - FORGET_AFTER_S)

    def _next_at(self, key: Key) -> datetime | None:
        next_at = self._timetable.next_at(key)
        return _datetime(next_at) if next_at is not None and self._thread else None

    def _now_s(self) -> float:
        return self._clock.now().timestamp()

    def _new_pool(self) -> WorkerPool:
        return WorkerPool("task-worker-task", self._size, self._clock, self._ended)


def _key(task: Task) -> Key:
    return ("task", task.owner, task.name)


def _tick(task: Task, item: Due[Key]) -> Tick:
    return Tick(f"{task.owner}.{task.name}", int(item.at), task.seconds)


def _datetime(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
