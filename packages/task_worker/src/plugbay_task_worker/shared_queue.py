"""The queue that all processes share: Procrastinate's table, asked from any thread through the store."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from plugbay import Store
from procrastinate.jobs import Job as Entry
from procrastinate.manager import JobManager
from procrastinate.sync_psycopg_connector import SyncPsycopgConnector

from plugbay_task_worker.engine import Job

TASK = "plugbay"  # the one task that Procrastinate knows: what is called stands in the arguments
SILENT_S = 30.0  # without a heartbeat, after which a worker is dead
MOST_ATTEMPTS = 3  # a job that kills its worker each time is given up
LONGEST_QUEUE = 40  # characters: with Procrastinate's prefix it is a channel's name, which has at most 63

_ROW = "id, priority, attempts, worker_id, args"
_COUNT = sa.text("SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo'")
_OPEN = sa.text(
    "SELECT EXISTS (SELECT FROM procrastinate_jobs WHERE args ->> 'owner' = ANY(:owners)"
    " AND status IN ('todo', 'doing'))"
)
_ONE = sa.text(
    f"SELECT {_ROW}, status, abort_requested FROM procrastinate_jobs"  # noqa: S608 - a constant
    " WHERE id = :id AND status IN ('todo', 'doing') FOR UPDATE"
)
_SAY_WHY = sa.text(
    "UPDATE procrastinate_jobs SET args = args || jsonb_build_object('cancel', CAST(:reason AS text))"
    " WHERE id = :id"
)
_DOING = sa.text(
    f"SELECT {_ROW}, abort_requested,"  # noqa: S608 - a constant
    " (SELECT max(at) FROM procrastinate_events e WHERE e.job_id = j.id AND e.type = 'started') AS began"
    " FROM procrastinate_jobs j WHERE status = 'doing' ORDER BY id LIMIT 500"
)
_DROP = sa.text(
    "DELETE FROM procrastinate_jobs WHERE status = 'todo' AND args ->> 'owner' = ANY(:owners)"  # noqa: S608
    f" RETURNING {_ROW}"
)
_STALLED = sa.text(
    f"SELECT {_ROW}, abort_requested FROM procrastinate_jobs j WHERE status = 'doing'"  # noqa: S608
    " AND NOT EXISTS (SELECT FROM procrastinate_workers w WHERE w.id = j.worker_id"
    " AND w.last_heartbeat > now() - make_interval(secs => :silent)) FOR UPDATE SKIP LOCKED"
)
_BURY = sa.text(
    "DELETE FROM procrastinate_workers WHERE last_heartbeat <= now() - make_interval(secs => :silent)"
)
_REMOVE = sa.text("DELETE FROM procrastinate_jobs WHERE id = ANY(:ids)")


@dataclass(frozen=True, slots=True)
class Row:
    """A job as it stands in the table."""

    id: str
    owner: str
    name: str
    priority: int
    attempt: int
    worker: int | None
    submitted_at: datetime
    payload: Mapping[str, Any]

    @classmethod
    def of(cls, row: Any) -> "Row":
        given = row.args
        return cls(
            id=str(row.id),
            owner=given["owner"],
            name=given["name"],
            priority=row.priority,
            attempt=row.attempts + 1,
            worker=row.worker_id,
            submitted_at=datetime.fromisoformat(given["at"]),
            payload=given["payload"],
        )

    def job(self, call: Any) -> Job:
        """The same for those who call it."""
        return Job(
            id=self.id,
            kind="job",
            owner=self.owner,
            name=self.name,
            call=call,
            due_at=self.submitted_at,
            payload=self.payload,
            priority=self.priority,
            attempt=self.attempt,
        )


class SharedQueue:
    """Puts jobs in, takes them out undone, and looks at them; taking them to work is the worker's."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # of Procrastinate's connections none is opened: it works on those of the store
        self._manager = JobManager(SyncPsycopgConnector())

    def put(self, jobs: Sequence[Job], within: sa.Connection | None) -> None:
        """Puts jobs in and gives them their ids, in the caller's transaction if there is one."""
        entries = [_entry(job) for job in jobs]
        with nullcontext(within) if within is not None else self._store.begin() as connection:
            deferred = self._manager.batch_defer_jobs(entries, connection=_driver(connection))
        for job, entry in zip(jobs, deferred, strict=True):
            job.id = str(entry.id)

    def cancel(self, job_id: str, reason: str) -> tuple[bool, Row | None]:
        """Asks whoever does the job to stop; one that waits is dropped, and returned."""
        with self._store.begin() as connection:
            row = connection.execute(_ONE, {"id": int(job_id)}).first()
            if row is None or row.abort_requested:
                return False, None
            connection.execute(_SAY_WHY, {"id": row.id, "reason": reason})
            driver = _driver(connection)
            self._manager.cancel_job_by_id(row.id, abort=True, delete_job=True, connection=driver)
        return True, Row.of(row) if row.status == "todo" else None

    def drop(self, owners: Collection[str]) -> list[Row]:
        """Takes out all that waits of these owners, in the order in which it would have been done."""
        with self._store.begin() as connection:
            rows = [Row.of(row) for row in connection.execute(_DROP, {"owners": list(owners)})]
        return sorted(rows, key=lambda row: (-row.priority, int(row.id)))

    def take_back(self) -> tuple[list[Row], list[Row]]:
        """Gives the jobs of dead workers to the others; returns those, and what was given up."""
        again: list[Row] = []
        lost: list[Row] = []
        with self._store.begin() as connection:
            for row in connection.execute(_STALLED, {"silent": SILENT_S}).all():
                is_over = row.abort_requested or row.attempts + 1 >= MOST_ATTEMPTS
                (lost if is_over else again).append(Row.of(row))
            for kept in again:
                self._retry(connection, int(kept.id))
            connection.execute(_REMOVE, {"ids": [int(row.id) for row in lost]})
            connection.execute(_BURY, {"silent": SILENT_S})
            if again:  # Procrastinate does not say when a job comes back
                connection.exec_driver_sql(_NEWS)
        return again, lost

    def waiting(self) -> int:
        with self._store.connect() as connection:
            return int(connection.scalar(_COUNT) or 0)

    def has_open(self, owners: Collection[str]) -> bool:
        """Whether anything of these owners waits or is at work, wherever."""
        with self._store.connect() as connection:
            return bool(connection.scalar(_OPEN, {"owners": list(owners)}))

    def at_work(self) -> list[tuple[Row, datetime | None, bool]]:
        """What any worker has under way: since when, and whether it was asked to stop."""
        with self._store.connect() as connection:
            return [(Row.of(row), row.began, row.abort_requested) for row in connection.execute(_DOING)]

    def _retry(self, connection: sa.Connection, job_id: int) -> None:
        retry = "SELECT procrastinate_retry_job_v2(:id, NULL, NULL, NULL, NULL)"
        connection.execute(sa.text(retry), {"id": job_id})


_NEWS = 'SELECT pg_notify(\'procrastinate_any_queue_v1\', \'{"type": "job_inserted", "job_id": 0}\')'


def queue_of(owner: str, name: str, lane: str = "") -> str:
    """The queue of one name's jobs, or of one lane of them: workers take from those that they want."""
    text = f"{owner}.{name}#{lane}" if lane else f"{owner}.{name}"
    return text if len(text) <= LONGEST_QUEUE else hashlib.sha256(text.encode()).hexdigest()[:LONGEST_QUEUE]


def _entry(job: Job) -> Entry:
    arguments: dict[str, Any] = {
        "owner": job.owner,
        "name": job.name,
        "at": job.due_at.isoformat(),
        "payload": dict(job.payload),
    }
    return Entry(
        id=None,
        queue=queue_of(job.owner, job.name, job.lane),
        task_name=TASK,
        priority=job.priority,
        lock=None,
        queueing_lock=None,
        task_kwargs=arguments,
    )


def _driver(connection: sa.Connection) -> Any:
    return connection.connection.driver_connection
