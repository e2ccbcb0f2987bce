"""Procrastinate's worker in a thread of its own: takes jobs off the shared queue, and outlasts the store."""

import asyncio
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Protocol

import psycopg
from plugbay import Store, get_logger
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job as Entry
from procrastinate.jobs import Notification, Status
from procrastinate.manager import JobManager, NotificationCallback
from procrastinate.worker import Worker
from psycopg_pool import AsyncConnectionPool

from plugbay_task_worker.shared_queue import TASK

BEAT_S = 10.0  # between two signs of life; three that are missing make a worker dead
POLL_S = 5.0  # the net under NOTIFY: how long a job waits at the most that nobody was told of
PAUSE_S = 0.002  # while news keeps coming: many jobs that are put in at once are looked for once
AGAIN_S = 1.0  # after the store could not be asked
CONNECTIONS_MOST = 3  # to fetch, to finish and to beat; and one more listens
# a queue is empty when the server takes its statistics, and then it would sort ten thousand jobs to find the
# first: 17 ms a job in place of 0.2
BY_INDEX = "-c enable_sort=off -c enable_seqscan=off"
FETCH_MOST = 16  # jobs in one go
MOST_AT_ONCE = 1024  # for Procrastinate: how many it may have, we say ourselves, since that may change

ANY_NEWS: Notification = {"type": "job_inserted", "job_id": 0}
# who was pruned by mistake, as after the store was away, is there again
_BEAT = """
    INSERT INTO procrastinate_workers (id, last_heartbeat)
    OVERRIDING SYSTEM VALUE VALUES (%(worker_id)s, now())
    ON CONFLICT (id) DO UPDATE SET last_heartbeat = now()
"""
_BACK = """
    UPDATE procrastinate_jobs SET status = 'todo', worker_id = NULL, attempts = attempts + %(attempts)s
    WHERE id = %(job_id)s AND status = 'doing' AND NOT abort_requested
"""
# as often as there is room, each seeing what the ones before took; Procrastinate's own asks for one at a time
_FETCH = """
    SELECT (job).* FROM (
        SELECT procrastinate_fetch_job_v2(%(queues)s::varchar[], %(worker_id)s) AS job
        FROM generate_series(1, %(most)s) OFFSET 0
    ) fetched WHERE (job).id IS NOT NULL
"""
_REMOVE = "DELETE FROM procrastinate_jobs WHERE id = ANY(%(ids)s)"
_NEWS = """SELECT pg_notify('procrastinate_any_queue_v1', '{"type": "job_inserted", "job_id": 0}')"""
_WHY = "SELECT args ->> 'cancel' AS reason FROM procrastinate_jobs WHERE id = %(job_id)s"

log = get_logger(__name__)


class Taker(Protocol):
    """Whom the worker takes jobs for."""

    @property
    def most(self) -> int:
        """How many jobs it may have at a time."""
        ...

    def wanted(self, taken: Counter[str]) -> tuple[list[str], int]:
        """The queues that it would take from, given what it has of each, and how many at once at the most."""
        ...

    def begin(self, entry: Entry, ended: Callable[["Ending"], None]) -> None:
        """Does a job, and tells how it ended; called in the worker's thread, which it must not hold up."""
        ...

    def cancel(self, job_id: str, reason: str) -> bool:
        """Asks a job at work to stop."""
        ...


class Ending:
    """What becomes of a job's row: it goes, or it waits again, perhaps as the next attempt."""

    DONE: "Ending"
    BACK: "Ending"
    AGAIN: "Ending"

    def __init__(self, attempts: int | None) -> None:
        self.attempts = attempts


Ending.DONE, Ending.BACK, Ending.AGAIN = Ending(None), Ending(0), Ending(1)


