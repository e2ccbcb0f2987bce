"""Another time zone in the settings, and what becomes of the next times."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.repository import retiming
from plugbay_scheduled_query.repository.retiming import Retiming

FUTURE = datetime(2130, 1, 1, tzinfo=UTC)


@pytest.fixture
def follow(store, clock):
    return Retiming(store, clock).follow


@pytest.fixture
def hour_of(definitions):
    return lambda query: definitions.get(query.id).next_run_at.hour


def test_a_schedule_without_a_zone_goes_by_the_new_one_at_once(follow, add_query, hour_of):
    follow("UTC")
    plain, own = (
        add_query(cron_schedule="0 20 * * *"),
        add_query(cron_schedule="0 20 * * *", timezone="Asia/Shanghai"),
    )
    assert (hour_of(plain), hour_of(own)) == (20, 12)
    follow("Asia/Tokyo")
    assert (hour_of(plain), hour_of(own)) == (11, 12)


def test_a_zone_that_is_followed_already_moves_nothing(follow, add_query, make_due, definitions):
    follow("UTC")
    query = add_query(cron_schedule="0 20 * * *")
    odd = make_due(query, -90)
    follow("UTC")
    assert definitions.get(query.id).next_run_at == odd


def test_what_is_due_stays_due_and_what_is_disabled_stays_disabled(
    follow, add_query, make_due, definitions, clock
):
    follow("UTC")
    due, disabled = add_query(), add_query(enabled=False)
    at = make_due(due)
    follow("Asia/Tokyo")
    assert definitions.get(due.id).next_run_at == at
    assert definitions.get(disabled.id).next_run_at is None


def test_however_many_there_are_all_are_moved(follow, add_query, hour_of, monkeypatch):
    follow("UTC")
    queries = [add_query(f"q{n}", cron_schedule="0 20 * * *") for n in range(5)]
    monkeypatch.setattr(retiming, "STEP", 2)
    monkeypatch.setattr(retiming, "_STEP", retiming._STEP.limit(2))
    follow("Asia/Tokyo")
    assert {hour_of(query) for query in queries} == {11}


def claimed_by_a_wrong_clock(store, query) -> None:
    """As if it had been another year for a while."""
    with store.begin() as connection:
        connection.execute(
            sa.update(tables.queries)
            .where(tables.queries.c.id == query.id)
            .values(last_due_at=FUTURE, next_run_at=FUTURE + timedelta(minutes=1))
        )


def test_what_a_clock_far_ahead_claimed_is_called_back(store, clock, add_query, definitions, caplog):
    lost, kept = add_query("lost", cron_schedule="* * * * *"), add_query("kept")
    claimed_by_a_wrong_clock(store, lost)
    Retiming(store, clock).mend("UTC")
    assert definitions.get(lost.id).next_run_at < clock.now() + timedelta(minutes=2)
    assert definitions.get(kept.id).next_run_at == kept.next_run_at
    assert "called_back_from_the_future query=lost" in caplog.text


def test_one_whose_zone_left_the_machine_is_called_back_too_and_keeps_nobody(
    store, clock, claims, add_query, definitions
):
    queries = [add_query("strange"), add_query("lost")]
    for query in queries:
        claimed_by_a_wrong_clock(store, query)
    with store.begin() as connection:
        strange = sa.update(tables.queries).where(tables.queries.c.id == queries[0].id)
        connection.execute(strange.values(timezone="Mars/Olympus"))
    Retiming(store, clock).mend("UTC")
    assert all(definitions.get(query.id).next_run_at < FUTURE for query in queries)
    (claimed,) = claims.claim_batch(10, "UTC")
    assert (claimed.query_name, "Mars/Olympus" in claimed.problem) == ("strange", True)


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)  # PostgreSQL brings a clock of its own
def test_each_minute_it_is_looked_for_only_after_the_clock_was_set_back(store, clock, add_query, definitions):
    keeper, query = Retiming(store, clock), add_query()
    claimed_by_a_wrong_clock(store, query)
    clock.advance(60)
    keeper.mend_after_set_back("UTC")
    assert definitions.get(query.id).next_run_at > FUTURE
    clock.jump(-30)
    keeper.mend_after_set_back("UTC")
    assert definitions.get(query.id).next_run_at < FUTURE
