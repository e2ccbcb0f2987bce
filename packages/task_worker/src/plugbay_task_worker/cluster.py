"""The processes that share a queue: who is there, and what each has done, for the pages of all."""

import json
import os
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from plugbay import Store, new_metadata

from plugbay_task_worker.engine import JobState, JobStats, JobView, NodeStats, TaskStats
from plugbay_task_worker.shared_queue import SILENT_S

GONE = ""  # the row that keeps what nodes did which are no longer there: a counter never goes back
FRESH_S = 1.0  # for so long who asks often is told the same
LONGEST_PAYLOAD = 1000  # characters of a finished job's payload that others see

metadata = new_metadata()
nodes = sa.Table(
    "task_worker_nodes",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("worker", sa.BigInteger),  # its number among Procrastinate's workers, whose heartbeat counts
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("workers", sa.Integer, nullable=False),
    sa.Column("report", sa.Text, nullable=False),  # JSON
)
_HEARTBEAT = sa.table("procrastinate_workers", sa.column("id"), sa.column("last_heartbeat"))
_IS_ALIVE = sa.exists().where(
    _HEARTBEAT.c.id == nodes.c.worker,
    _HEARTBEAT.c.last_heartbeat > sa.func.now() - sa.text(f"interval '{SILENT_S} seconds'"),
)
_ADDED_UP = (
    "runs",
    "failures",
    "cancelled",
    "returned",
    "skipped",
    "missed",
    "seconds_total",
    "lateness_total_s",
)


@dataclass(frozen=True)
class Report:
    """What one process has done."""

    tasks: tuple[TaskStats, ...] = ()
    jobs: tuple[JobStats, ...] = ()
    recent: tuple[JobView, ...] = ()

    def text(self) -> str:
        """As it travels."""
        parts = {
            "tasks": [_plain(asdict(task)) for task in self.tasks],
            "jobs": [asdict(job) for job in self.jobs],
            "recent": [_plain(_short(job)) for job in self.recent],
        }
        return json.dumps(parts)

    @classmethod
    def of(cls, text: str) -> "Report":
        parts = json.loads(text)
        return cls(
            tuple(TaskStats(**_times(_known(TaskStats, task))) for task in parts["tasks"]),
            tuple(JobStats(**_known(JobStats, job)) for job in parts["jobs"]),
            tuple(_view(job) for job in parts["recent"]),
        )


@dataclass(frozen=True)
class Others:
    """The rest of the cluster as it stood when one looked."""

    nodes: tuple[NodeStats, ...]
    reports: tuple[Report, ...]


class Cluster:
    """The table of the nodes, as one of them sees it."""

    def __init__(self, store: Store, node: str) -> None:
        self._store = store
        self._node = node
        self._seen: list[NodeStats] = []
        self._seen_at = -FRESH_S
        self._name = f"{socket.gethostname()}:{os.getpid()}"[:255]

    def report(self, worker: int | None, workers: int, report: Report) -> None:
        """Says that this node is there, and what it has done."""
        values = {"worker": worker, "name": self._name, "workers": workers, "report": report.text()}
        insert = self._store.insert(nodes).values(id=self._node, **values)
        with self._store.begin() as connection:
            connection.execute(insert.on_conflict_do_update(index_elements=["id"], set_=values))

    def leave(self, report: Report) -> None:
        """This node is no longer there; what it did stays."""
        with self._store.begin() as connection:
            connection.execute(sa.delete(nodes).where(nodes.c.id == self._node))
            self._keep(connection, [report])

    def bury(self) -> list[str]:
        """Takes out nodes that died; what they did stays."""
        dead = sa.select(nodes.c.id, nodes.c.report).where(nodes.c.id != GONE, ~_IS_ALIVE)
        with self._store.begin() as connection:
            rows = connection.execute(dead.with_for_update(skip_locked=True, of=nodes)).all()
            if rows:
                connection.execute(sa.delete(nodes).where(nodes.c.id.in_([row.id for row in rows])))
                self._keep(connection, [Report.of(row.report) for row in rows])
        return [row.id for row in rows]

    def seen(self) -> list[NodeStats]:
        """The nodes that are there, as of a moment ago."""
        now = time.monotonic()
        if now - self._seen_at >= FRESH_S:
            self._seen, self._seen_at = self._look(), now
        return self._seen

    def has_others(self) -> bool:
        """Whether any node but this one is there."""
        return any(not node.is_this for node in self._look())

    def _look(self) -> list[NodeStats]:
        wanted = sa.select(nodes.c.id, nodes.c.name, nodes.c.workers).where(_IS_ALIVE)
        with self._store.connect() as connection:
            rows = connection.execute(wanted).all()
        return [NodeStats(row.id, row.name, row.workers, row.id == self._node) for row in rows]

    def others(self) -> Others:
        """All but this one."""
        wanted = sa.select(nodes).where(nodes.c.id != self._node, _IS_ALIVE | (nodes.c.id == GONE))
        with self._store.connect() as connection:
            rows = connection.execute(wanted.order_by(nodes.c.name)).all()
        there = tuple(NodeStats(row.id, row.name, row.workers, False) for row in rows if row.id != GONE)
        return Others(there, tuple(Report.of(row.report) for row in rows))

    def this(self, workers: int) -> NodeStats:
        return NodeStats(self._node, self._name, workers, True)

    def _keep(self, connection: sa.Connection, reports: Iterable[Report]) -> None:
        empty = {"id": GONE, "worker": None, "name": "", "workers": 0, "report": Report().text()}
        connection.execute(self._store.insert(nodes).values(empty).on_conflict_do_nothing())
        kept = connection.execute(
            sa.select(nodes.c.report).where(nodes.c.id == GONE).with_for_update()
        ).scalar_one()
        total = added_up([Report.of(kept), *reports])
        idle = replace(total, recent=(), tasks=tuple(replace(task, running=False) for task in total.tasks))
        connection.execute(sa.update(nodes).where(nodes.c.id == GONE).values(report=idle.text()))


