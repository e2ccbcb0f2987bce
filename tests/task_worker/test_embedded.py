import logging
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from plugbay import Store, SystemClock
from plugbay_task_worker import embedded
from plugbay_task_worker.embedded import EmbeddedEngine
from plugbay_task_worker.engine import Job, JobState, StopReport
from plugbay_task_worker.tick_claims import MemoryTickClaims, StoreTickClaims, Tick, TickClaims
from plugbay_task_worker.timetable import Timetable
from task_worker.job_conformance import JobConformance, TransactionConformance
from task_worker.tick_conformance import TickConformance
from task_worker.world import (
    PATIENCE_S,
    Gate,
    Stoppable,
    World,
    opened_at_last,
    our_threads,
    recent,
    task_of,
    wait_for_our_threads,
    wait_until,
)


class EmbeddedWorld(World):
    """Engines of one process that share their claims."""

    def __init__(self, claims: TickClaims) -> None:
        super().__init__()
        self.claims = claims
        self.engines: list[EmbeddedEngine] = []

    def new_engine(self, workers: int = 4) -> EmbeddedEngine:
        self.engines.append(EmbeddedEngine(self.clock, self.claims, workers=workers))
        return self.engines[-1]

    def ring(self) -> None:
        for engine in self.engines:
            engine.run_due()

    def settle(self) -> None:
        self.ring()
        assert all(engine.wait_idle(PATIENCE_S) for engine in self.engines)


@pytest.fixture
def claims() -> TickClaims:
    return MemoryTickClaims()


@pytest.fixture
def world(claims: TickClaims) -> Iterator[EmbeddedWorld]:
    world = EmbeddedWorld(claims)
    yield world
    for engine in world.engines:
        engine.stop(0)
    wait_for_our_threads()


class TestJobs(JobConformance):
    pass


class TestTicks(TickConformance):
    pass


class TestTicksClaimedInTheStore(TickConformance):
    @pytest.fixture
    def claims(self, sqlite_store: Store) -> StoreTickClaims:
        return StoreTickClaims(sqlite_store)


class TestTransactions(TransactionConformance):
    @pytest.fixture
    def store(self, sqlite_store: Store) -> Store:
        return sqlite_store


class UncertainClaims(MemoryTickClaims):
    """Claims in a store that is sometimes away, or slow."""

    def __init__(self) -> None:
        super().__init__()
        self.is_away = False
        self.gate = Gate()
        self.gate.opened.set()

    def claim(self, ticks: Sequence[Tick]) -> set[Tick]:
        self.gate.begun.release()
        assert self.gate.opened.wait(PATIENCE_S)
        if self.is_away:
            raise OSError("the store is away")
        return super().claim(ticks)


