"""Another time zone in the settings, and what becomes of the next times."""

from datetime import UTC, datetime

import pytest
from fakes import FakeClock
from plugbay_scheduled_query.repository import retiming
from plugbay_scheduled_query.repository.retiming import Retiming


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 11, 15, 12, 0, tzinfo=UTC))


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
        add_query(cron_schedule="0 20 * * *", timezone="Asia/Tokyo"),
    )
    assert (hour_of(plain), hour_of(own)) == (20, 11)
    follow("Europe/Berlin")
    assert (hour_of(plain), hour_of(own)) == (19, 11)


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
    follow("Europe/Berlin")
    assert definitions.get(due.id).next_run_at == at
    assert definitions.get(disabled.id).next_run_at is None


def test_however_many_there_are_all_are_moved(follow, add_query, hour_of, monkeypatch):
    follow("UTC")
    queries = [add_query(f"q{n}", cron_schedule="0 20 * * *") for n in range(5)]
    monkeypatch.setattr(retiming, "STEP", 2)
    monkeypatch.setattr(retiming, "_STEP", retiming._STEP.limit(2))
    follow("Europe/Berlin")
    assert {hour_of(query) for query in queries} == {19}
