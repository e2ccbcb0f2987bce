"""The adapter on Procrastinate, on a real PostgreSQL: all that an engine must do, and what a cluster adds."""

from collections.abc import Iterator
from pathlib import Path

import postgres
import pytest
from plugbay import Store
from plugbay_task_worker.procrastinate import MIGRATIONS as SHARED
from plugbay_task_worker.procrastinate import ProcrastinateEngine
from task_worker.conftest import MIGRATIONS
from task_worker.job_conformance import JobConformance
from task_worker.tick_conformance import TickConformance
from task_worker.world import PATIENCE_S, World, wait_for_our_threads

TABLES = (
    "procrastinate_jobs, procrastinate_events, procrastinate_workers, task_worker_nodes, task_worker_ticks"
)


@pytest.fixture(scope="module")
def database(postgres_server: str) -> Iterator[str]:
    """One database for all tests of this file."""
    with postgres.database(postgres_server) as url:
        yield url


@pytest.fixture
def store(database: str, tmp_path: Path) -> Iterator[Store]:
    """A store in which nothing waits and nobody is."""
    store = Store(database, tmp_path / "data")
    store.migrate("task_worker", MIGRATIONS)
    store.migrate("procrastinate", SHARED)
    with store.begin() as connection:
        connection.exec_driver_sql(f"TRUNCATE {TABLES} CASCADE")
    yield store
    store.close()


class SharedWorld(World):
    """Engines of one cluster, each with connections of its own."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.engines: list[ProcrastinateEngine] = []

    def new_engine(self, workers: int = 4, works: bool = True) -> ProcrastinateEngine:
        self.engines.append(ProcrastinateEngine(self.clock, self.store, workers=workers, works=works))
        return self.engines[-1]

    def ring(self) -> None:
        for engine in self.engines:
            engine.run_due()

    def settle(self) -> None:
        self.ring()
        assert all(engine.wait_idle(PATIENCE_S) for engine in self.engines)


@pytest.fixture
def world(store: Store) -> Iterator[SharedWorld]:
    world = SharedWorld(store)
    yield world
    for engine in world.engines:
        engine.stop(0)
    wait_for_our_threads()


class TestJobs(JobConformance):
    pass


class TestTicks(TickConformance):
    pass