class TestAStoreInTrouble:
    @pytest.fixture
    def claims(self) -> UncertainClaims:
        return UncertainClaims()

    def test_a_tick_that_could_not_be_claimed_is_claimed_soon_after(
        self, world: EmbeddedWorld, claims: UncertainClaims
    ) -> None:
        engine, seen = world.engine(), []
        engine.every(owner="shop", name="daily", seconds=86_400, call=seen.append)
        claims.is_away = True
        world.advance(12 * 3600)
        assert seen == []
        assert engine.stats().recent[0].error == "OSError: the store is away"
        claims.is_away = False
        world.advance(5)

        assert [f"{job.due_at:%d %H:%M:%S}" for job in seen] == ["16 00:00:00"]

    def test_a_store_away_for_several_ticks_costs_those_ticks_only(
        self, world: EmbeddedWorld, claims: UncertainClaims
    ) -> None:
        engine, seen = world.engine(), []
        engine.every(owner="shop", name="task", seconds=60, call=seen.append)
        claims.is_away = True
        for _ in range(36):
            world.advance(5)
        claims.is_away = False
        world.advance(5)
        world.advance(55)

        assert [f"{job.due_at:%H:%M}" for job in seen] == ["12:03", "12:04"]

    def test_a_slow_store_holds_up_no_timer(self, world: EmbeddedWorld, claims: UncertainClaims) -> None:
        engine, rang = world.engine(), threading.Event()
        engine.every(owner="shop", name="task", seconds=60, call=lambda job: None)
        engine.at(
            owner="shop",
            name="lane",
            when=world.clock.now() + timedelta(seconds=61),
            call=lambda job: rang.set(),
        )
        claims.gate.opened.clear()
        with opened_at_last(claims.gate):
            world.clock.advance(60)
            world.ring()
            claims.gate.wait_begun()
            world.clock.advance(1)
            world.ring()

            assert rang.wait(PATIENCE_S)

    def test_an_owner_that_left_while_its_tick_was_claimed_is_not_called(
        self, world: EmbeddedWorld, claims: UncertainClaims
    ) -> None:
        engine, seen = world.engine(), []
        engine.every(owner="shop", name="task", seconds=60, call=seen.append)
        claims.gate.opened.clear()
        with opened_at_last(claims.gate):
            world.clock.advance(60)
            world.ring()
            claims.gate.wait_begun()
            engine.remove_owner("shop")
        world.settle()

        assert seen == []

    def test_a_stop_while_a_tick_is_claimed_does_not_keep_the_task_from_ticking_later(
        self, world: EmbeddedWorld, claims: UncertainClaims
    ) -> None:
        engine, seen = world.engine(), []
        engine.every(owner="shop", name="task", seconds=60, call=seen.append)
        claims.gate.opened.clear()
        with opened_at_last(claims.gate), ThreadPoolExecutor(1) as pool:
            world.clock.advance(60)
            world.ring()
            claims.gate.wait_begun()
            stopping = pool.submit(engine.stop, PATIENCE_S)
            claims.gate.opened.set()
            stopping.result()
        engine.start()
        world.advance(60)

        assert f"{seen[-1].due_at:%H:%M}" == "12:02"


