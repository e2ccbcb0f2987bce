"""The adapter on Procrastinate, on a real PostgreSQL: all that an engine must do, and what a cluster adds."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import postgres
import pytest
from plugbay import Store
from plugbay_task_worker.engine import Call, JobState
from plugbay_task_worker.procrastinate import MIGRATIONS as SHARED
from plugbay_task_worker.procrastinate import ProcrastinateEngine
from task_worker.conftest import MIGRATIONS
from task_worker.job_conformance import JobConformance, TransactionConformance
from task_worker.tick_conformance import TickConformance
from task_worker.world import (
    PATIENCE_S,
    Gate,
    Stoppable,
    World,
    opened_at_last,
    recent,
    task_of,
    wait_for_our_threads,
    wait_until,
)

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

    def engine(self, workers: int = 4) -> ProcrastinateEngine:
        engine = super().engine(workers)
        assert isinstance(engine, ProcrastinateEngine)
        return engine

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


class TestTransactions(TransactionConformance):
    pass


def handled(*engines: ProcrastinateEngine, **calls: Call) -> None:
    """Says on each of the engines who does the jobs of these names."""
    for engine in engines:
        for name, call in calls.items():
            engine.handle(owner="shop", name=name, call=call)


class TestSeveralNodes:
    def test_a_job_is_done_by_another_process_than_the_one_that_put_it_in(self, world: SharedWorld) -> None:
        server, worker, seen = world.new_engine(works=False), world.engine(), threading.Event()
        handled(server, note=lambda job: None)
        handled(worker, note=lambda job: seen.set())
        server.start()
        server.submit("shop", "note")

        assert seen.wait(PATIENCE_S)

    def test_a_process_that_does_not_work_calls_no_task_but_has_one_called(self, world: SharedWorld) -> None:
        server, worker, called = world.new_engine(works=False), world.engine(), threading.Semaphore(0)
        server.start()
        server.every(owner="shop", name="task", seconds=60, call=print, at_start=True)
        worker.every(owner="shop", name="task", seconds=3600, call=lambda job: called.release())
        assert server.run_task("shop", "task")

        assert called.acquire(timeout=PATIENCE_S)
        assert task_of(server).runs <= 1

    def test_what_waited_for_a_handler_is_done_when_there_is_one(self, world: SharedWorld) -> None:
        server, worker, seen = world.new_engine(works=False), world.engine(), threading.Event()
        handled(server, note=print)
        server.submit("shop", "note")
        worker.handle(owner="shop", name="note", call=lambda job: seen.set())

        assert seen.wait(PATIENCE_S)

    @pytest.mark.parametrize("name", ["n" * 100, "a.b-c_d"])
    def test_the_longest_name_has_a_queue(self, world: SharedWorld, name: str) -> None:
        engine, seen = world.engine(), threading.Event()
        engine.handle(owner="o" * 64, name=name, call=lambda job: seen.set())
        engine.submit("o" * 64, name)

        assert seen.wait(PATIENCE_S)

    def test_a_job_that_is_handled_here_stays_here(self, world: SharedWorld) -> None:
        one, other, seen = world.engine(), world.engine(), []
        for engine in (one, other):
            engine.handle(
                owner="shop", name="note", call=lambda job, engine=engine: seen.append(engine), here=True
            )
        one.submit_many("shop", "note", [{}] * 20)
        world.settle()

        assert seen == [one] * 20

    def test_a_job_is_cancelled_from_another_node_with_its_reason(self, world: SharedWorld) -> None:
        server, worker, work = world.new_engine(works=False), world.engine(), Stoppable()
        server.start()
        handled(server, work=print)
        handled(worker, work=work)
        with opened_at_last(work):
            job_id = server.submit("shop", "work")
            work.wait_begun()
            assert server.cancel(job_id, "cancelled by ada")
            assert not server.cancel(job_id, "cancelled by bob")
            wait_until(lambda: work.reasons == ["cancelled by ada"])
        world.settle()

        assert recent(worker)[job_id].state is JobState.CANCELLED

    def test_all_see_what_runs_and_what_ran_anywhere(self, world: SharedWorld) -> None:
        server, worker, gate = world.new_engine(works=False), world.engine(workers=3), Gate()
        server.start()
        handled(server, gate=print)
        handled(worker, gate=gate)
        with opened_at_last(gate):
            job_id = server.submit("shop", "gate", {"n": 1})
            gate.wait_begun()
            (running,) = server.stats().running
            assert (running.id, running.name, running.payload) == (job_id, "gate", {"n": 1})
            wait_until(lambda: server.stats().workers == 3)
            assert sorted(node.workers for node in server.stats().nodes) == [0, 3]
        world.settle()

        wait_until(lambda: job_id in recent(server))
        assert (server.stats().jobs[0].runs, server.stats().running) == (1, ())

    def test_what_a_node_did_is_counted_after_it_left(self, world: SharedWorld) -> None:
        one, other = world.engine(), world.engine()
        handled(one, note=lambda job: None)
        one.submit_many("shop", "note", [{}] * 5)
        world.settle()
        one.stop(0)
        handled(other, note=lambda job: None)

        assert other.stats().jobs[0].runs == 5

    def test_what_a_node_did_in_an_earlier_life_is_counted_once(self, world: SharedWorld) -> None:
        engine = world.engine()
        handled(engine, note=lambda job: None)
        for runs in (1, 2):
            engine.submit("shop", "note")
            world.settle()
            engine.stop(0)
            assert engine.stats().jobs[0].runs == runs
            engine.start()

    def test_what_waits_is_left_to_the_others_and_handed_back_by_the_last(self, world: SharedWorld) -> None:
        worker, server, gate, back = world.engine(workers=1), world.new_engine(works=False), Gate(), []
        server.start()
        wait_until(lambda: len(worker.stats().nodes) == 2)
        for engine in (worker, server):
            engine.handle(
                owner="shop", name="gate", call=gate, returned=lambda job: back.append(job.payload["n"])
            )
        with opened_at_last(gate):
            server.submit_many("shop", "gate", [{"n": n} for n in range(3)])
            gate.wait_begun()
            gate.opened.set()
            gate.wait_begun()
        world.settle()
        worker.stop(PATIENCE_S)
        server.submit_many("shop", "gate", [{"n": 3}, {"n": 4}])
        assert (back, server.stats().queued) == ([], 2)

        assert server.stop(0).returned == 2
        assert back == [3, 4]

    def test_a_job_that_a_stop_cancelled_is_done_again_by_another(self, world: SharedWorld) -> None:
        leaving, staying, work, attempts = world.engine(), world.new_engine(), Stoppable(), []
        handled(leaving, work=work)
        handled(staying, work=lambda job: attempts.append(job.attempt))
        with opened_at_last(work):
            job_id = leaving.submit("shop", "work")
            work.wait_begun()
            staying.start()
            wait_until(lambda: len(leaving.stats().nodes) == 2)
            leaving.stop(0)
        wait_until(lambda: attempts == [2])
        world.settle()

        assert recent(staying)[job_id].state is JobState.DONE

    def test_only_the_lanes_that_are_wanted_are_taken(self, world: SharedWorld) -> None:
        engine, gate, open_lanes = world.engine(), Gate(), {"a": 1, "b": 2}
        engine.handle(
            owner="shop",
            name="gate",
            call=gate,
            lanes=lambda has: [lane for lane, most in open_lanes.items() if has(lane) < most],
        )
        with opened_at_last(gate):
            for lane in ("a", "b", "c"):
                engine.submit_many("shop", "gate", [{"lane": lane}] * 3, lane=lane)
            for _ in range(3):
                gate.wait_begun()
            assert sorted(job.payload["lane"] for job in engine.stats().running) == ["a", "b", "b"]
            assert engine.stats().queued == 6
            open_lanes["c"] = 3
        world.settle()

        assert gate.calls == 9


def test_a_number_that_no_job_can_have_is_nothing_to_cancel(world: SharedWorld) -> None:
    assert not world.new_engine().cancel("9" * 30)


class TestDeadWorkers:
    @pytest.fixture(autouse=True)
    def at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The store has answered for long enough to believe what it says of others."""
        monkeypatch.setattr("plugbay_task_worker.procrastinate.BEAT_S", 0.0)

    def leave_behind(self, store: Store, attempts: int) -> None:
        """A job in the hands of a worker that was not heard of for an hour."""
        with store.begin() as connection:
            worker = connection.exec_driver_sql(
                "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour')"
                " RETURNING id"
            ).scalar_one()
            connection.exec_driver_sql(
                "UPDATE procrastinate_jobs SET status = 'doing', attempts = %s, worker_id = %s",
                (attempts, worker),
            )

    def test_a_job_of_one_goes_to_another_as_the_next_attempt(self, world: SharedWorld) -> None:
        engine, attempts = world.new_engine(), []
        handled(engine, note=lambda job: attempts.append((job.payload["n"], job.attempt)))
        engine.submit("shop", "note", {"n": 7})
        self.leave_behind(world.store, attempts=0)
        engine.start()
        wait_until(lambda: bool(engine.stats().nodes))
        engine.take_back()
        wait_until(lambda: attempts == [(7, 2)])
        world.settle()

        assert engine.stats().queued == 0

    def test_a_job_that_kills_every_worker_is_given_up(
        self, world: SharedWorld, caplog: pytest.LogCaptureFixture
    ) -> None:
        engine, seen = world.new_engine(), []
        handled(engine, note=seen.append)
        engine.submit("shop", "note")
        self.leave_behind(world.store, attempts=2)
        engine.start()
        engine.take_back()
        world.settle()

        assert (seen, engine.stats().queued, engine.stats().running) == ([], 0, ())
        assert "job_given_up owner=shop name=note" in caplog.text

    def test_the_count_of_one_stays(self, world: SharedWorld) -> None:
        dead, engine = world.engine(), world.engine()
        handled(dead, note=lambda job: None)
        dead.submit("shop", "note")
        world.settle()
        handled(engine, note=lambda job: None)
        wait_until(lambda: bool(engine.stats().jobs[0].runs))
        with world.store.begin() as connection:
            connection.exec_driver_sql("UPDATE task_worker_nodes SET worker = 0 WHERE id = %s", (dead.node,))
        engine.take_back()

        assert engine.stats().jobs[0].runs == 1
        assert [node.is_this for node in engine.stats().nodes] == [True]


def test_a_worker_that_was_taken_for_dead_is_there_again(world: SharedWorld) -> None:
    """As after the store was away for longer than others wait."""
    engine = world.engine()
    wait_until(lambda: bool(engine.alive()))
    with world.store.begin() as connection:
        connection.exec_driver_sql("DELETE FROM procrastinate_workers")
    manager = engine._worker._manager
    loop = engine._worker._loop
    assert manager
    assert loop
    asyncio.run_coroutine_threadsafe(manager.update_heartbeat(manager.worker_id or 0), loop).result(
        PATIENCE_S
    )
    seen = threading.Event()
    handled(engine, note=lambda job: seen.set())
    engine.submit("shop", "note")

    assert seen.wait(PATIENCE_S)


def test_two_processes_that_start_together_make_the_tables_once(postgres_url: str, tmp_path: Path) -> None:
    stores = [Store(postgres_url, tmp_path / name) for name in ("one", "other")]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda store: store.migrate("procrastinate", SHARED), stores))
    with stores[0].connect() as connection:
        count = connection.exec_driver_sql("SELECT count(*) FROM procrastinate_jobs").scalar()
    for store in stores:
        store.close()

    assert count == 0
