"""The service when something around it breaks: nothing is lost, nothing is stuck, it mends itself."""

import threading
from contextlib import contextmanager
from datetime import timedelta

import pytest
import sqlalchemy as sa
from own_thread import in_own_thread
from plugbay.errors import StoreFull
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.core.model import MetricConfig, Outcome, Status
from plugbay_scheduled_query.repository.claims import Claims
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.runs.executing import with_value
from plugbay_scheduled_query.settings import Settings
from service_world import FOREVER, PATIENCE_S, executions, until


@pytest.fixture
def set_query(store):
    """Writes columns of a definition past all checks."""

    def write(query, **values):
        with store.begin() as connection:
            connection.execute(
                sa.update(tables.queries).where(tables.queries.c.id == query.id).values(values)
            )

    return write


@contextmanager
def full_disk(store):
    """The file of the store may not grow by a single page, as on a disk that is full."""
    with store.begin() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")  # is taken for as many as there are
    yield
    with store.begin() as connection:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {2**31}")


def live_runs(store) -> int:
    with store.connect() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(tables.runs))


def test_who_is_told_of_an_execution_may_fail_and_no_run_stays_behind(world, add_query, histories, make_due):
    here, queries = world(), [add_query(f"q{n}") for n in range(3)]

    def after(finished, recorded):
        raise RuntimeError("the gauges cannot be read")

    here.service._tell = after
    for query in queries:
        make_due(query)
    here.service.tick()
    here.settle()
    assert [len(executions(histories, query)) for query in queries] == [1, 1, 1]


@pytest.mark.parametrize(
    ("store", "name"),
    [("sqlite", "\ud800"), ("postgresql", "\ud800"), ("postgresql", "\x00")],  # SQLite takes a NUL
    indirect=["store"],
)
def test_a_result_that_no_store_takes_fails_alone(
    store, claims, recording, add_query, finished, clock, histories, name
):
    odd, good = add_query("odd"), add_query("good")
    runs = [claims.start_now(query.id, "ada")[0] for query in (odd, good)]
    bad = finished(runs[0], result_json=f"[[{name!r}{name}]]")
    recorded = recording.record([bad, finished(runs[1])], clock.now(), Keeping())
    assert [item.status for item in recorded] == ["failed", "success"]
    assert "could not be stored" in executions(histories, odd)[0].error_message
    assert len(executions(histories, good)) == 1
    assert live_runs(store) == 0


def test_an_execution_that_stumbles_frees_its_place(world, add_query, histories, make_due, monkeypatch):
    here, query = world(), add_query()
    here.settings = Settings(interval=0, max_parallel=1)

    def stumble(*args):
        raise RuntimeError("nobody thought of this")

    monkeypatch.setattr("plugbay_scheduled_query.runs.executing.with_value", stumble)
    make_due(query)
    here.service.tick()
    here.settle()
    monkeypatch.undo()
    assert executions(histories, query)[0].error_message == "internal error: RuntimeError"
    make_due(query, 0)
    here.service.tick()
    here.settle()
    assert executions(histories, query)[0].status == "success"


@pytest.mark.parametrize("broken", [{"timezone": "Mars/Olympus"}, {"cron_schedule": "61 * * * *"}])
@pytest.mark.parametrize("interval", [0, 30])
def test_a_schedule_that_cannot_be_read_any_more_stops_nobody_else(
    world, add_query, add_source, set_query, histories, make_due, definitions, broken, interval
):
    here = world()
    here.settings = Settings(interval=interval)
    good, bad = add_query("good", add_source("other")), add_query("bad")
    set_query(bad, **broken)
    make_due(bad, 5)
    make_due(good, 1)
    here.service.tick()
    here.settle()
    assert executions(histories, good)[0].status == "success"
    (item,) = executions(histories, bad)
    assert item.status == "failed"
    assert "schedule cannot be read" in item.error_message
    assert definitions.get(bad.id).next_run_at > item.executed_at


def lease(store):
    with store.connect() as connection:
        return connection.scalar(sa.select(tables.runs.c.lease_until))


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)  # PostgreSQL brings a clock of its own
def test_a_lane_that_rests_over_a_restart_goes_on_in_time(world, add_query, make_due, store, clock):
    first = world()
    first.settings = Settings(interval=30)
    for name in ("one", "two"):
        make_due(add_query(name))
    first.service.tick()
    first.settle()
    first.stop()
    second = world()
    second.settings = Settings(interval=30)
    second.service.tick()
    clock.advance(30)
    second.engine.run_due()
    second.settle()
    assert sum(second.reports.executions.values()) == 1


