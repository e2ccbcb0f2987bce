"""Claiming on real stores: exactly once, oldest first, paced by lanes."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.core.model import Trigger
from plugbay_scheduled_query.repository.claims import Claims
from plugbay_scheduled_query.repository.pruning import Housekeeping, Keeping


def test_nothing_due_is_nothing_claimed(claims, add_query):
    add_query()
    assert claims.claim_batch(10, "UTC") == []
    assert claims.claim_paced("UTC", 30) == []
    assert not claims.due_sources()


def test_a_due_query_is_claimed_once_and_moves_on(claims, add_query, make_due, definitions, clock):
    query = add_query()
    due_at = make_due(query)
    (claimed,) = claims.claim_batch(10, "UTC")
    assert claimed.due_at == due_at
    assert (claimed.sql, claimed.trigger, claimed.attempt) == ("SELECT 1", Trigger.SCHEDULE, 1)
    assert claims.claim_batch(10, "UTC") == []
    after = definitions.get(query.id)
    assert after.running
    assert after.last_due_at == due_at
    assert after.next_run_at > clock.now()


def test_the_oldest_due_goes_first_and_no_more_than_asked(claims, add_query, make_due):
    for name, ago in (("late", 10), ("latest", 30), ("just now", 1)):
        make_due(add_query(name), ago)
    assert [item.query_name for item in claims.claim_batch(2, "UTC")] == ["latest", "late"]


def test_a_query_with_a_live_run_stays_due(claims, add_query, make_due, definitions):
    query = add_query()
    claims.start_now(query.id, "ada")
    due_at = make_due(query)
    assert claims.claim_batch(10, "UTC") == []
    assert definitions.get(query.id).next_run_at == due_at


def test_times_passed_over_are_counted(claims, add_query, make_due, clock):
    query = add_query(cron_schedule="0 0 * * *")
    make_due(query, 10 * 86_400)
    (claimed,) = claims.claim_batch(10, "UTC")
    assert claimed.missed in (10, 11)  # by the database's clock, midnight may have come meanwhile


def test_a_time_that_was_claimed_is_not_claimed_again_by_a_clock_set_back(store, claims, add_query, make_due):
    query = add_query()
    due_at = make_due(query)
    claims.claim_batch(10, "UTC")
    with store.begin() as connection:
        connection.execute(sa.delete(tables.runs))
        connection.execute(sa.update(tables.queries).values(next_run_at=due_at))
    assert claims.claim_batch(10, "UTC") == []


def test_in_a_paced_source_one_runs_at_a_time(claims, add_query, make_due):
    make_due(add_query("first"), 10)
    make_due(add_query("second"), 5)
    assert [item.query_name for item in claims.claim_paced("UTC", 30)] == ["first"]
    assert claims.claim_paced("UTC", 30) == []


def test_sources_do_not_wait_for_each_other(claims, add_query, add_source, make_due):
    make_due(add_query("here"))
    make_due(add_query("there", add_source("other")))
    assert {item.query_name for item in claims.claim_paced("UTC", 30)} == {"here", "there"}


def test_the_next_starts_no_earlier_than_the_interval_after_the_last_ended(
    store, claims, recording, add_query, make_due, finished, clock
):
    make_due(add_query("first"), 10)
    make_due(add_query("second"), 5)
    (first,) = claims.claim_paced("UTC", 3600)
    recording.record([finished(first)], clock.now(), Keeping())
    assert 3500 < claims.rest_s(3600) <= 3600  # PostgreSQL's clock goes on
    assert claims.claim_paced("UTC", 3600) == []
    with store.begin() as connection:
        connection.execute(sa.update(tables.lanes).values(ended_at=clock.now() - timedelta(seconds=3600)))
    assert [item.query_name for item in claims.claim_paced("UTC", 3600)] == ["second"]


def test_run_now_needs_no_lane_and_leaves_the_schedule_alone(claims, add_query, make_due, definitions):
    first, second = add_query("first"), add_query("second", enabled=False)
    make_due(first)
    claims.claim_paced("UTC", 30)
    claimed, running = claims.start_now(second.id, "ada")
    assert running is None
    assert (claimed.trigger, claimed.triggered_by, claimed.due_at) == (
        Trigger.MANUAL,
        "ada",
        None,
    )
    assert definitions.get(second.id).next_run_at is None


def test_run_now_joins_what_is_running(claims, add_query):
    query = add_query()
    first, _ = claims.start_now(query.id, "ada")
    again, running = claims.start_now(query.id, "bob")
    assert again is None
    assert running == first.id


def test_run_now_of_an_unknown_or_deleted_query_is_nothing(claims, add_query, definitions):
    query = add_query()
    definitions.delete(query.id)
    assert claims.start_now(query.id, "ada") == (None, None)
    assert claims.start_now(10_000, "ada") == (None, None)


def test_two_hundred_clicks_at_once_make_one_run(store, clock, add_query):
    query = add_query()
    nodes = [Claims(store, clock, f"node-{n}") for n in range(4)]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda n: nodes[n % 4].start_now(query.id, "ada"), range(200)))
    started = [claimed for claimed, _ in answers if claimed]
    assert len(started) == 1
    assert {running for claimed, running in answers if not claimed} == {started[0].id}


def test_many_nodes_claim_everything_and_nothing_twice(store, clock, add_query, make_due):
    for number in range(60):
        make_due(add_query(f"q{number}"), number + 1)
    nodes = [Claims(store, clock, f"node-{n}") for n in range(6)]

    def drain(node: Claims) -> list[int]:
        got: list[int] = []
        while found := node.claim_batch(5, "UTC"):
            got += [item.query_id for item in found]
        return got

    with ThreadPoolExecutor(6) as pool:
        claimed = [query_id for part in pool.map(drain, nodes) for query_id in part]
    assert len(claimed) == len(set(claimed)) == 60


def when_claimed(store) -> datetime:
    with store.connect() as connection:
        return connection.execute(sa.select(tables.runs.c.claimed_at)).scalar_one()


def test_a_lane_rests_as_long_as_the_setting_says_now(
    store, claims, recording, add_query, make_due, finished
):
    make_due(add_query("first"), 10)
    make_due(add_query("second"), 5)
    (first,) = claims.claim_paced("UTC", 86_400)
    claimed_at = when_claimed(store)
    recording.record([finished(first)], claimed_at, Keeping())
    assert claims.claim_paced("UTC", 86_400) == []
    with store.begin() as connection:
        ended_at = claimed_at - timedelta(seconds=31)
        connection.execute(sa.update(tables.lanes).values(ended_at=ended_at))
    assert [item.query_name for item in claims.claim_paced("UTC", 30)] == ["second"]


def test_a_clock_that_was_set_back_does_not_make_a_lane_rest_for_ever(
    store, claims, add_query, make_due, clock
):
    make_due(add_query(), 10)
    with store.begin() as connection:
        connection.execute(sa.update(tables.lanes).values(ended_at=clock.now() + timedelta(hours=1)))
    assert len(claims.claim_paced("UTC", 30)) == 1


@pytest.mark.parametrize("store", ["postgresql"], indirect=True)
def test_a_lane_rests_by_the_clock_that_claims_go_by(store, claims, recording, add_query, make_due, finished):
    make_due(add_query("first"), 10)
    make_due(add_query("second"), 5)
    (first,) = claims.claim_paced("UTC", 3600)
    recording.record([finished(first)], when_claimed(store) - timedelta(days=1), Keeping())
    assert claims.claim_paced("UTC", 3600) == []
    assert 3500 < claims.rest_s(3600) <= 3600


def test_run_now_at_the_moment_of_a_claim_stops_no_other(store, claims, add_query, make_due, definitions):
    pressed, other = add_query("pressed"), add_query("other")
    make_due(pressed, 10)
    make_due(other, 5)
    claimed = []
    with store.begin() as connection:
        values = {"query_id": pressed.id, "source_id": 1, "trigger": "manual", "node": "node-2"}
        connection.execute(sa.insert(tables.runs).values(values | {"claimed_at": pressed.created_at}))
        claiming = threading.Thread(target=lambda: claimed.extend(claims.claim_batch(9, "UTC")))
        claiming.start()
        claiming.join(0.3)  # PostgreSQL waits for us at the key, SQLite at the lock
    claiming.join()
    assert [item.query_name for item in claimed] == ["other"]
    assert definitions.get(pressed.id).next_run_at < definitions.get(other.id).next_run_at


def test_a_query_that_is_deleted_while_run_now_starts_keeps_its_rows_until_the_end(
    store, claims, add_query, definitions, clock
):
    query = add_query()
    claims.start_now(query.id, "ada")
    definitions.delete(query.id)
    assert not Housekeeping(store, clock).purge_step()


def test_a_lane_whose_run_ended_while_we_looked_rests_too(store, claims, add_query, make_due, clock):
    make_due(add_query(), 10)
    with store.begin() as connection:
        connection.execute(sa.update(tables.lanes).values(ended_at=clock.now() + timedelta(seconds=20)))
    assert claims.claim_paced("UTC", 30) == []
