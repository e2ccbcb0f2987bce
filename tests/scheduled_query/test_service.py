"""The service with a real store, a real engine and real runners; only the clock is in the test's hand."""

import logging
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from fakes import FakeClock
from plugbay import Store
from plugbay.store import open_store
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.core.model import Execution, MetricConfig, Outcome, Run, Status, Trigger
from plugbay_scheduled_query.repository.recording import Recording
from plugbay_scheduled_query.runs.telling import Teller
from plugbay_scheduled_query.settings import Settings
from service_world import FOREVER, executions, run_now, until

MIGRATIONS = Path(tables.__file__).parent / "migrations"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 11, 15, 12, 0, 30, tzinfo=UTC))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store("", tmp_path / "data")
    opened.migrate("scheduled_query", MIGRATIONS)
    yield opened
    opened.close()


@pytest.fixture
def cron_schedule() -> str:
    """What a test's own clock makes due."""
    return "* * * * *"


def test_a_query_due_each_minute_has_exactly_one_execution_per_minute(world, add_query, histories):
    here, query = world(), add_query(query="SELECT SUM(total) FROM orders")
    for _ in range(5):
        here.tick()
    found = executions(histories, query)
    assert [item.due_at.minute for item in found] == [5, 4, 3, 2, 1]
    assert {item.result for item in found} == {"[[4.0]]"}
    assert {item.status.value for item in found} == {"success"}


