"""What Procrastinate's worker asks of the queue: in groups, and again and again while the store is away."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Protocol

import psycopg
from plugbay import get_logger
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job as Entry
from procrastinate.jobs import Notification, Status
from procrastinate.manager import JobManager, NotificationCallback

BEAT_S = 10.0  # between two signs of life; three that are missing make a worker dead
PAUSE_S = 0.002  # while news keeps coming: many jobs that are put in at once are looked for once
AGAIN_S = 1.0  # after the store could not be asked
FETCH_MOST = 16  # jobs in one go

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
            log.warning("shared_queue_unreachable", error=first_line(error.__cause__ or error))
        self.last_trouble = now


def first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
