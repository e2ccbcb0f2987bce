"""A node of the service to act with: real store, engine and runners; only the clock is in the test's hand."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

from fakes import FakeClock
from own_thread import in_own_thread
from plugbay import EventBus, Store
from plugbay_scheduled_query.core.errors import SourceProblem
from plugbay_scheduled_query.core.model import Execution, Query
from plugbay_scheduled_query.core.source import Target
from plugbay_scheduled_query.executor import Executor
from plugbay_scheduled_query.repository.history import Histories, HistoryFilter
from plugbay_scheduled_query.repository.pauses import Pauses
from plugbay_scheduled_query.runs.claiming import OWNER
from plugbay_scheduled_query.runs.cluster import RUN_NOW, ClusterService
from plugbay_scheduled_query.runs.executing import Executing
from plugbay_scheduled_query.runs.node import Node
from plugbay_scheduled_query.runs.service import JOB, TASK, Ran, Service
from plugbay_scheduled_query.runs.stuck import StuckSessions
from plugbay_scheduled_query.runs.telling import Reports
from plugbay_scheduled_query.settings import Settings
from plugbay_task_worker.embedded import EmbeddedEngine
from plugbay_task_worker.procrastinate import ProcrastinateEngine
from plugbay_task_worker.tick_claims import MemoryTickClaims

FOREVER = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e15) SELECT COUNT(*) FROM n"
)
PATIENCE_S = 60


class Shop:
    """Knows one database; the source 99 is broken."""

    def __init__(self, path: Path) -> None:
        self._target = Target("sqlite", {"path": str(path)})

    def target(self, source_id: int) -> Target:
        if source_id == 99:
            raise SourceProblem("the secret of this source is unreadable: enter it again")
        return self._target


class World:
    """A node of the service, with everything around it."""

    def __init__(
        self,
        store: Store,
        clock: FakeClock,
        shop: Path,
        data_dir: Path,
        claims: MemoryTickClaims,
        shared: ProcrastinateEngine | None = None,
    ) -> None:
        self.store, self.clock = store, clock
        self.settings = Settings(interval=0)
        self.events = EventBus()
        self.reports = Reports(self.events)
        self.executor = Executor(4, clock=clock, ahead=1)
        self.engine = shared or EmbeddedEngine(clock, claims, workers=8, task_workers=2)
        self.node = Node(data_dir, shared.node if shared else None)
        self.sessions = StuckSessions(clock, Pauses(store), self.executor, Shop(shop), self.events)
        self.service = (ClusterService if shared else Service)(
            store=store,
            clock=clock,
            node=self.node,
            engine=self.engine,
            executing=Executing(clock, Shop(shop), self.executor, lambda: self.settings, self.sessions),
            settings=lambda: self.settings,
            ears=[self.reports.tell],
            at_once=self.reports.count,
        )
        call, returned = self.service.execute, self.service.returned
        lanes = self.service.lanes if isinstance(self.service, ClusterService) else None
        self.engine.handle(owner=OWNER, name=JOB, call=call, returned=returned, lanes=lanes)
        self.engine.handle(owner=OWNER, name=RUN_NOW, call=call, returned=returned)
        self.engine.every(owner=OWNER, name=TASK, seconds=60, call=self.service.tick)
        self.engine.start()

    def settle(self) -> None:
        """Until nothing is on its way any more."""
        until(lambda: is_settled(self.engine, self.service) and self.events.is_told)

    def wait_until_begun(self) -> None:
        """Until a run is in the hands of a worker."""
        until(self.runs_at_work)

    def runs_at_work(self) -> int:
        """How many runs are in the hands of workers, whatever tasks and timers are there beside them."""
        return sum(job.kind == "job" for job in self.engine.stats().running)

    def tick(self) -> None:
        """The next full minute comes, and with it the tick."""
        self.clock.advance(60)
        self.service.tick()
        self.settle()

    def run_now(self, query: Query) -> Ran | None:
        """Run Now by Ada, to its end."""
        return run_now(self.service, query.id)

    def stop(self, grace_s: float = 5) -> None:
        self.engine.stop(grace_s)
        self.service.close()
        self.executor.close()


def is_settled(engine: EmbeddedEngine, service: Service) -> bool:
    """Whether nothing runs, nothing is on its way to the disk, and no worker is left with the rest of it."""
    return engine.wait_idle(PATIENCE_S) and service.is_at_rest and engine.wait_idle(0)


def until(condition: Callable[[], object]) -> None:
    """Waits for what other threads are about to do."""
    pause = threading.Event()
    for _ in range(PATIENCE_S * 100):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("it did not happen")


def run_now(service: Service, query_id: int) -> Ran | None:
    """Run Now by Ada for who has no event loop, to its end."""
    ran: Ran | None = in_own_thread(asyncio.run, service.run_now(query_id, "ada", PATIENCE_S))
    return ran


def executions(histories: Histories, query: Query) -> list[Execution]:
    """All that is known of a query's runs, newest first."""
    return histories.page(query.id, HistoryFilter(), 1, 200)[0]
