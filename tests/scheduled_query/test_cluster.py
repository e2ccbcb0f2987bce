"""Nodes that share the engine: runs go through its queue, and each is executed once, whoever dies."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from fakes import FakeClock
from plugbay import Store
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.repository.claims import Claims
from plugbay_scheduled_query.repository.history import Histories
from plugbay_scheduled_query.repository.takeover import NOBODY, Ownership
from plugbay_task_worker.procrastinate import ProcrastinateEngine
from plugbay_task_worker.tick_claims import MemoryTickClaims
from scheduled_query.conftest import open_service_store
from service_world import FOREVER, World, executions, until
from task_worker.conftest import MIGRATIONS as TICKS

Nodes = Callable[..., World]


@pytest.fixture
def store(postgres_store_url: str, tmp_path: Path) -> Iterator[Store]:
    with closing(open_service_store(postgres_store_url, tmp_path)) as opened:
        opened.migrate("task_worker", TICKS)
        yield opened


@pytest.fixture(autouse=True)
def believing_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """They believe at once that who is silent is dead."""
    monkeypatch.setattr("plugbay_task_worker.procrastinate.BEAT_S", 0.0)


@pytest.fixture
def nodes(store: Store, clock: FakeClock, shop: Path, tmp_path: Path) -> Iterator[Nodes]:
    made: list[World] = []

    def make(works: bool = True) -> World:
        engine = ProcrastinateEngine(clock, store, workers=8, task_workers=4, works=works)
        made.append(World(store, clock, shop, tmp_path / "data", MemoryTickClaims(), engine))
        until(lambda: engine.node in engine.alive())
        return made[-1]

    yield make
    for each in made:
        each.stop(0)


def shared(world: World) -> ProcrastinateEngine:
    assert isinstance(world.engine, ProcrastinateEngine)
    return world.engine


def change_runs(store: Store, **values: object) -> None:
    with store.begin() as connection:
        connection.execute(sa.update(tables.runs).values(values))


def live_runs(store: Store) -> int:
    with store.connect() as connection:
        return int(connection.scalar(sa.select(sa.func.count()).select_from(tables.runs)) or 0)


def test_what_is_due_is_executed_once_by_whichever_node(
    nodes: Nodes,
    histories: Histories,
    store: Store,
    add_query: Callable[..., Query],
    make_due: Callable[..., datetime],
) -> None:
    worlds = [nodes(), nodes(), nodes(works=False)]
    queries = [add_query(f"q{n}") for n in range(60)]
    for query in queries:
        make_due(query)
    for world in worlds[:2]:
        world.service.tick()
    until(lambda: all(executions(histories, query) for query in queries))
    for world in worlds:
        world.settle()

    assert {len(executions(histories, query)) for query in queries} == {1}
    assert {execution.attempt for query in queries for execution in executions(histories, query)} == {1}
    assert live_runs(store) == 0


def test_a_claim_that_is_taken_back_leaves_no_job(
    nodes: Nodes,
    store: Store,
    clock: FakeClock,
    add_query: Callable[..., Query],
    make_due: Callable[..., datetime],
) -> None:
    engine = shared(nodes(works=False))
    make_due(add_query())

    def fail(connection: sa.Connection, runs: object) -> None:
        engine.submit("scheduled_query", "run", {"runs": [1]}, within=connection, lane="1")
        raise OSError("the store is away")

    with pytest.raises(OSError, match="away"):
        Claims(store, clock, "node-1", fail).claim_batch(1, "UTC")

    assert engine.stats().queued == live_runs(store) == 0


def test_run_now_on_a_node_that_does_not_work_is_done_by_one_that_does(
    nodes: Nodes, add_query: Callable[..., Query]
) -> None:
    server, worker = nodes(works=False), nodes()
    query = add_query()
    ran = server.run_now(query)

    assert ran
    assert ran.status == "success"
    until(lambda: worker.service.is_at_rest)


def test_a_node_that_does_not_work_claims_nothing(
    nodes: Nodes, store: Store, add_query: Callable[..., Query], make_due: Callable[..., datetime]
) -> None:
    server = nodes(works=False)
    make_due(add_query())
    server.service.refill()

    assert live_runs(store) == 0


def test_a_run_is_cancelled_from_another_node(
    nodes: Nodes, histories: Histories, add_query: Callable[..., Query]
) -> None:
    server, worker = nodes(works=False), nodes()
    query = add_query(query=FOREVER)
    server.service.begin_now(query.id, "ada")
    worker.wait_until_begun()
    assert server.service.cancel(query.id, "bob")
    until(lambda: executions(histories, query))

    assert [run.error_message for run in executions(histories, query)] == ["cancelled by bob"]


def test_a_run_that_waits_for_a_worker_is_cancelled_at_once(
    nodes: Nodes, histories: Histories, store: Store, add_query: Callable[..., Query]
) -> None:
    server = nodes(works=False)
    query = add_query()
    server.service.begin_now(query.id, "ada")
    assert server.service.cancel(query.id, "bob")
    until(lambda: executions(histories, query))

    assert [run.error_message for run in executions(histories, query)] == ["cancelled by bob"]
    assert live_runs(store) == 0


def test_a_scheduled_run_of_a_dead_node_runs_again_once(
    nodes: Nodes, histories: Histories, store: Store, add_query: Callable[..., Query]
) -> None:
    server = nodes(works=False)
    query, due_at = add_query(), server.clock.now()
    server.service.begin_now(query.id, "ada")
    with store.begin() as connection:
        connection.exec_driver_sql("DELETE FROM procrastinate_jobs")
    change_runs(store, node="dead", trigger="schedule", attempt=1, due_at=due_at)
    worker = nodes()
    worker.service.recover()
    until(lambda: executions(histories, query))
    worker.settle()

    (execution,) = executions(histories, query)
    assert (execution.attempt, execution.due_at, execution.status) == (2, due_at, "success")


@pytest.mark.parametrize(
    ("trigger", "attempt", "reason"),
    [
        ("manual", 1, "interrupted by a restart"),
        ("schedule", 2, "interrupted twice, by crashes or restarts"),
    ],
)
def test_what_may_not_run_again_is_recorded_as_interrupted(
    nodes: Nodes,
    histories: Histories,
    store: Store,
    add_query: Callable[..., Query],
    trigger: str,
    attempt: int,
    reason: str,
) -> None:
    server = nodes(works=False)
    query = add_query()
    server.service.begin_now(query.id, "ada")
    change_runs(store, node="dead", trigger=trigger, attempt=attempt, due_at=server.clock.now())
    server.service.recover()
    until(lambda: executions(histories, query))

    assert [run.error_message for run in executions(histories, query)] == [reason]


def test_a_queue_that_is_lost_loses_no_run(
    nodes: Nodes, histories: Histories, store: Store, add_query: Callable[..., Query]
) -> None:
    server = nodes(works=False)
    query = add_query()
    server.service.begin_now(query.id, "ada")
    with store.begin() as connection:
        connection.exec_driver_sql("DELETE FROM procrastinate_jobs")
    server.service.recover()
    assert shared(server).stats().queued == 0  # it may only be slow
    change_runs(store, claimed_at=server.clock.now() - timedelta(minutes=5))
    server.service.recover()
    worker = nodes()
    until(lambda: executions(histories, query))
    worker.settle()

    assert [run.status for run in executions(histories, query)] == ["success"]


def test_a_slice_that_comes_twice_runs_only_what_is_left(
    nodes: Nodes, histories: Histories, store: Store, add_query: Callable[..., Query]
) -> None:
    server = nodes(works=False)
    query = add_query()
    begun = server.service.begin_now(query.id, "ada")
    assert begun
    for _ in range(3):
        server.engine.submit("scheduled_query", "run_now", {"runs": [begun[0]]})
    worker = nodes()
    until(lambda: executions(histories, query))
    worker.settle()

    assert len(executions(histories, query)) == 1


class TestWhoseRunItIs:
    @pytest.fixture
    def run_id(self, store: Store, clock: FakeClock, add_query: Callable[..., Query]) -> int:
        claims = Claims(store, clock, "x", lambda connection, runs: None)
        run, _ = claims.start_now(add_query().id, "ada")
        assert run
        return run.id

    def take(self, store: Store, clock: FakeClock, run_id: int, node: str = "b") -> list[int]:
        taken = Ownership(store, clock, node).take([run_id], {"a", "b"})
        return [run.attempt for run, _ in taken]

    def test_one_in_the_queue_is_taken_once(self, store: Store, clock: FakeClock, run_id: int) -> None:
        assert self.take(store, clock, run_id, "a") == [1]
        assert self.take(store, clock, run_id, "b") == []

    def test_one_of_a_dead_node_is_taken_one_attempt_higher(
        self, store: Store, clock: FakeClock, run_id: int
    ) -> None:
        change_runs(store, node="dead", attempt=1)
        assert self.take(store, clock, run_id) == [2]

    @pytest.mark.parametrize(("ahead_s", "taken"), [(60, []), (-60, [2])])
    def test_one_of_a_node_with_an_engine_of_its_own_is_left_to_it_while_its_lease_lasts(
        self, store: Store, clock: FakeClock, run_id: int, ahead_s: int, taken: list[int]
    ) -> None:
        change_runs(store, node="embedded", attempt=1, lease_until=clock.now() + timedelta(seconds=ahead_s))
        assert self.take(store, clock, run_id) == taken

    def test_one_that_a_node_has_and_does_not_know_of_is_let_go_at_the_second_look(
        self, nodes: Nodes, store: Store, clock: FakeClock, run_id: int
    ) -> None:
        world = nodes(works=False)
        world.service.start()
        change_runs(store, node=world.node.id, attempt=1)
        for expected in (world.node.id, "lost"):
            clock.advance(20)
            world.engine.run_due()
            assert world.engine.wait_idle(60)
            with store.connect() as connection:
                assert connection.scalar(sa.select(tables.runs.c.node)) == expected

    def test_one_that_was_handed_back_is_in_the_queue_again_at_the_next_look(
        self, nodes: Nodes, store: Store, clock: FakeClock, run_id: int
    ) -> None:
        world = nodes(works=False)
        Ownership(store, clock, "a").expose([run_id])
        world.service.recover()

        assert shared(world).stats().queued == 1
        with store.connect() as connection:
            assert connection.scalar(sa.select(tables.runs.c.node)) == NOBODY