def test_a_store_that_could_not_be_asked_is_asked_again_soon(world, add_query, make_due, clock, monkeypatch):
    here, query = world(), add_query()
    make_due(query)

    def away():
        raise OSError("the store is away")

    monkeypatch.setattr(here.service._claims, "due_sources", away)
    with pytest.raises(OSError, match="away"):
        here.service.tick()
    monkeypatch.undo()
    clock.advance(5)
    here.engine.run_due()
    until(lambda: here.reports.executions["success"] == 1)


def test_a_node_stays_alive_while_the_engine_waits_for_its_last_runs(world, add_query, store, clock):
    here, query = world(), add_query(query=FOREVER, timeout=300)
    here.service._leases = True
    here.service.begin_now(query.id, "ada")
    here.wait_until_begun()
    stopping = threading.Thread(target=here.engine.stop, args=(PATIENCE_S,))
    stopping.start()
    before = lease(store)
    clock.advance(20)
    until(lambda: lease(store) > before)
    here.service.cancel(query.id, "ada")
    stopping.join()


def test_the_pulse_goes_on_after_the_store_was_away(world, add_query, monkeypatch, caplog):
    here, query = world(), add_query(query=FOREVER, timeout=300)
    real, calls = here.service._ownership.mine, []

    def away_at_first():
        calls.append(1)
        if len(calls) < 3:
            raise OSError("the store is away")
        return real()

    monkeypatch.setattr(here.service._ownership, "mine", away_at_first)
    here.service.begin_now(query.id, "ada")
    until(lambda: len(calls) > 3)
    assert caplog.text.count("pulse_failed") == 1
    here.service.cancel(query.id, "ada")
    here.settle()


def test_a_run_that_another_node_took_over_is_stopped_here(world, add_query, make_due, store, histories):
    here, there = world(), world()
    query = add_query(query=FOREVER, timeout=300)
    make_due(query)
    here.service.tick()
    here.wait_until_begun()
    (taken,) = there.service._ownership.take_over([here.node.id])
    here.settle()  # long before the time limit
    assert executions(histories, query) == []
    assert taken.attempt == 2


def test_what_a_node_took_over_from_many_comes_back_unspoilt_when_it_stops(
    world, add_query, make_due, store, clock
):
    for number in range(40):
        make_due(add_query(f"q{number}", query=FOREVER, timeout=300))
    Claims(store, clock, "dead").claim_batch(40, "UTC")
    with store.begin() as connection:
        connection.execute(sa.update(tables.runs).values(lease_until=clock.now() - timedelta(minutes=1)))
    here = world()
    here.settings = Settings(interval=0, max_parallel=1)
    here.service.recover()
    here.wait_until_begun()
    here.stop(0)
    with store.connect() as connection:
        attempts = connection.scalars(sa.select(tables.runs.c.attempt)).all()
    assert sorted(attempts) == [1] * 39 + [2]


def test_a_query_that_does_not_listen_is_ended_soon_after_its_cancel(world, add_query, histories):
    # one call of a function, which SQLite cannot interrupt
    many = f"replace(replace(hex(zeroblob(1000)), '0', '{'a' * 10}'), 'a', '{'a' * 100}')"
    deaf = f"SELECT instr({many} || {many}, {many} || 'b')"
    here, query = world(), add_query(query=deaf, timeout=300)
    here.service.begin_now(query.id, "ada")
    here.wait_until_begun()
    assert here.service.cancel(query.id, "bob")
    here.settle()
    assert executions(histories, query)[0].error_message == "cancelled by bob"


def test_run_now_finds_a_worker_though_every_source_is_busy(world, add_query, add_source, make_due):
    here = world()
    here.settings = Settings(interval=30)
    slow = [add_query(f"q{n}", add_source(f"s{n}"), query=FOREVER, timeout=300) for n in range(9)]
    for query in slow:
        make_due(query)
    here.service.tick()
    until(lambda: here.runs_at_work() == here.engine.workers - 2)
    for query in slow[4:]:  # there are as many runners
        here.service.cancel(query.id, "ada")
    run_id, promise = here.service.begin_now(add_query("quick", enabled=False).id, "ada")
    until(lambda: here.service._runs.has_begun(run_id) or promise.done())
    for query in slow:
        here.service.cancel(query.id, "ada")
    here.settle()


def test_cancel_of_what_waits_is_recorded_once_and_at_once(world, add_query, make_due, histories):
    here = world()
    here.settings = Settings(interval=0, max_parallel=1)
    slow, waiting = add_query("slow", query=FOREVER, timeout=300), add_query("waiting")
    make_due(slow, 2)
    make_due(waiting, 1)
    here.service.tick()
    here.wait_until_begun()
    assert here.service.cancel(waiting.id, "bob")
    until(lambda: executions(histories, waiting))
    assert not here.service.cancel(waiting.id, "bob")
    here.service.cancel(slow.id, "bob")
    here.settle()
    assert [item.error_message for item in executions(histories, waiting)] == ["cancelled by bob"]


