"""What every engine must do with tasks and timers: an adapter's test class inherits this."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from plugbay_task_worker.engine import AlreadyRegistered, InvalidPeriod, Job, NaiveTime
from task_worker.world import PATIENCE_S, Gate, Stoppable, World, opened_at_last, task_of


class TickConformance:
    """Tasks and timers: at their time, once, whatever the clock does."""

    def test_a_task_ticks_at_each_full_minute(self, world: World) -> None:
        world.clock.advance(42.5)  # 12:00:42.5
        engine, due = world.engine(), []
        engine.every(
            owner="shop", name="task", seconds=60, call=lambda job: due.append(f"{job.due_at:%H:%M:%S}")
        )
        world.advance(17)
        assert due == []
        world.advance(0.5)
        world.advance(59.9)
        world.advance(0.1)

        assert due == ["12:01:00", "12:02:00"]

    @pytest.mark.parametrize(("seconds", "expected"), [(1, 600), (7, 85), (300, 2), (86_400, 0)])
    def test_any_whole_number_of_seconds_is_a_period(self, world: World, seconds: int, expected: int) -> None:
        engine, calls = world.engine(), []
        engine.every(owner="shop", name="task", seconds=seconds, call=lambda job: calls.append(job.due_at))
        step = min(seconds, 600)
        for _ in range(600 // step):
            world.advance(step)

        assert len(calls) == expected
        assert all(at.timestamp() % seconds == 0 for at in calls)

    @pytest.mark.parametrize("seconds", [0, -60, 0.5, True])
    def test_anything_else_is_not(self, world: World, seconds: Any) -> None:
        with pytest.raises(InvalidPeriod):
            world.engine().every(owner="shop", name="task", seconds=seconds, call=print)

    def test_of_two_schedulers_one_ticks(self, world: World) -> None:
        calls: list[str] = []
        for name in ("one", "other"):
            engine = world.engine()
            engine.every(
                owner="shop", name="task", seconds=60, call=lambda job, name=name: calls.append(name)
            )
        for _ in range(20):
            world.advance(60)

        assert len(calls) == 20

    def test_tasks_of_one_name_and_different_owners_both_tick(self, world: World) -> None:
        engine, calls = world.engine(), []
        for owner in ("shop", "office"):
            engine.every(owner=owner, name="task", seconds=60, call=lambda job: calls.append(job.owner))
        world.advance(60)

        assert sorted(calls) == ["office", "shop"]

    def test_a_task_never_overlaps_itself(self, world: World) -> None:
        engine, gate = world.engine(), Gate()
        engine.every(owner="shop", name="task", seconds=60, call=gate)
        with opened_at_last(gate):
            world.clock.advance(60)
            world.ring()
            gate.wait_begun()
            for _ in range(3):
                world.clock.advance(60)
                world.ring()
            assert gate.calls == 1
            assert task_of(engine).running
        world.settle()
        world.advance(60)

        assert gate.calls == 2
        assert task_of(engine).skipped == 3

    @pytest.mark.parametrize("error", [ValueError("no such table"), SystemExit(1), KeyboardInterrupt()])
    def test_a_task_that_raises_is_counted_and_ticks_again(self, world: World, error: BaseException) -> None:
        engine, calls = world.engine(), []

        def fail_once(job: Job) -> None:
            calls.append(job.id)
            if len(calls) == 1:
                raise error

        engine.every(owner="shop", name="task", seconds=60, call=fail_once)
        world.advance(60)
        assert type(error).__name__ in task_of(engine).last_error
        world.advance(60)

        assert (task_of(engine).runs, task_of(engine).failures, task_of(engine).last_error) == (2, 1, "")

    def test_ticks_missed_while_the_machine_slept_are_made_up_for_by_one(self, world: World) -> None:
        engine, seen = world.engine(), []
        engine.every(owner="shop", name="task", seconds=60, call=seen.append)
        world.advance(7 * 60 + 30)
        assert [(f"{job.due_at:%H:%M:%S}", job.missed) for job in seen] == [("12:07:00", 6)]
        world.advance(30)

        assert [(f"{job.due_at:%H:%M:%S}", job.missed) for job in seen[1:]] == [("12:08:00", 0)]
        assert task_of(engine).missed == 6
        assert task_of(engine).lateness_total_s == 30

    def test_a_clock_set_back_lets_nothing_tick_twice(self, world: World) -> None:
        engine, due = world.engine(), []
        engine.every(owner="shop", name="task", seconds=60, call=lambda job: due.append(job.due_at))
        for _ in range(10):
            world.advance(60)
        world.jump(-300)
        for _ in range(10):
            world.advance(60)

        assert len(due) == len(set(due)) == 15

    def test_a_clock_set_back_by_less_than_a_tick_changes_nothing(self, world: World) -> None:
        engine, due = world.engine(), []
        engine.every(owner="shop", name="task", seconds=60, call=lambda job: due.append(job.due_at))
        world.advance(60)
        world.jump(-0.5)
        world.advance(0.5)
        world.advance(60)

        assert len(due) == len(set(due)) == 2

    def test_a_clock_set_ahead_ticks_once_and_goes_on_when_it_is_set_right(self, world: World) -> None:
        engine, due = world.engine(), []
        engine.every(
            owner="shop", name="task", seconds=60, call=lambda job: due.append(f"{job.due_at:%H:%M}")
        )
        world.advance(60)
        world.jump(6 * 3600)
        assert due == ["12:01", "18:01"]
        world.advance(60)
        world.jump(-6 * 3600)
        world.advance(60)
        world.advance(60)

        assert due == ["12:01", "18:01", "18:02", "12:03", "12:04"]

    def test_a_task_may_also_be_called_at_the_start(self, world: World) -> None:
        engine, due = world.new_engine(), []
        call = lambda job: due.append(f"{job.due_at:%H:%M:%S}")  # noqa: E731
        engine.every(owner="shop", name="before", seconds=60, call=call, at_start=True)
        world.clock.advance(10)
        engine.start()
        world.settle()
        world.clock.advance(10)
        engine.every(owner="shop", name="after", seconds=60, call=call, at_start=True)
        world.settle()

        assert due == ["12:00:10", "12:00:20"]

    def test_ticks_that_went_by_before_the_start_are_not_made_up_for(self, world: World) -> None:
        engine, seen = world.new_engine(), []
        engine.every(owner="shop", name="task", seconds=60, call=seen.append)
        world.clock.advance(600)
        engine.start()
        world.settle()
        assert seen == []
        world.advance(60)

        assert len(seen) == 1

    def test_a_stopped_engine_does_not_tick_and_one_started_again_does(self, world: World) -> None:
        engine, seen = world.engine(), []
        engine.every(owner="shop", name="task", seconds=60, call=seen.append)
        engine.stop(0)
        world.advance(60)
        assert seen == []
        engine.start()
        world.advance(60)

        assert len(seen) == 1

    def test_an_owner_that_leaves_takes_its_tasks_and_timers_along(self, world: World) -> None:
        engine, calls = world.engine(), []
        for owner in ("shop", "office"):
            engine.every(owner=owner, name="task", seconds=60, call=lambda job: calls.append(job.owner))
            engine.at(
                owner=owner, name="timer", when=world.clock.now(), call=lambda job: calls.append(job.owner)
            )
        world.settle()
        calls.clear()
        when = world.clock.now() + timedelta(seconds=30)
        engine.at(owner="shop", name="timer", when=when, call=lambda job: calls.append(job.owner))
        engine.remove_owner("shop")
        world.advance(60)

        assert calls == ["office"]
        assert [task.owner for task in engine.stats().tasks] == ["office"]

    def test_an_owner_that_comes_back_may_register_again(self, world: World) -> None:
        engine, calls = world.engine(), []
        for life in (1, 2):
            engine.remove_owner("shop")
            engine.every(
                owner="shop", name="task", seconds=60, call=lambda job, life=life: calls.append(life)
            )
            world.advance(60)

        assert calls == [1, 2]

    def test_two_tasks_of_one_name_are_refused(self, world: World) -> None:
        engine = world.engine()
        engine.every(owner="shop", name="task", seconds=60, call=print)

        with pytest.raises(AlreadyRegistered, match="'shop' already has a task named 'task'"):
            engine.every(owner="shop", name="task", seconds=30, call=print)

    def test_a_task_can_be_called_now_beside_its_ticks(self, world: World) -> None:
        engine, seen = world.engine(), []
        engine.every(owner="shop", name="task", seconds=60, call=seen.append)
        world.clock.advance(15)

        assert engine.run_task("shop", "task")
        world.settle()
        assert [f"{job.due_at:%H:%M:%S}" for job in seen] == ["12:00:15"]
        world.advance(45)
        assert len(seen) == 2

    def test_a_task_at_work_or_unknown_cannot_be_called_now(self, world: World) -> None:
        engine, gate = world.engine(), Gate()
        engine.every(owner="shop", name="task", seconds=60, call=gate)
        with opened_at_last(gate):
            assert engine.run_task("shop", "task")
            gate.wait_begun()

            assert not engine.run_task("shop", "task")
            assert not engine.run_task("shop", "other")
        world.settle()

        assert gate.calls == 1

    def test_a_running_task_can_be_cancelled(self, world: World) -> None:
        engine, work = world.engine(), Stoppable()
        engine.every(owner="shop", name="task", seconds=60, call=work)
        with opened_at_last(work):
            engine.run_task("shop", "task")
            work.wait_begun()
            (running,) = [job for job in engine.stats().running if job.kind == "task"]

            assert engine.cancel(running.id, "cancelled by ada")
            world.settle()

        assert work.reasons == ["cancelled by ada"]
        assert task_of(engine).failures == 0

    def test_tasks_tick_though_every_worker_is_busy_with_jobs(self, world: World) -> None:
        engine, gate, seen = world.engine(workers=1), Gate(), threading.Event()
        engine.handle(owner="shop", name="gate", call=gate)
        engine.every(owner="shop", name="task", seconds=60, call=lambda job: seen.set())
        with opened_at_last(gate):
            engine.submit("shop", "gate")
            gate.wait_begun()
            world.clock.advance(60)
            world.ring()

            assert seen.wait(PATIENCE_S)

    def test_a_task_may_be_an_async_function(self, world: World) -> None:
        engine, seen = world.engine(), []

        async def note(job: Job) -> None:
            seen.append(job.name)

        engine.every(owner="shop", name="task", seconds=60, call=note)
        world.advance(60)

        assert seen == ["task"]

    def test_statistics_tell_when_a_task_ran_and_runs_next(self, world: World) -> None:
        engine = world.engine()
        engine.every(owner="shop", name="task", seconds=60, call=lambda job: world.clock.advance(1.5))
        before = task_of(engine)
        world.advance(61)
        after = task_of(engine)

        assert (before.last_at, f"{before.next_at:%H:%M:%S}") == (None, "12:01:00")
        assert (f"{after.last_at:%H:%M:%S}", f"{after.next_at:%H:%M:%S}") == ("12:01:01", "12:02:00")
        assert (after.last_duration_s, after.seconds_total, after.lateness_total_s) == (1.5, 1.5, 1.0)

    def test_a_timer_is_called_once_at_its_time(self, world: World) -> None:
        engine, seen = world.engine(), []
        when = world.clock.now() + timedelta(seconds=12.25)
        engine.at(owner="shop", name="lane 1", when=when, call=seen.append)
        assert engine.stats().timers == 1
        world.advance(12)
        assert seen == []
        world.advance(0.25)
        world.advance(60)

        assert [job.due_at for job in seen] == [when]
        assert engine.stats().timers == 0

    def test_a_timer_whose_time_is_past_is_called_at_once(self, world: World) -> None:
        engine, seen = world.engine(), []
        engine.at(owner="shop", name="lane 1", when=world.clock.now() - timedelta(days=1), call=seen.append)
        world.settle()

        assert len(seen) == 1

    @pytest.mark.parametrize("minutes", [1, 30])
    def test_a_second_timer_of_that_name_takes_the_place_of_the_first(
        self, world: World, minutes: int
    ) -> None:
        engine, seen = world.engine(), []
        for n, delay in enumerate([10, minutes]):
            when = world.clock.now() + timedelta(minutes=delay)
            engine.at(owner="shop", name="lane 1", when=when, call=lambda job, n=n: seen.append(n))
        world.advance(3600)

        assert seen == [1]

    def test_a_timer_may_set_itself_again(self, world: World) -> None:
        engine, seen = world.engine(), []

        def again(job: Job) -> None:
            seen.append(f"{job.due_at:%M:%S}")
            engine.at(owner="shop", name="lane", when=job.due_at + timedelta(seconds=30), call=again)

        engine.at(owner="shop", name="lane", when=world.clock.now(), call=again)
        world.settle()
        world.advance(30)
        world.advance(30)

        assert seen == ["00:00", "00:30", "01:00"]

    def test_timers_go_off_in_the_order_of_their_times(self, world: World) -> None:
        engine, seen = world.engine(), []
        for n in (30, 10, 20):
            when = world.clock.now() + timedelta(seconds=n)
            engine.at(owner="shop", name=f"lane {n}", when=when, call=lambda job, n=n: seen.append(n))
        for _ in range(3):
            world.advance(10)

        assert seen == [10, 20, 30]

    def test_a_timer_that_raises_is_shown_and_harms_nobody(self, world: World) -> None:
        engine, seen = world.engine(), []

        def fail(job: Job) -> None:
            raise SystemExit("no more")

        engine.at(owner="shop", name="bad", when=world.clock.now(), call=fail)
        engine.at(owner="shop", name="good", when=world.clock.now(), call=seen.append)
        world.settle()

        assert len(seen) == 1
        assert [(job.name, job.error) for job in engine.stats().recent] == [("bad", "SystemExit: no more")]

    def test_a_time_without_a_time_zone_is_refused(self, world: World) -> None:
        with pytest.raises(NaiveTime):
            world.engine().at(
                owner="shop", name="lane 1", when=world.clock.now().replace(tzinfo=None), call=print
            )