def test_two_nodes_on_one_store_execute_nothing_twice(world, add_query, histories, clock):
    first, second = world(), world()
    query = add_query()
    for _ in range(4):
        clock.advance(60)
        threads = [threading.Thread(target=node.service.tick) for node in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        first.settle()
        second.settle()
    assert len(executions(histories, query)) == 4


def test_a_disabled_query_does_not_run(world, add_query, histories):
    here, query = world(), add_query(enabled=False)
    here.tick()
    assert executions(histories, query) == []


def test_one_bad_query_never_stops_the_others(world, add_query, histories, store):
    here = world()
    bad, good, odd = add_query("bad", query="SELECT * FROM nowhere"), add_query("good"), add_query("odd")
    with store.begin() as connection:
        connection.execute(
            sa.update(tables.queries).where(tables.queries.c.id == odd.id).values(source_id=99)
        )
    here.tick()
    assert executions(histories, good)[0].status == "success"
    assert "no such table" in executions(histories, bad)[0].error_message
    assert (
        executions(histories, odd)[0].error_message
        == "the secret of this source is unreadable: enter it again"
    )


def test_a_rejected_query_is_recorded_logged_and_told(world, add_query, histories, caplog):
    here, heard = world(), []
    here.events.on("scheduled_query.rejected", heard.append)
    query = add_query(query="SELECT 'drop'")
    with caplog.at_level(logging.WARNING):
        here.tick()
    (item,) = executions(histories, query)
    assert item.status == "failed"
    assert item.error_message.startswith("rejected: ")
    assert heard[0].data["rule"] == "keyword"
    assert "rejected query=Orders rule=keyword keyword=drop" in caplog.text


def test_after_downtime_each_query_runs_once_and_the_missed_times_are_kept(
    world, add_query, histories, clock, caplog
):
    query = add_query()
    clock.advance(3600)
    here = world()
    here.service.tick()
    here.settle()
    (item,) = executions(histories, query)
    assert (item.missed, item.due_at.minute) == (59, 1)
    assert "missed query=Orders" in caplog.text


def test_run_now_runs_at_once_and_leaves_the_schedule_alone(world, add_query, definitions):
    here, query = world(), add_query(enabled=False)
    ran = here.run_now(query)
    assert (ran.execution.status, ran.execution.trigger, ran.execution.triggered_by) == (
        "success",
        "manual",
        "ada",
    )
    assert ran.execution.due_at is None
    assert definitions.get(query.id).next_run_at is None


def test_run_now_of_an_unknown_query_is_none(world):
    assert run_now(world().service, 12345) is None


def test_run_now_that_takes_longer_goes_on_and_others_join_it(world, add_query):
    here, query = world(), add_query(query=FOREVER, timeout=300)
    (first, promise), (second, _) = (here.service.begin_now(query.id, who) for who in ("ada", "bob"))
    assert not promise.done()
    assert second == first
    assert here.service.cancel(query.id, "ada")
    here.settle()


def test_cancel_stops_a_running_query_and_names_who_did_it(world, add_query, histories):
    here, query = world(), add_query(query=FOREVER, timeout=300)
    here.service.begin_now(query.id, "ada")
    assert here.service.cancel(query.id, "bob")
    here.settle()
    (item,) = executions(histories, query)
    assert (item.status, item.error_message) == ("failed", "cancelled by bob")
    assert not here.service.cancel(query.id, "bob")


def test_a_cancel_reaches_the_node_that_runs(world, add_query, histories, clock):
    here, there = world(), world()
    query = add_query(query=FOREVER, timeout=300)
    here.service.begin_now(query.id, "ada")
    assert there.service.cancel(query.id, "bob")
    here.settle()
    assert executions(histories, query)[0].error_message == "cancelled by bob"


def test_a_query_that_takes_too_long_times_out(world, add_query, histories):
    here, query = world(), add_query(query=FOREVER, timeout=1)
    ran = here.run_now(query)
    assert ran.execution.status == "timeout"


def test_a_stop_hands_over_what_it_interrupts_and_the_next_node_runs_it_again(
    world, add_query, histories, clock
):
    here = world()
    query = add_query(query=FOREVER, timeout=300)
    clock.advance(60)
    here.service.tick()
    here.wait_until_begun()
    here.stop(grace_s=0)
    assert executions(histories, query) == []
    there = world()
    there.service.recover()
    there.wait_until_begun()
    assert there.service.cancel(query.id, "ada")
    there.settle()
    (item,) = executions(histories, query)
    assert item.due_at.minute == 1
    assert (item.attempt, item.error_message) == (2, "cancelled by ada")


def test_an_interrupted_run_now_is_recorded_as_such_and_not_repeated(world, add_query, histories):
    here, query = world(), add_query(query=FOREVER, timeout=300)
    here.service.begin_now(query.id, "ada")
    here.stop(grace_s=0)
    there = world()
    there.service.recover()
    there.settle()
    (item,) = executions(histories, query)
    assert (item.status, item.error_message) == ("failed", "interrupted by a restart")


def test_a_second_interruption_is_recorded_as_failed(world, add_query, histories, clock):
    query = add_query(query=FOREVER, timeout=300)
    clock.advance(60)
    for _ in range(2):
        node = world()
        node.service.tick()
        node.wait_until_begun()
        node.stop(grace_s=0)
    last = world()
    last.service.recover()
    last.settle()
    (item,) = executions(histories, query)
    assert (item.status, item.attempt) == ("failed", 3)
    assert "interrupted twice" in item.error_message


def test_with_an_interval_executions_of_a_source_are_spaced_from_end_to_start(
    world, add_query, histories, clock
):
    here = world()
    here.settings = Settings(interval=30)
    queries = [add_query(f"q{n}", cron_schedule="1 * * * *") for n in range(3)]
    clock.advance(30)
    here.service.tick()
    here.settle()
    assert sum(len(executions(histories, query)) for query in queries) == 1
    for expected in (2, 3):
        clock.advance(29)
        here.engine.run_due()
        here.settle()
        assert sum(len(executions(histories, query)) for query in queries) == expected - 1
        clock.advance(1)
        here.engine.run_due()
        here.settle()
        assert sum(len(executions(histories, query)) for query in queries) == expected


def test_three_thousand_due_in_one_minute_are_all_executed_once(
    world, add_query, histories, definitions, store, clock
):
    here, first = world(), add_query(cron_schedule="1 * * * *")
    with store.begin() as connection:
        row = connection.execute(sa.select(tables.queries)).one()._mapping
        copies = [{**row, "id": first.id + n} for n in range(1, 3000)]
        connection.execute(sa.insert(tables.queries), copies)
        states = [{"query_id": copy["id"], "changed_at": clock.now()} for copy in copies]
        connection.execute(sa.insert(tables.states), states)
    ids = [first.id, *(copy["id"] for copy in copies)]
    clock.advance(30)
    here.service.tick()
    while here.service._claims.due_sources():
        here.settle()
    here.settle()
    with store.connect() as connection:
        counts = connection.execute(
            sa.select(tables.history.c.query_id, sa.func.count()).group_by(tables.history.c.query_id)
        ).all()
    assert dict(counts) == dict.fromkeys(ids, 1)


def test_a_gauge_without_a_number_is_said_in_the_log(world, add_query, caplog):
    here = world()
    add_query(query="SELECT 'many'", metrics=(MetricConfig("orders", {}),))
    here.tick()
    assert 'metric_not_updated query=Orders reason="the result has no numeric value"' in caplog.text


def test_every_execution_is_told_with_its_facts(world, add_query):
    here, heard = world(), []
    here.events.on("scheduled_query.executed", heard.append)
    query = add_query()
    here.tick()
    data = heard[0].data
    assert (data["query_id"], data["status"], data["trigger"]) == (query.id, "success", "schedule")
    assert here.reports.executions["success"] == 1


def test_a_store_that_is_full_for_a_while_loses_nothing(world, add_query, histories, monkeypatch):
    here, query = world(), add_query()
    real, failures = Recording._record, []

    def fails_once(self, *args):
        if not failures:
            failures.append(1)
            raise OSError("disk full")
        return real(self, *args)

    monkeypatch.setattr(Recording, "_record", fails_once)
    monkeypatch.setattr("plugbay_scheduled_query.runs.executing.RETRY_S", 0.01)
    here.tick()
    assert len(executions(histories, query)) == 1
    assert failures


def test_a_node_shows_that_it_is_alive_while_it_runs(world, add_query, store, clock):
    here, query = world(), add_query(query=FOREVER, timeout=300)
    here.service._leases = True
    here.service.begin_now(query.id, "ada")
    with store.connect() as connection:
        before = connection.scalar(sa.select(tables.runs.c.lease_until))
    clock.advance(20)
    here.service._beat()
    with store.connect() as connection:
        assert connection.scalar(sa.select(tables.runs.c.lease_until)) > before
    here.service.cancel(query.id, "ada")
    here.settle()


def test_no_more_than_max_parallel_run_at_once_and_run_now_does_not_wait_for_them(world, add_query, clock):
    here = world()
    here.settings = Settings(interval=0, max_parallel=2)
    slow = [add_query(f"slow {n}", query=FOREVER, timeout=300) for n in range(4)]
    quick = add_query("quick", enabled=False)
    clock.advance(60)
    here.service.tick()
    here.wait_until_begun()
    ran = here.run_now(quick)
    assert ran.execution.status == "success"
    assert len(here.service._claiming.admission._inside) == 2
    until(lambda: here.runs_at_work() == 2)  # once the worker of the quick one is through with it
    for query in slow:
        here.service.cancel(query.id, "ada")
    here.settle()


def test_a_node_that_does_not_tick_takes_what_the_one_that_ticks_has_no_slot_for(
    world, add_query, make_due, clock
):
    one, two = world(), world()
    one.settings = two.settings = Settings(interval=0, max_parallel=1)
    slow = [add_query(f"slow {n}", query=FOREVER, cron_schedule="@yearly", timeout=300) for n in range(4)]
    for query in slow:
        make_due(query)
    two.service.start()
    one.service.tick()
    assert (one.service.running, two.service.running) == (2, 0)
    clock.advance(61)
    two.engine.run_due()
    until(lambda: two.service.running == 2)
    for query in slow:
        assert one.service.cancel(query.id, "ada")
    one.settle()
    two.settle()


def test_what_waits_when_the_service_stops_is_given_back_unspoilt(world, add_query, clock, histories):
    here = world()
    here.settings = Settings(interval=0, max_parallel=1)
    add_query("first", query=FOREVER, timeout=300)
    second = add_query("second", query="SELECT 1")
    clock.advance(60)
    here.service.tick()
    here.wait_until_begun()
    until(lambda: second.id in here.service.waiting_queries())  # it was in a slice, and is called back
    _, joined = here.service.begin_now(second.id, "ada")
    here.stop(grace_s=0)
    assert joined.result(0) is None
    there = world()
    lost = there.service._ownership.take_over(there.node.dead(there.service._ownership.nodes()))
    assert {run.query_name: run.attempt for run in lost} == {"first": 2, "second": 1}


def test_a_plugin_that_is_slow_to_listen_holds_up_no_run(world, add_query, histories):
    here, go_on = world(), threading.Event()
    here.events.on("scheduled_query.executed", lambda event: go_on.wait(60), owner="slow")
    query = add_query()
    for times in (1, 2, 3):
        assert here.run_now(query).status == "success"
        assert len(executions(histories, query)) == times
    go_on.set()


def test_what_people_start_leaves_workers_to_the_schedule(world, add_query, make_due, histories):
    here = world()
    here.settings = Settings(interval=0)
    for n in range(20):
        here.service.begin_now(add_query(f"by hand {n}", query=FOREVER, timeout=300).id, "ada")
    due = add_query("due")
    make_due(due)
    here.service.tick()
    until(lambda: len(executions(histories, due)) == 1)
    assert here.runs_at_work() == 2  # a third of the workers


def test_a_slow_run_holds_up_none_of_its_slice(world, add_query, make_due, histories):
    here = world()
    here.settings = Settings(interval=0, max_parallel=2)
    make_due(add_query("slow", query=FOREVER, timeout=300), seconds_ago=30)
    quick = [add_query(f"quick {n}") for n in range(12)]
    for query in quick:
        make_due(query)
    here.service.tick()
    until(lambda: all(len(executions(histories, query)) == 1 for query in quick))
    assert {executions(histories, query)[0].attempt for query in quick} == {1}


def test_an_ear_that_fails_costs_neither_the_other_ears_nor_the_other_executions(caplog):
    heard: list[str] = []

    def fail(run, outcome, execution) -> None:
        raise RuntimeError("deaf")

    teller = Teller([fail, lambda run, outcome, execution: heard.append(run.query_name)])
    runs = [
        Run(id=n, query_id=n, query_name=f"q{n}", source_id=1, sql="", trigger=Trigger.MANUAL) for n in (1, 2)
    ]
    now = datetime(2026, 11, 15, tzinfo=UTC)
    execution = Execution(scheduled_query_id=1, executed_at=now, duration_ms=1, status=Status.SUCCESS)
    teller.put([(run, Outcome(Status.SUCCESS), execution) for run in runs])
    teller.close()
    assert heard == ["q1", "q2"]
    assert caplog.text.count("after_execution_failed") == 2