def added_up(reports: Iterable[Report], recent: int = 100) -> Report:
    """The reports of several nodes as one."""
    tasks: dict[tuple[str, str], TaskStats] = {}
    jobs: dict[tuple[str, str], JobStats] = {}
    views: list[JobView] = []
    for report in reports:
        for task in report.tasks:
            known = tasks.get((task.owner, task.name))
            tasks[task.owner, task.name] = _sum_of_tasks(known, task) if known else task
        for job in report.jobs:
            kept = jobs.get((job.owner, job.name))
            jobs[job.owner, job.name] = replace(kept, **_sums(kept, job)) if kept else job
        views += report.recent
    views.sort(key=_ended_at, reverse=True)
    return Report(tuple(tasks.values()), tuple(jobs.values()), tuple(views[:recent]))


def less(report: Report, known: Report) -> Report:
    """A report without what is counted elsewhere."""
    tasks = {(task.owner, task.name): task for task in known.tasks}
    jobs = {(job.owner, job.name): job for job in known.jobs}
    return replace(
        report,
        tasks=tuple(_less(task, tasks.get((task.owner, task.name))) for task in report.tasks),
        jobs=tuple(_less(job, jobs.get((job.owner, job.name))) for job in report.jobs),
    )


def _less(one: Any, known: Any) -> Any:
    if known is None:
        return one
    counts = {name: getattr(one, name) - getattr(known, name) for name in _ADDED_UP if hasattr(one, name)}
    return replace(one, **counts)


def _sum_of_tasks(one: TaskStats, other: TaskStats) -> TaskStats:
    """The calls of both; of the last one, that which came later."""
    last = max(one, other, key=lambda task: task.last_at.timestamp() if task.last_at else 0.0)
    return replace(
        one,
        **_sums(one, other),
        running=one.running or other.running,
        next_at=one.next_at or other.next_at,
        last_at=last.last_at,
        last_duration_s=last.last_duration_s,
        last_error=last.last_error,
    )


def _sums(one: Any, other: Any) -> dict[str, Any]:
    return {name: getattr(one, name) + getattr(other, name) for name in _ADDED_UP if hasattr(one, name)}


def _ended_at(job: JobView) -> float:
    return job.started_at.timestamp() + job.duration_s if job.started_at else 0.0


def _short(job: JobView) -> dict[str, Any]:
    values = {field.name: getattr(job, field.name) for field in fields(job)}
    if len(json.dumps(values["payload"])) > LONGEST_PAYLOAD:
        values["payload"] = {"…": "too long to show"}
    return values


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()
    }


def _times(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: datetime.fromisoformat(value) if name.endswith("_at") and value else value
        for name, value in values.items()
    }


def _known(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """What this version knows of: another node may be newer."""
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in values.items() if name in names}


def _view(values: Mapping[str, Any]) -> JobView:
    given = _times(_known(JobView, values))
    return JobView(**{**given, "state": JobState(given["state"])})
