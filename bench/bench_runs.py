"""The way of a run, from due to recorded, on each store: how many a second, at what price, how soon begun.

CPU is that of all our processes, the server's and the runners'; beside it that of PostgreSQL where it is the
store and the source. Medians of three rounds.
"""

import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles

import psutil
import sqlalchemy as sa
from bench_service import MIGRATIONS, fill
from plugbay import EventBus, Store, SystemClock
from plugbay.store import open_store
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.core.model import Execution, Outcome, Run
from plugbay_scheduled_query.core.source import Target
from plugbay_scheduled_query.executor import Executor
from plugbay_scheduled_query.repository.pauses import Pauses
from plugbay_scheduled_query.runs.claiming import OWNER
from plugbay_scheduled_query.runs.executing import Executing
from plugbay_scheduled_query.runs.node import Node
from plugbay_scheduled_query.runs.service import JOB, Service
from plugbay_scheduled_query.runs.stuck import StuckSessions
from plugbay_scheduled_query.runs.telling import Reports
from plugbay_scheduled_query.settings import Settings
from plugbay_task_worker.embedded import EmbeddedEngine
from plugbay_task_worker.tick_claims import MemoryTickClaims

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import postgres

ROUNDS = 3
PARALLEL = 8


@dataclass(frozen=True)
class Figures:
    """Of one round: runs a second, CPU a run in milliseconds, and when they began, in milliseconds."""

    per_second: float
    cpu_ms: float
    database_ms: float
    p50_ms: float
    p99_ms: float


@dataclass
class Place:
    """A store and a source, and whose CPU time beside ours counts."""

    store: Store
    where: Target
    folder: Path
    database: psutil.Process | None = None

    def target(self, source_id: int) -> Target:
        return self.where


@contextmanager
def on_sqlite() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with closing(sqlite3.connect(folder / "shop.db")) as connection, connection:
            connection.execute("CREATE TABLE orders (total REAL)")
        store = open_store("", folder / "data")
        yield Place(_ready(store), Target("sqlite", {"path": str(folder / "shop.db")}), folder)
        store.close()


@contextmanager
def on_postgresql() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as name, postgres.server() as server, postgres.database(server) as url:
        folder = Path(name)
        home = sa.make_url(url).query["host"]
        lines = (Path(str(home)) / "data" / "postmaster.pid").read_text().splitlines()
        store = open_store(url, folder / "data")
        database = sa.make_url(url).database
        target = Target("postgresql", {"connect": {"host": home, "dbname": database, "user": "postgres"}})
        yield Place(_ready(store), target, folder, psutil.Process(int(lines[0])))
        store.close()


def _ready(store: Store) -> Store:
    store.migrate("scheduled_query", MIGRATIONS)
    now = datetime.now(UTC)
    row = {"id": 1, "name": "shop", "dialect": "sqlite", "secret_url": "x", "origin": "admin"}
    with store.begin() as connection:
        connection.execute(
            sa.insert(tables.data_sources).values(row | {"created_at": now, "updated_at": now})
        )
        connection.execute(sa.insert(tables.lanes).values(source_id=1))
    return store


class Round:
    """A server's worth of service, and so many due at once."""

    def __init__(self, place: Place) -> None:
        self._place = place
        clock, settings = SystemClock(), Settings(interval=0, max_parallel=PARALLEL)
        self._executor = Executor(PARALLEL, clock=clock, ahead=PARALLEL)
        self._engine = EmbeddedEngine(clock, MemoryTickClaims(), workers=PARALLEL + 4)
        self._reports = Reports(EventBus())
        self._late: list[float] = []
        self._count = 0
        self._done = threading.Event()
        self._due_at = datetime.now(UTC)
        sessions = StuckSessions(clock, Pauses(place.store), self._executor, place, EventBus())
        executing = Executing(clock, place, self._executor, lambda: settings, sessions)
        self._service = Service(
            store=place.store,
            clock=clock,
            node=Node(place.folder / "data"),
            engine=self._engine,
            executing=executing,
            settings=lambda: settings,
            ears=[self._reports.tell, self._hear],
        )
        self._engine.handle(
            owner=OWNER, name=JOB, call=self._service.execute, returned=self._service.returned
        )
        self._engine.start()

    def measure(self, count: int) -> Figures:
        with self._place.store.begin() as connection:
            for table in (tables.queries, tables.states, tables.history, tables.results):
                connection.execute(sa.delete(table))
            if self._place.database:
                restart = sa.text("ALTER SEQUENCE scheduled_queries_id_seq RESTART WITH 1")
                connection.execute(restart)
        self._late.clear()
        self._count = count
        self._done.clear()
        fill(self._place.store, count, datetime.now(UTC))
        ours, theirs, started = self._cpu_s(), self._database_s(), time.perf_counter()
        self._due_at = datetime.now(UTC)
        self._service.tick()
        assert self._done.wait(120)
        wall = time.perf_counter() - started
        ours, theirs = self._cpu_s() - ours, self._database_s() - theirs
        return Figures(
            count / wall,
            ours / count * 1000,
            theirs / count * 1000,
            median(self._late),
            quantiles(self._late, n=100)[98],
        )

    def close(self) -> None:
        self._engine.stop(5)
        self._service.close()
        self._executor.close()

    def _hear(self, run: Run, outcome: Outcome, execution: Execution) -> None:
        self._late.append((execution.executed_at - self._due_at).total_seconds() * 1000)
        if len(self._late) >= self._count:
            self._done.set()

    def _cpu_s(self) -> float:
        runners = [psutil.Process(state.pid) for state in self._executor.runners()]
        return time.process_time() + sum(sum(runner.cpu_times()[:2]) for runner in runners)

    def _database_s(self) -> float:
        if self._place.database is None:
            return 0.0
        server = self._place.database
        running = sum(sum(session.cpu_times()[:2]) for session in server.children(recursive=True))
        return running + sum(server.cpu_times()[:4])  # its own, and that of sessions that have ended


def main() -> None:
    for name, on in (("SQLite", on_sqlite), ("PostgreSQL", on_postgresql)):
        with on() as place:
            at_work = Round(place)
            at_work.measure(100)  # runners are up, statements are compiled
            for count in (100, 1000, 3000):
                report(name, count, [at_work.measure(count) for _ in range(ROUNDS)])
            at_work.close()


def report(name: str, count: int, rounds: list[Figures]) -> None:
    per_second, cpu, database, p50, p99 = (
        median(getattr(each, field) for each in rounds) for field in Figures.__dataclass_fields__
    )
    beside = f" and {database:.2f} ms of PostgreSQL's" if database else ""
    print(
        f"{name}, {count:,} due at once: {per_second:,.0f} recorded a second,"
        f" {cpu:.2f} ms CPU{beside} each; began after p50 {p50:.0f} ms, p99 {p99:.0f} ms",
        flush=True,
    )


if __name__ == "__main__":
    main()