class TestStopping:
    def test_no_thread_is_left_behind(self, world: EmbeddedWorld) -> None:
        engine = world.engine()
        engine.handle(owner="shop", name="note", call=lambda job: None)
        engine.every(owner="shop", name="task", seconds=60, call=lambda job: None)
        engine.submit_many("shop", "note", [{}] * 100)
        world.advance(60)
        assert our_threads() != []
        engine.stop(0)

        assert our_threads() == []

    def test_an_engine_that_was_never_used_has_no_worker_threads(self, world: EmbeddedWorld) -> None:
        world.new_engine()
        assert our_threads() == []

    def test_a_call_that_does_not_listen_is_given_up_and_named(
        self, world: EmbeddedWorld, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(embedded, "UNWIND_S", 0.01)
        engine, deaf = world.engine(), Gate()
        engine.handle(owner="shop", name="deaf", call=deaf)
        with opened_at_last(deaf):
            engine.submit("shop", "deaf")
            deaf.wait_begun()

            assert engine.stop(0) == StopReport(cancelled=1, abandoned=1)
            assert "abandoned kind=job owner=shop name=deaf" in caplog.text

    def test_a_task_that_was_given_up_does_not_overlap_itself_in_the_next_life(
        self, world: EmbeddedWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine, deaf = world.engine(), Gate()
        engine.every(owner="shop", name="deaf", seconds=60, call=deaf)
        with opened_at_last(deaf):
            engine.run_task("shop", "deaf")
            deaf.wait_begun()
            with monkeypatch.context() as impatient:
                impatient.setattr(embedded, "UNWIND_S", 0.01)
                engine.stop(0)
            engine.start()
            world.clock.advance(60)
            world.ring()
            assert task_of(engine, "deaf").skipped == 1
        wait_until(lambda: not task_of(engine, "deaf").running)
        world.advance(60)

        assert deaf.calls == 2

    def test_a_job_may_stop_the_engine_it_runs_on(self, world: EmbeddedWorld) -> None:
        engine, reports, stopped = world.engine(), [], threading.Event()

        def stop(job: Job) -> None:
            reports.append(engine.stop(PATIENCE_S))
            stopped.set()

        engine.handle(owner="shop", name="stop", call=stop)
        engine.submit("shop", "stop")

        assert stopped.wait(PATIENCE_S)
        assert reports == [StopReport()]

    def test_a_task_that_waits_for_a_thread_when_the_engine_stops_ticks_in_the_next_life(
        self, world: EmbeddedWorld
    ) -> None:
        world.engines.append(EmbeddedEngine(world.clock, world.claims, task_workers=1))
        engine, work, seen = world.engines[-1], Stoppable(), []
        engine.start()
        engine.every(owner="shop", name="work", seconds=3600, call=work)
        engine.every(owner="shop", name="task", seconds=60, call=seen.append)
        with opened_at_last(work):
            engine.run_task("shop", "work")
            work.wait_begun()
            engine.run_task("shop", "task")
            world.clock.advance(60)
            world.ring()
            engine.stop(0)
        engine.start()
        world.advance(60)

        assert len(seen) == 1


class TestWhenAllTaskWorkersAreBusy:
    @pytest.fixture
    def engine(self, world: EmbeddedWorld) -> EmbeddedEngine:
        world.engines.append(EmbeddedEngine(world.clock, world.claims, task_workers=2))
        world.engines[-1].start()
        world.settle()
        return world.engines[-1]

    def test_ticks_that_wait_for_too_long_are_a_problem_until_they_begin(
        self, world: EmbeddedWorld, engine: EmbeddedEngine
    ) -> None:
        hung = Gate()
        engine.every(owner="shop", name="task", seconds=60, call=lambda job: None)
        for name in ("first", "second"):
            engine.every(owner="shop", name=name, seconds=3600, call=hung)
        with opened_at_last(hung):
            for name in ("first", "second"):
                engine.run_task("shop", name)
                hung.wait_begun()
            world.clock.advance(60)
            world.ring()
            world.clock.advance(89)
            assert engine.problem() is None
            world.clock.advance(1)
            assert engine.problem() == "all task workers are busy: no tick could begin for 90 s"
        world.settle()

        assert engine.problem() is None
        assert task_of(engine).runs == 1

    def test_one_free_thread_is_enough_for_ticks_to_begin(
        self, world: EmbeddedWorld, engine: EmbeddedEngine
    ) -> None:
        hung, ticks = Gate(), threading.Semaphore(0)
        engine.every(owner="shop", name="task", seconds=60, call=lambda job: ticks.release())
        engine.every(owner="shop", name="hung", seconds=3600, call=hung)
        with opened_at_last(hung):
            engine.run_task("shop", "hung")
            hung.wait_begun()
            for _ in range(3):
                world.clock.advance(60)
                world.ring()
                assert ticks.acquire(timeout=PATIENCE_S)
                wait_until(lambda: not task_of(engine).running)

            assert engine.problem() is None


class TestByTheMachinesClock:
    """The thread that watches the clock, at work."""

    @pytest.fixture
    def engine(self) -> Iterator[EmbeddedEngine]:
        engine = EmbeddedEngine(SystemClock(), MemoryTickClaims())
        engine.start()
        yield engine
        engine.stop(0)
        wait_for_our_threads()

    def test_a_timer_goes_off_by_itself(self, engine: EmbeddedEngine) -> None:
        rang, clock = threading.Event(), SystemClock()
        when = clock.now() + timedelta(milliseconds=20)
        engine.at(owner="shop", name="lane", when=when, call=lambda job: rang.set())

        assert rang.wait(PATIENCE_S)
        assert clock.now() >= when

    def test_a_nearer_timer_is_not_kept_waiting_by_a_farther_one(self, engine: EmbeddedEngine) -> None:
        rang, now = threading.Event(), SystemClock().now()
        engine.at(owner="shop", name="far", when=now + timedelta(hours=1), call=lambda job: None)
        engine.at(owner="shop", name="near", when=now, call=lambda job: rang.set())

        assert rang.wait(PATIENCE_S)

    def test_a_task_ticks_by_itself(self, engine: EmbeddedEngine) -> None:
        ticked = threading.Semaphore(0)
        engine.every(owner="shop", name="task", seconds=1, call=lambda job: ticked.release())

        assert ticked.acquire(timeout=PATIENCE_S)
        assert engine.problem() is None

    def test_an_engine_that_is_stopped_is_not_ticking(self, engine: EmbeddedEngine) -> None:
        engine.stop(0)
        assert engine.problem() == "the engine is not ticking"

    def test_the_watch_goes_on_after_a_fault(
        self, engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        rang, now = threading.Event(), SystemClock().now()
        with monkeypatch.context() as patch:
            patch.setattr(Timetable, "take_due", lambda timetable, now: 1 / 0)
            engine.at(owner="shop", name="far", when=now + timedelta(hours=1), call=lambda job: None)
            wait_until(lambda: "watch_failed" in caplog.text)
        engine.at(owner="shop", name="near", when=now, call=lambda job: rang.set())

        assert rang.wait(PATIENCE_S)


class TestWhatTheLogSays:
    def test_a_failing_task_is_one_line_with_its_name_and_a_traceback(
        self, world: EmbeddedWorld, caplog: pytest.LogCaptureFixture
    ) -> None:
        engine = world.engine()

        def fail(job: Job) -> None:
            raise ValueError("no such table\nforged line")

        engine.every(owner="shop", name="task", seconds=60, call=fail)
        world.advance(60)

        (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
        assert record.getMessage().startswith("task_failed owner=shop name=task job=")
        assert "\n" not in record.getMessage()
        assert record.exc_info

    def test_a_skipped_tick_is_a_warning(
        self, world: EmbeddedWorld, caplog: pytest.LogCaptureFixture
    ) -> None:
        engine, gate = world.engine(), Gate()
        engine.every(owner="shop", name="task", seconds=60, call=gate)
        with opened_at_last(gate):
            engine.run_task("shop", "task")
            world.clock.advance(60)
            world.ring()

        assert 'tick_skipped owner=shop name=task reason="still at work"' in caplog.text


def test_a_machine_without_a_thread_to_spare_does_the_work_with_those_there_are(
    world: EmbeddedWorld, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine, gate = world.engine(workers=4), Gate()
    engine.handle(owner="shop", name="gate", call=gate)
    with opened_at_last(gate):
        engine.submit("shop", "gate")
        gate.wait_begun()

        def refuse(thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            engine.submit_many("shop", "gate", [{}] * 3)
    world.settle()

    assert gate.calls == 4
    assert "no_thread name=task-worker-job-2 threads=1" in caplog.text


def test_no_more_of_the_past_is_kept_than_was_asked_for(world: EmbeddedWorld) -> None:
    engine = EmbeddedEngine(world.clock, world.claims, recent=10)
    world.engines.append(engine)
    engine.handle(owner="shop", name="note", call=lambda job: None)
    engine.start()
    ids = engine.submit_many("shop", "note", [{}] * 25)
    world.settle()

    assert len(recent(engine)) == 10
    assert set(recent(engine)) <= set(ids)


def test_waiting_for_an_engine_that_does_not_come_to_rest_ends_with_false(world: EmbeddedWorld) -> None:
    engine, gate = world.engine(), Gate()
    engine.handle(owner="shop", name="gate", call=gate)
    with opened_at_last(gate):
        engine.submit("shop", "gate")
        assert not engine.wait_idle(0)
    assert engine.wait_idle(PATIENCE_S)


def test_timers_that_went_well_do_not_crowd_out_the_jobs(world: EmbeddedWorld) -> None:
    engine = world.engine()
    engine.handle(owner="shop", name="note", call=lambda job: None)
    engine.submit("shop", "note")
    engine.at(owner="shop", name="lane", when=world.clock.now(), call=lambda job: None)
    world.settle()

    assert [(job.kind, job.state) for job in engine.stats().recent] == [("job", JobState.DONE)]