def test_without_a_gauge_only_the_beginning_of_a_result_is_read(claims, add_query, clock):
    rows = ",".join(['["x"]'] * 60 + ["[7]"])
    outcome = Outcome(Status.SUCCESS, ("n",), f"[{rows}]", 61)
    plain, _ = claims.start_now(add_query("plain").id, "ada")
    fed, _ = claims.start_now(add_query("fed", metrics=(MetricConfig("n", {}),)).id, "ada")
    assert with_value(outcome, plain, 1000).value is None
    assert with_value(outcome, fed, 1000).value == 7


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_result_that_finds_the_disk_full_is_recorded_when_there_is_room(
    world, store, add_query, make_due, histories, caplog, monkeypatch
):
    monkeypatch.setattr("plugbay_scheduled_query.runs.executing.RETRY_S", 0.01)
    large = "SELECT hex(zeroblob(9000)) FROM (VALUES (1), (2), (3), (4))"
    here, query = world(), add_query(query=large)
    make_due(query)
    with full_disk(store):
        here.service.tick()
        until(lambda: caplog.text.count("record_failed") > 2)
        assert "the disk is full. Nothing of the change was stored." in caplog.text
        assert (live_runs(store), executions(histories, query)) == (1, [])
    here.settle()
    [execution] = executions(histories, query)
    assert (execution.status, execution.attempt, live_runs(store)) == ("success", 1, 0)


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_what_is_due_on_a_full_disk_stays_due(world, store, add_query, make_due, histories):
    here, query = world(), add_query(query="SELECT 1 --" + "x" * 60_000)
    due = make_due(query)
    with full_disk(store):
        with pytest.raises(StoreFull):
            here.service.tick()
        assert (live_runs(store), executions(histories, query)) == (0, [])
    here.service.tick()
    here.settle()
    [execution] = executions(histories, query)
    assert (execution.status, execution.due_at, execution.missed) == ("success", due, 0)


def test_what_people_run_does_not_take_the_places_of_the_schedule(world, add_query, make_due):
    here = world()
    here.settings = Settings(interval=0, max_parallel=1)
    by_hand = [add_query(f"slow {n}", query=FOREVER, timeout=300, enabled=False) for n in range(3)]
    for query in by_hand:
        here.service.begin_now(query.id, "ada")
    for number in range(5):
        make_due(add_query(f"quick {number}"))
    here.service.tick()
    until(lambda: here.reports.executions["success"] == 5)
    for query in by_hand:
        here.service.cancel(query.id, "ada")
    here.settle()


def test_the_timer_of_a_refill_is_set_by_who_looked_last(world, monkeypatch):
    claiming, seen = world().service._claiming, []
    other = threading.Thread(target=claiming.refill)

    def look_again(rest_s):
        seen.append(rest_s)

    def rest_s():
        if seen or other.is_alive():
            return 2.0
        other.start()
        other.join(0.3)  # it must wait until we are through
        return 1.0

    monkeypatch.setattr(claiming, "_look_again", look_again)
    monkeypatch.setattr(claiming, "_rest_s", rest_s)
    claiming.refill()
    other.join()
    assert seen == [1.0, 2.0]


def test_nothing_comes_to_its_end_while_somebody_looks_whether_all_is_at_rest(
    world, claims, finished, add_query, histories
):
    here, query = world(), add_query()
    recorder, ended = here.service._recorder, finished(claims.start_now(query.id, "ada")[0])
    submitting = threading.Thread(target=recorder.submit, args=ended)

    def look() -> bool:
        submitting.start()
        submitting.join(0.3)  # it must wait until we are through
        return executions(histories, query) == []

    assert recorder.is_idle_while(look)
    submitting.join()
    until(lambda: executions(histories, query))


def test_a_cancel_at_the_very_beginning_of_an_execution_is_not_lost(world, add_query, histories, monkeypatch):
    here, query = world(), add_query(query=FOREVER, timeout=300)
    real = here.service._executing._targets.target

    def cancel() -> bool:
        [job] = [job for job in here.engine.stats().running if job.kind == "job"]
        return here.engine.cancel(job.id, "cancelled by bob")

    def cancelled_meanwhile(source_id):
        assert in_own_thread(cancel)
        return real(source_id)

    monkeypatch.setattr(here.service._executing._targets, "target", cancelled_meanwhile)
    here.run_now(query)
    (item,) = executions(histories, query)
    assert item.error_message == "cancelled by bob"
