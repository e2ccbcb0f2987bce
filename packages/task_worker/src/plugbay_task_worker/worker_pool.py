"""Threads that work off one queue: the highest priority first, then in the order of coming."""

import asyncio
import heapq
import inspect
import itertools
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from plugbay import Clock, get_logger

from plugbay_task_worker.engine import Job

log = get_logger(__name__)


class WorkerPool:
    """Waits until it is opened, works until it is closed; threads come as they are needed, up to `size`.

    Whatever becomes of a job, `ended` is told, in no lock of the pool's.
    """

    def __init__(self, name: str, size: int, clock: Clock, ended: Callable[[Job], None]) -> None:
        self._name = name
        self._size = size
        self._clock = clock
        self._ended = ended
        self._is_open = self._is_closed = False
        self._queue: list[tuple[int, int, Job]] = []
        self._waiting: dict[str, Job] = {}
        self._running: dict[str, Job] = {}
        self._threads: list[threading.Thread] = []
        self._order = itertools.count()
        self._numbers = itertools.count(1)
        self._own = threading.local()
        lock = threading.Lock()
        self._came = threading.Condition(lock)
        self._went = threading.Condition(lock)

    def open(self) -> None:
        with self._came:
            self._is_open = True
            self._call_threads()

    def resize(self, size: int) -> None:
        """Adds threads at once if there is work for them; lets surplus ones go as they become free."""
        with self._came:
            self._size = size
            self._call_threads()
            self._came.notify_all()

    def put(self, jobs: list[Job]) -> bool:
        """Queues the jobs; a closed pool hands them back at once and answers False."""
        with self._came:
            if not self._is_closed:
                for job in jobs:
                    heapq.heappush(self._queue, (-job.priority, next(self._order), job))
                    self._waiting[job.id] = job
                self._call_threads()
                return True
        self.give_back(jobs)
        return False

    def cancel(self, job_id: str, reason: str) -> bool:
        """Drops a job that waits, asks one that runs to stop."""
        with self._came:
            running = self._running.get(job_id)
            waiting = self._waiting.pop(job_id, None)
            self._went.notify_all()
        if waiting:
            waiting.cancel(reason)
            waiting.end(0.0)
            self._tell(waiting)
        return bool(waiting) or (running is not None and running.cancel(reason))

    def give_back_owner(self, owner: str) -> int:
        """Hands back all of an owner's jobs that have not begun."""
        with self._came:
            left = [job for job in self._waiting.values() if job.owner == owner]
            for job in left:
                del self._waiting[job.id]
            self._went.notify_all()
        return self.give_back(left)

    def close(self) -> int:
        """Takes in no more and begins nothing more; hands back what was still waiting."""
        with self._came:
            self._is_closed = True
            left = list(self._waiting.values())
            self._waiting.clear()
            self._queue.clear()
            self._came.notify_all()
            self._went.notify_all()
        return self.give_back(left)

    def give_back(self, jobs: list[Job]) -> int:
        for job in jobs:
            job.give_back()
            self._tell(job)
        return len(jobs)

    def queued(self) -> int:
        return len(self._waiting)

    def waiting(self) -> list[Job]:
        with self._came:
            return list(self._waiting.values())

    def running(self, owner: str | None = None) -> list[Job]:
        """What is at work, but for the caller's own job."""
        with self._came:
            return [job for job in self._others() if owner in (None, job.owner)]

    def wait_idle(self, deadline: float) -> bool:
        """Waits until nothing else is queued or running; `deadline` is by the machine's monotonic clock."""
        return self._wait(lambda: not self._waiting and not self._others(), deadline)

    def wait_for(self, jobs: Iterable[Job], deadline: float) -> bool:
        """Waits until none of these jobs is at work."""
        ids = {job.id for job in jobs}
        return self._wait(lambda: ids.isdisjoint(self._running), deadline)

    def join(self, deadline: float) -> None:
        """Waits for the threads of a closed pool."""
        for thread in list(self._threads):
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

    def _wait(self, condition: Callable[[], bool], deadline: float) -> bool:
        with self._went:
            return self._went.wait_for(condition, max(0.0, deadline - time.monotonic()))

    def _others(self) -> list[Job]:
        """The jobs at work but for the caller's own, which cannot end while it waits here."""
        own = getattr(self._own, "job", None)
        return [job for job in self._running.values() if job is not own]

    def _call_threads(self) -> None:
        """Wakes as many as there is work for, and adds new ones if they do not suffice."""
        if not self._is_open:
            return
        self._came.notify(len(self._waiting))
        while len(self._threads) < min(self._size, len(self._running) + len(self._waiting)):
            if not self._add_thread():
                return

    def _add_thread(self) -> bool:
        """One thread more; False if the machine has none to give, and those there are must do."""
        name = f"{self._name}-{next(self._numbers)}"
        # a daemon, because a call that never ends must not keep the process from ending
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._threads.append(thread)
        try:
            thread.start()
        except RuntimeError as error:
            self._threads.remove(thread)
            log.error("no_thread", name=name, threads=len(self._threads), reason=error)
            return False
        return True

    def _work(self) -> None:
        while job := self._next():
            self._do(job)

    def _next(self) -> Job | None:
        with self._came:
            while not self._is_closed and not self._leave_if_surplus():
                while self._queue:
                    job = heapq.heappop(self._queue)[2]
                    if self._waiting.pop(job.id, None):  # else it was taken back
                        self._running[job.id] = job
                        job.begin(self._clock.now())
                        return job
                self._came.wait()
        return None

    def _leave_if_surplus(self) -> bool:
        if len(self._threads) <= self._size:
            return False
        self._threads.remove(threading.current_thread())
        return True

    def _do(self, job: Job) -> None:
        self._own.job = job
        began = self._clock.monotonic()
        error = make_call(job)
        job.end(self._clock.monotonic() - began, error)
        self._tell(job)
        with self._went:
            del self._running[job.id]
            self._went.notify_all()

    def _tell(self, job: Job) -> None:
        try:
            self._ended(job)
        except Exception:
            log.exception("bookkeeping_failed", owner=job.owner, name=job.name, job=job.id)


def make_call(job: Job) -> str:
    """Calls, awaits what is awaitable, and returns the error in words; empty when all went well."""
    try:
        result = job.call(job)
        if inspect.iscoroutine(result):
            asyncio.run(_until_cancelled(job, result))
    except BaseException as error:  # a SystemExit of a plugin must not cost the engine a thread
        if job.cancelled:
            log.info("cancelled", kind=job.kind, owner=job.owner, name=job.name, reason=job.cancel_reason)
        else:
            event = f"{job.kind}_failed"
            log.exception(event, owner=job.owner, name=job.name, job=job.id, error=describe_error(error))
        return describe_error(error)
    return ""


def describe_error(error: BaseException) -> str:
    """An exception in one line: its kind and, if it has one, its message."""
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


async def _until_cancelled(job: Job, work: Coroutine[Any, Any, object]) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    with job.on_cancel(lambda: loop.call_soon_threadsafe(task.cancel)):
        await task
