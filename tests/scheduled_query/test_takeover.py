"""Whose run it is: leases, the runs of dead nodes, what is given back, and who wants a run to stop."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.repository.takeover import Ownership
from service_world import PATIENCE_S, until


def test_the_runs_of_a_dead_node_are_taken_over_one_attempt_higher(store, claims, clock, add_query, make_due):
    make_due(add_query())
    (first,) = claims.claim_batch(1, "UTC")
    (second,) = Ownership(store, clock, "node-2").take_over(["node-1"])
    assert (second.id, second.attempt, second.due_at) == (first.id, 2, first.due_at)
    assert Ownership(store, clock, "node-3").nodes() == {"node-2"}


def test_a_lease_that_is_over_is_taken_over_and_one_that_is_not_stays(
    store, claims, clock, add_query, make_due
):
    make_due(add_query())
    claims.claim_batch(1, "UTC")
    other = Ownership(store, clock, "node-2")
    assert other.take_over(None) == []
    with store.begin() as connection:
        connection.execute(sa.update(tables.runs).values(lease_until=clock.now() - timedelta(seconds=60)))
    assert len(other.take_over(None)) == 1


def test_leases_are_extended_for_this_node_only(store, claims, ownership, clock, add_query, make_due):
    make_due(add_query())
    (claimed,) = claims.claim_batch(1, "UTC")
    with store.begin() as connection:
        connection.execute(sa.update(tables.runs).values(lease_until=None))
    Ownership(store, clock, "node-2").extend_leases([claimed.id])
    with store.connect() as connection:
        assert connection.scalar(sa.select(tables.runs.c.lease_until)) is None
    ownership.extend_leases([claimed.id])
    with store.connect() as connection:
        assert connection.scalar(sa.select(tables.runs.c.lease_until)) > clock.now()


def test_a_run_that_was_given_back_keeps_its_attempt(store, claims, ownership, clock, add_query, make_due):
    make_due(add_query())
    (first,) = claims.claim_batch(1, "UTC")
    ownership.release([first])
    (again,) = Ownership(store, clock, "node-2").take_over([""])
    assert again.attempt == 1


def test_a_cancel_is_seen_by_the_node_that_runs(store, claims, ownership, clock, add_query):
    query = add_query()
    assert ownership.request_cancel(query.id, "ada") is None
    claimed, _ = claims.start_now(query.id, "ada")
    other = Ownership(store, clock, "node-2")
    assert other.request_cancel(query.id, "bob") == claimed.id
    assert ownership.mine() == {claimed.id: "bob"}
    assert other.mine() == {}


def test_a_run_that_its_own_node_does_not_know_of_comes_to_its_end(
    store, claims, ownership, clock, add_query, make_due
):
    make_due(add_query())
    (lost,) = claims.claim_batch(1, "UTC")  # say, the connection broke at the commit
    with store.begin() as connection:
        connection.execute(sa.update(tables.runs).values(lease_until=clock.now() - timedelta(seconds=60)))
    ownership.extend_leases([lost.id + 1])
    assert [item.id for item in ownership.take_over(None)] == [lost.id]


def test_a_lane_is_not_kept_by_a_run_that_is_gone(store, claims, ownership, add_query, make_due):
    make_due(add_query())
    with store.begin() as connection:
        connection.execute(sa.update(tables.lanes).values(run_id=4711))
    ownership.free_orphaned_lanes()
    assert len(claims.claim_paced("UTC", 30)) == 1
    ownership.free_orphaned_lanes()
    make_due(add_query("another"))
    assert claims.claim_paced("UTC", 30) == []


@pytest.mark.parametrize("store", ["postgresql"], indirect=True)  # SQLite has one writer at a time
def test_a_lane_that_another_node_takes_while_we_free_it_is_theirs(store, ownership, add_query, clock):
    query, lanes = add_query(), tables.lanes
    with store.begin() as connection:
        connection.execute(sa.update(lanes).values(run_id=4711))
    with ThreadPoolExecutor(1) as other_thread:
        with store.begin() as connection:
            values = {"query_id": query.id, "source_id": 1, "trigger": "schedule", "node": "another"}
            run = sa.insert(tables.runs).values(values | {"claimed_at": clock.now()})
            run_id = connection.scalar(run.returning(tables.runs.c.id))
            connection.execute(sa.update(lanes).values(run_id=run_id))
            freeing = other_thread.submit(ownership.free_orphaned_lanes)
            until(lambda: is_waiting_for_a_lock(store))
        freeing.result(PATIENCE_S)
    with store.connect() as connection:
        assert connection.scalar(sa.select(lanes.c.run_id)) == run_id


def is_waiting_for_a_lock(store) -> bool:
    query = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with store.connect() as connection:
        return connection.scalar(sa.text(query)) is not None
