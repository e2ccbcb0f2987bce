"""Procrastinate's worker in a thread of its own: takes jobs off the shared queue, and outlasts the store."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
from plugbay import Store, get_logger
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.jobs import Job as Entry
from procrastinate.worker import Worker
from psycopg_pool import AsyncConnectionPool

from plugbay_task_worker.shared_queue import TASK
from plugbay_task_worker.steady_manager import AGAIN_S, BEAT_S, Ending, SteadyManager, Taker, first_line

POLL_S = 5.0  # the net under NOTIFY: how long a job waits at the most that nobody was told of
CONNECTIONS_MOST = 3  # to fetch, to finish and to beat; and one more listens
# a queue is empty when the server takes its statistics, and then it would sort ten thousand jobs to find the
# first: 17 ms a job in place of 0.2
BY_INDEX = "-c enable_sort=off -c enable_seqscan=off"
MOST_AT_ONCE = 1024  # for Procrastinate: how many it may have, we say ourselves, since that may change

log = get_logger(__name__)


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
        # each job would be three lines, and a store that is away one a second: ours says both once
        for name in ("procrastinate", "psycopg.pool"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        asyncio.run(self._live())

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        while not self._is_stopping:
            try:
                await self._work()
            except Exception as error:
                log.warning("shared_worker_interrupted", error=first_line(error))
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

    async def _do(self, manager: SteadyManager, entry: Entry) -> None:
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