class SharedWorker:
    """One life of a worker, from `start` to `stop`."""

    def __init__(self, store: Store, taker: Taker) -> None:
        self._store = store
        self._taker = taker
        self._lock = threading.Lock()
        self._is_stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._worker: Worker | None = None
        self._manager: SteadyManager | None = None
        self._registered = threading.Event()
        self._thread = threading.Thread(target=self._run, name="task-worker-shared", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def id(self) -> int | None:
        """Its number among the workers, once it has one."""
        return self._manager.worker_id if self._manager else None

    def wait_registered(self, timeout_s: float) -> bool:
        return self._registered.wait(timeout_s)

    @property
    def steady_s(self) -> float:
        """For how long the store has answered without a fault."""
        return time.monotonic() - self._manager.last_trouble if self._manager else 0.0

    def poke(self) -> None:
        """There may be something to take that nobody was told of."""
        manager = self._manager
        if manager:
            self._call_soon(manager.poke)

    def stop(self) -> None:
        """Takes nothing more; what is at work comes to its end."""
        with self._lock:
            self._is_stopping = True
            worker = self._worker
        if worker:
            self._call_soon(worker.stop)

    def join(self, timeout_s: float) -> None:
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout_s)

    def _call_soon(self, call: Callable[[], object]) -> None:
        loop = self._loop
        if loop and not loop.is_closed():
            loop.call_soon_threadsafe(call)

    def _run(self) -> None:
        # each job would be three lines, and ours says what failed
        logging.getLogger("procrastinate").setLevel(logging.CRITICAL)
        asyncio.run(self._live())

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        while not self._is_stopping:
            try:
                await self._work()
            except Exception as error:
                log.warning("shared_worker_interrupted", error=_first_line(error))
                await asyncio.sleep(AGAIN_S)

    async def _work(self) -> None:
        app = App(connector=connector_for(self._store))
        manager = SteadyManager(app.connector, self._taker, self._registered.set)
        app.job_manager = manager

        @app.task(name=TASK, pass_context=True)
        async def call(context: JobContext, /, **_arguments: object) -> None:
            await self._do(manager, context.job)

        async with app.open_async():
            worker = Worker(
                app,
                concurrency=MOST_AT_ONCE,
                fetch_job_polling_interval=POLL_S,
                abort_job_polling_interval=POLL_S,
                delete_jobs="always",
                install_signal_handlers=False,
                update_heartbeat_interval=BEAT_S,
            )
            with self._lock:
                self._worker, self._manager = worker, manager
            if not self._is_stopping:
                await worker.run()  # type: ignore[no-untyped-call]

    async def _do(self, manager: "SteadyManager", entry: Entry) -> None:
        """Has a job done; a cancel, which arrives as one of this coroutine, goes on to whoever does it."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Ending] = loop.create_future()
        self._taker.begin(entry, lambda ending: self._call_soon(lambda: _settle(ended, ending)))
        while not ended.done():
            try:
                await asyncio.shield(ended)
            except asyncio.CancelledError:
                self._taker.cancel(str(entry.id), await manager.reason(entry))
        manager.endings[entry.id or 0] = ended.result()
        manager.taken[entry.queue] -= 1
        manager.poke()


class SteadyManager(JobManager):
    """Procrastinate's own, but a store that is away ends nothing: it is asked again until it answers."""

    def __init__(self, connector: Any, taker: Taker, registered: Callable[[], object]) -> None:
        super().__init__(connector)
        self._taker = taker
        self._on_registered = registered
        self._news = 0
        self._notify: NotificationCallback | None = None
        self._telling: asyncio.Future[None] | None = None
        self._fetched: deque[Entry] = deque()
        self._over: list[tuple[int, asyncio.Future[None]]] = []
        self._removing: asyncio.Future[None] | None = None
        self.taken: Counter[str] = Counter()
        self.worker_id: int | None = None
        self.last_trouble = time.monotonic()
        self.endings: dict[int, Ending] = {}

    def poke(self) -> None:
        self._news += 1
        if self._notify:
            self._telling = asyncio.ensure_future(self._notify(channel="", notification=ANY_NEWS))

    async def register_worker(self) -> int:
        self.worker_id = await super().register_worker()
        self._on_registered()
        return self.worker_id

    async def prune_stalled_workers(self, seconds_since_heartbeat: float) -> list[int]:
        return []  # that is for whoever takes jobs back, who knows whether the store was away

    async def update_heartbeat(self, worker_id: int) -> None:
        await self._steadily(lambda: self.connector.execute_query_async(query=_BEAT, worker_id=worker_id))

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Entry | None:
        """The next job; None when there is none for us, or the store does not say."""
        while not self._fetched and (room := self._taker.most - self.taken.total()) > 0:
            (wanted, most), before = self._taker.wanted(self.taken), self._news
            if wanted:
                await self._fetch(wanted, min(room, most, FETCH_MOST), worker_id)
            if before == self._news:  # else there is news, and the worker forgets what it hears while it asks
                break
            if not self._fetched:
                await asyncio.sleep(PAUSE_S)
        if not self._fetched:
            return None
        entry = self._fetched.popleft()
        self.taken[entry.queue] += 1
        return entry

    async def _fetch(self, wanted: list[str], most: int, worker_id: int) -> None:
        given = {"queues": wanted, "worker_id": worker_id, "most": most}
        try:
            rows = await self.connector.execute_query_all_async(query=_FETCH, **given)
        except ConnectorException as error:
            self._note(error)
            asyncio.get_running_loop().call_later(AGAIN_S, self.poke)
        else:
            self._fetched += [Entry.from_row(row) for row in rows]

    async def unregister_worker(self, worker_id: int) -> None:
        """Leaves; what was taken off the queue and not begun waits again."""
        while self._fetched:
            await self._give_back(self._fetched.popleft(), Ending.BACK)
        await super().unregister_worker(worker_id)

    async def finish_job(self, job: Entry, status: Status, delete_job: bool) -> None:
        ending = self.endings.pop(job.id or 0, Ending.DONE)
        if ending is Ending.DONE:
            await self._remove(job.id or 0)
        else:
            await self._steadily(lambda: self._give_back(job, ending))

    async def _remove(self, job_id: int) -> None:
        """Takes the row of a finished job out, together with all that finish meanwhile."""
        removed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._over.append((job_id, removed))
        if self._removing is None or self._removing.done():
            self._removing = asyncio.ensure_future(self._remove_all())
        await removed

    async def _remove_all(self) -> None:
        while self._over:
            group, self._over = self._over, []
            ids = [job_id for job_id, _ in group]
            await self._steadily(partial(self.connector.execute_query_async, query=_REMOVE, ids=ids))
            for _, removed in group:
                removed.set_result(None)

    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        async def hear(*, channel: str, notification: Notification) -> None:
            self._news += 1
            await on_notification(channel=channel, notification=notification)

        self._notify = hear
        while True:
            try:
                await super().listen_for_jobs(on_notification=hear, queues=None)
            except (ConnectorException, psycopg.Error) as error:
                self._note(error)
            await asyncio.sleep(AGAIN_S)

    async def reason(self, entry: Entry) -> str:
        """Why somebody wants a job to stop."""
        try:
            rows = await self.connector.execute_query_all_async(query=_WHY, job_id=entry.id)
        except ConnectorException as error:
            self._note(error)
            return "cancelled"
        return (rows[0]["reason"] if rows else "") or "cancelled"

    async def _give_back(self, job: Entry, ending: Ending) -> None:
        await self.connector.execute_query_async(query=_BACK, job_id=job.id, attempts=ending.attempts)
        await self.connector.execute_query_async(query=_NEWS)

    async def _steadily(self, ask: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                return await ask()
            except ConnectorException as error:
                self._note(error)
                if not isinstance(error.__cause__, psycopg.OperationalError):
                    return None  # as when somebody else has taken the job meanwhile
            await asyncio.sleep(AGAIN_S)

    def _note(self, error: BaseException) -> None:
        now = time.monotonic()
        if now - self.last_trouble > BEAT_S:
            log.warning("shared_queue_unreachable", error=_first_line(error.__cause__ or error))
        self.last_trouble = now


def connector_for(store: Store) -> PsycopgConnector:
    """A connector to the store's database, with the store's own manners."""
    arguments = store.driver_arguments
    arguments["options"] = f"{arguments.get('options', '')} {BY_INDEX}"
    return PsycopgConnector(
        conninfo="",
        min_size=1,
        max_size=CONNECTIONS_MOST,
        kwargs=arguments,
        configure=_commit_at_once,
        pool_factory=_unchecked_pool,
    )


async def _commit_at_once(connection: psycopg.AsyncConnection[Any]) -> None:
    """Each statement is a transaction: one way to the server and back in place of three."""
    await connection.set_autocommit(True)


def _unchecked_pool(*, check: object, **options: Any) -> AsyncConnectionPool[Any]:
    """A pool that does not ask the server before each use: what fails is asked again anyway."""
    return AsyncConnectionPool(**options)


def _settle(ended: "asyncio.Future[Ending]", ending: Ending) -> None:
    if not ended.done():
        ended.set_result(ending)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
