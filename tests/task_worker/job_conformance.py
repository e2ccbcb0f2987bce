"""What every engine must do with jobs: an adapter's test class inherits this and brings a `world`."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from plugbay import Store
from plugbay_task_worker.engine import (
    URGENT,
    AlreadyRegistered,
    InvalidName,
    Job,
    JobState,
    StopReport,
    UnknownJob,
)
from task_worker.world import PATIENCE_S, Gate, Stoppable, World, opened_at_last, recent, wait_until


class JobConformance:
    """Jobs: done once, in order of priority, cancelled, handed back."""

    def test_ten_thousand_jobs_are_each_done_exactly_once(self, world: World) -> None:
        engine, done, lock = world.engine(workers=8), [], threading.Lock()

        def note(job: Job) -> None:
            with lock:
                done.append(job.payload["n"])

        engine.handle(owner="shop", name="note", call=note)
        thousands = [range(start, start + 1000) for start in range(0, 10_000, 1000)]

        def submit(numbers: range) -> None:
            engine.submit_many("shop", "note", [{"n": n} for n in numbers[:900]])
            for n in numbers[900:]:
                engine.submit("shop", "note", {"n": n}, priority=n % 3)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(submit, thousands))
        world.settle()

        assert sorted(done) == list(range(10_000))
        assert engine.stats().jobs[0].runs == 10_000

    def test_every_job_has_an_id_of_its_own(self, world: World) -> None:
        one, other = world.engine(), world.engine()
        for engine in (one, other):
            engine.handle(owner="shop", name="note", call=lambda job: None)

        ids = [*one.submit_many("shop", "note", [{}] * 50), *other.submit_many("shop", "note", [{}] * 50)]

        assert len(set(ids)) == 100

    def test_the_higher_priority_goes_first_and_equals_keep_their_order(self, world: World) -> None:
        engine, gate, order = world.engine(workers=1), Gate(), []
        engine.handle(owner="shop", name="gate", call=gate)
        engine.handle(owner="shop", name="note", call=lambda job: order.append(job.payload["n"]))
        with opened_at_last(gate):
            engine.submit("shop", "gate")
            gate.wait_begun()
            engine.submit_many("shop", "note", [{"n": n} for n in (1, 2, 3)])
            engine.submit("shop", "note", {"n": "run now"}, priority=URGENT)
            engine.submit("shop", "note", {"n": "whenever"}, priority=-1)
        world.settle()

        assert order == ["run now", 1, 2, 3, "whenever"]

    def test_no_more_jobs_run_at_once_than_there_are_workers(self, world: World) -> None:
        engine, gate = world.engine(workers=2), Gate()
        engine.handle(owner="shop", name="gate", call=gate)
        with opened_at_last(gate):
            engine.submit_many("shop", "gate", [{}] * 5)
            gate.wait_begun()
            gate.wait_begun()

            assert (gate.calls, engine.stats().queued) == (2, 3)
        world.settle()

        assert gate.calls == 5

    def test_a_job_may_submit_further_jobs(self, world: World) -> None:
        engine, done = world.engine(workers=1), []

        def count_down(job: Job) -> None:
            done.append(job.payload["n"])
            if job.payload["n"]:
                engine.submit("shop", "count_down", {"n": job.payload["n"] - 1})

        engine.handle(owner="shop", name="count_down", call=count_down)
        engine.submit("shop", "count_down", {"n": 20})
        world.settle()

        assert done == list(range(20, -1, -1))

    def test_a_job_says_who_asked_for_what_and_when(self, world: World) -> None:
        engine, seen = world.engine(), []
        engine.handle(owner="shop", name="note", call=seen.append)
        job_id = engine.submit("shop", "note", {"runs": [1, 2]}, priority=3)
        world.settle()

        (job,) = seen
        assert (job.id, job.kind, job.owner, job.name) == (job_id, "job", "shop", "note")
        assert (job.payload, job.priority) == ({"runs": [1, 2]}, 3)
        assert job.due_at == world.clock.now()
        assert not job.cancelled

    def test_a_payload_arrives_as_json_would_carry_it(self, world: World) -> None:
        engine, seen = world.engine(), []
        engine.handle(owner="shop", name="note", call=lambda job: seen.append(job.payload))
        sent: dict[str, Any] = {"pair": (1, 2), "by_id": {7: "seven"}, "none": None}
        engine.submit("shop", "note", sent)
        sent["pair"] = "changed after it was handed over"
        world.settle()

        assert seen == [{"pair": [1, 2], "by_id": {"7": "seven"}, "none": None}]

    def test_a_payload_that_cannot_travel_is_refused_with_all_its_company(self, world: World) -> None:
        engine, seen = world.engine(), []
        engine.handle(owner="shop", name="note", call=seen.append)

        with pytest.raises(TypeError):
            engine.submit_many("shop", "note", [{"n": 1}, {"n": {1, 2}}])
        world.settle()

        assert seen == []

    def test_a_job_that_nobody_does_is_refused(self, world: World) -> None:
        with pytest.raises(UnknownJob, match="'shop' has registered no job named 'note'"):
            world.engine().submit("shop", "note")

    def test_two_handlers_of_one_name_are_refused_but_two_owners_may_have_one_each(
        self, world: World
    ) -> None:
        engine, seen = world.engine(), []
        engine.handle(owner="shop", name="note", call=seen.append)
        engine.handle(owner="office", name="note", call=seen.append)

        with pytest.raises(AlreadyRegistered, match="'shop' already has a job named 'note'"):
            engine.handle(owner="shop", name="note", call=seen.append)

    @pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 101, "né", "a\n"])
    def test_a_name_is_plain(self, world: World, name: str) -> None:
        engine = world.engine()
        with pytest.raises(InvalidName):
            engine.handle(owner="shop", name=name, call=print)
        with pytest.raises(InvalidName):
            engine.every(owner="shop", name=name, seconds=60, call=print)

    @pytest.mark.parametrize("error", [ValueError("no such order"), SystemExit(3), KeyboardInterrupt()])
    def test_a_job_that_raises_is_counted_and_costs_no_worker(
        self, world: World, error: BaseException
    ) -> None:
        engine, done = world.engine(workers=1), []

        def work(job: Job) -> None:
            if job.payload.get("fails"):
                raise error
            done.append(job.id)

        engine.handle(owner="shop", name="work", call=work)
        failed = engine.submit("shop", "work", {"fails": True})
        good = engine.submit("shop", "work")
        world.settle()

        assert done == [good]
        assert (engine.stats().jobs[0].runs, engine.stats().jobs[0].failures) == (2, 1)
        assert recent(engine)[failed].state is JobState.FAILED
        assert type(error).__name__ in recent(engine)[failed].error

    def test_a_waiting_job_that_is_cancelled_is_never_called(self, world: World) -> None:
        engine, gate, seen = world.engine(workers=1), Gate(), []
        engine.handle(owner="shop", name="gate", call=gate)
        engine.handle(owner="shop", name="note", call=seen.append)
        with opened_at_last(gate):
            engine.submit("shop", "gate")
            gate.wait_begun()
            job_id = engine.submit("shop", "note")

            assert engine.cancel(job_id, "not needed")
            assert not engine.cancel(job_id)
        world.settle()

        assert seen == []
        assert recent(engine)[job_id].state is JobState.CANCELLED
        assert recent(engine)[job_id].error == "not needed"

    def test_the_owner_hears_of_a_job_that_was_cancelled_before_it_began(self, world: World) -> None:
        engine, gate, told = world.engine(workers=1), Gate(), []
        engine.handle(
            owner="shop",
            name="gate",
            call=gate,
            returned=lambda job: told.append((job.payload, job.cancel_reason)),
        )
        with opened_at_last(gate):
            engine.submit("shop", "gate", {"n": 1})
            gate.wait_begun()
            engine.cancel(engine.submit("shop", "gate", {"n": 2}), "cancelled by ada")
        world.settle()

        assert told == [({"n": 2}, "cancelled by ada")]

    def test_a_running_job_hears_of_its_cancellation_at_once(self, world: World) -> None:
        engine, work = world.engine(), Stoppable()
        engine.handle(owner="shop", name="work", call=work)
        with opened_at_last(work):
            job_id = engine.submit("shop", "work")
            work.wait_begun()

            assert engine.cancel(job_id, "cancelled by ada")
            assert work.opened.is_set()
            world.settle()

        assert work.reasons == ["cancelled by ada"]
        assert recent(engine)[job_id].state is JobState.CANCELLED
        assert engine.stats().jobs[0].cancelled == 1

    def test_a_job_that_is_over_or_unknown_cannot_be_cancelled(self, world: World) -> None:
        engine = world.engine()
        engine.handle(owner="shop", name="note", call=lambda job: None)
        job_id = engine.submit("shop", "note")
        world.settle()

        assert not engine.cancel(job_id)
        assert not engine.cancel("no-such-job")

    def test_a_job_put_in_before_the_start_waits_for_it(self, world: World) -> None:
        engine, seen = world.new_engine(), []
        engine.handle(owner="shop", name="note", call=lambda job: seen.append(job.id))
        job_id = engine.submit("shop", "note")
        assert engine.stats().queued == 1

        engine.start()
        world.settle()

        assert seen == [job_id]

    def test_stop_lets_a_running_job_finish_and_hands_back_what_waits(self, world: World) -> None:
        engine, gate, back = world.engine(workers=1), Gate(), []
        engine.handle(owner="shop", name="gate", call=gate, returned=lambda job: back.append(job.payload))
        with opened_at_last(gate):
            running = engine.submit("shop", "gate", {"n": 0})
            gate.wait_begun()
            engine.submit_many("shop", "gate", [{"n": 1}, {"n": 2}])
            with ThreadPoolExecutor(1) as pool:
                report = pool.submit(engine.stop, PATIENCE_S)
                wait_until(lambda: len(back) == 2)
                gate.opened.set()

                assert report.result() == StopReport(returned=2)

        assert back == [{"n": 1}, {"n": 2}]
        assert recent(engine)[running].state is JobState.DONE
        assert not engine.stats().running

    def test_stop_asks_what_outlasts_its_grace_to_end(self, world: World) -> None:
        engine, work = world.engine(), Stoppable()
        engine.handle(owner="shop", name="work", call=work)
        with opened_at_last(work):
            engine.submit("shop", "work")
            work.wait_begun()

            assert engine.stop(0) == StopReport(cancelled=1)

        assert work.reasons == ["the engine stops"]

    def test_a_job_that_submits_while_the_engine_stops_gets_it_handed_back(self, world: World) -> None:
        engine, work, back = world.engine(), Stoppable(), []

        def work_and_refill(job: Job) -> None:
            work(job)
            engine.submit("shop", "work", {"next": True})

        engine.handle(
            owner="shop", name="work", call=work_and_refill, returned=lambda job: back.append(job.payload)
        )
        with opened_at_last(work):
            engine.submit("shop", "work")
            work.wait_begun()
            engine.stop(0)

        assert back == [{"next": True}]
        assert engine.stats().jobs[0].failures == 0

    def test_an_owner_that_fails_to_take_a_job_back_does_not_keep_the_engine_from_stopping(
        self, world: World
    ) -> None:
        engine = world.engine()

        def refuse(job: Job) -> None:
            raise RuntimeError("I will not")

        engine.handle(owner="shop", name="note", call=lambda job: None, returned=refuse)
        engine.stop(0)
        engine.submit("shop", "note")

        assert engine.stats().jobs[0].returned == 1

    def test_an_engine_can_be_started_again(self, world: World) -> None:
        engine, seen = world.engine(), []
        engine.handle(owner="shop", name="note", call=lambda job: seen.append(job.payload["n"]))
        engine.stop(0)
        engine.submit("shop", "note", {"n": "while it is stopped"})
        engine.start()
        engine.submit("shop", "note", {"n": "after it began again"})
        world.settle()

        assert seen == ["after it began again"]

    def test_starting_or_stopping_twice_does_nothing_more(self, world: World) -> None:
        engine, seen = world.engine(), []
        engine.start()
        engine.handle(owner="shop", name="note", call=seen.append)
        engine.submit("shop", "note")
        world.settle()
        engine.stop(0)

        assert engine.stop(0) == StopReport()
        assert len(seen) == 1

    def test_an_owner_that_leaves_takes_its_jobs_along_and_no_others(self, world: World) -> None:
        engine, gate, work, back, other = world.engine(workers=2), Gate(), Stoppable(), [], []
        engine.handle(owner="shop", name="work", call=work, returned=lambda job: back.append(job.payload))
        engine.handle(owner="office", name="gate", call=gate)
        engine.handle(owner="office", name="note", call=other.append)
        with opened_at_last(gate, work):
            engine.submit("shop", "work", {"n": 0})
            engine.submit("office", "gate")
            work.wait_begun()
            gate.wait_begun()
            engine.submit("shop", "work", {"n": 1})
            engine.submit("office", "note")

            assert engine.remove_owner("shop") == StopReport(returned=1, cancelled=1)
        world.settle()

        assert back == [{"n": 1}]
        assert len(other) == 1
        with pytest.raises(UnknownJob):
            engine.submit("shop", "work")

    def test_an_owner_may_be_given_time_to_leave(self, world: World) -> None:
        engine, gate = world.engine(), Gate()
        engine.handle(owner="shop", name="gate", call=gate)
        with opened_at_last(gate):
            engine.submit("shop", "gate")
            gate.wait_begun()
            with ThreadPoolExecutor(1) as pool:
                report = pool.submit(engine.remove_owner, "shop", PATIENCE_S)
                gate.opened.set()

                assert report.result() == StopReport()

    def test_a_job_that_submits_while_its_owner_leaves_gets_it_handed_back(self, world: World) -> None:
        engine, work, back = world.engine(), Stoppable(), []

        def work_and_refill(job: Job) -> None:
            work(job)
            engine.submit("shop", "work", {"next": True})

        engine.handle(
            owner="shop", name="work", call=work_and_refill, returned=lambda job: back.append(job.payload)
        )
        with opened_at_last(work):
            job_id = engine.submit("shop", "work")
            work.wait_begun()
            engine.remove_owner("shop")

        assert back == [{"next": True}]
        assert recent(engine)[job_id].state is JobState.CANCELLED

    def test_a_job_may_remove_its_own_owner(self, world: World) -> None:
        engine, reports = world.engine(), []
        engine.handle(
            owner="shop", name="leave", call=lambda job: reports.append(engine.remove_owner("shop"))
        )
        engine.submit("shop", "leave")
        world.settle()

        assert reports == [StopReport()]

    def test_a_job_may_be_an_async_function(self, world: World) -> None:
        engine, seen = world.engine(), []

        async def note(job: Job) -> None:
            seen.append(job.payload["n"])

        engine.handle(owner="shop", name="note", call=note)
        engine.submit_many("shop", "note", [{"n": n} for n in range(3)])
        world.settle()

        assert sorted(seen) == [0, 1, 2]

    def test_statistics_tell_what_runs_and_what_ran(self, world: World) -> None:
        engine, gate = world.engine(workers=1), Gate()
        engine.handle(owner="shop", name="gate", call=gate)
        with opened_at_last(gate):
            first = engine.submit("shop", "gate", {"n": 1})
            gate.wait_begun()
            engine.submit("shop", "gate", {"n": 2}, priority=URGENT)
            world.clock.advance(2.5)
            stats = engine.stats()
        world.settle()

        assert (stats.started, stats.workers, stats.queued) == (True, 1, 1)
        assert [(job.id, job.state, job.payload) for job in stats.running] == [
            (first, JobState.RUNNING, {"n": 1})
        ]
        assert recent(engine)[first].duration_s == 2.5
        assert engine.stats().jobs[0].seconds_total == 2.5


class TransactionConformance:
    """Jobs that are part of their owner's transaction."""

    def test_a_job_of_a_transaction_is_there_when_that_is_committed(self, world: World, store: Store) -> None:
        engine, seen = world.engine(), []
        engine.handle(owner="shop", name="note", call=lambda job: seen.append(job.payload["n"]))
        with store.begin() as connection:
            engine.submit_many("shop", "note", [{"n": 1}, {"n": 2}], within=connection)
            engine.submit("shop", "note", {"n": 3}, within=connection)
            world.settle()
            assert seen == []
        world.settle()

        assert sorted(seen) == [1, 2, 3]

    def test_a_job_of_a_transaction_that_was_taken_back_was_never_there(
        self, world: World, store: Store
    ) -> None:
        engine, seen = world.engine(), []
        engine.handle(owner="shop", name="note", call=seen.append)

        def fail() -> None:
            with store.begin() as connection:
                engine.submit("shop", "note", within=connection)
                raise ValueError("no such order")

        with pytest.raises(ValueError, match="no such order"):
            fail()
        world.settle()

        assert seen == []
        assert engine.stats().queued == 0
