"""Executions over time: counted once, kept up with what is recorded, and counted anew before long."""

from datetime import timedelta

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query.repository.overview import LIFE, Activity
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.tables import history

DAY = timedelta(days=1)


@pytest.fixture
def activity(store, clock) -> Activity:
    return Activity(store, clock)


@pytest.fixture
def run(claims, recording, finished, clock, add_query):
    """Runs a query so long ago."""
    query = add_query()

    def make(status: str = "success", ago: timedelta = timedelta()) -> None:
        claimed, _ = claims.start_now(query.id, "ada")
        recording.record([finished(claimed, status, executed_at=clock.now() - ago)], clock.now(), Keeping())

    return make


def test_each_hour_and_day_tells_how_its_executions_ended(activity, run, clock):
    run()
    run("failed")
    run(ago=timedelta(hours=2))
    run(ago=timedelta(days=3))
    hour = clock.now().replace(minute=0, second=0, microsecond=0)
    assert activity.by_time(DAY) == {
        "success": {hour: 1, hour - timedelta(hours=2): 1},
        "failed": {hour: 1},
    }
    by_day = activity.by_time(30 * DAY, by_day=True)
    assert by_day["success"][hour.replace(hour=0) - 3 * DAY] == 1
    assert sum(by_day["success"].values()) == 3


def test_what_is_recorded_meanwhile_counts_at_once_also_if_it_began_long_ago(activity, run):
    run()
    assert totals(activity) == {"success": 1}
    run("failed", ago=timedelta(hours=5))
    run(ago=2 * DAY)
    run()
    assert totals(activity) == {"success": 2, "failed": 1}
    assert totals(activity) == {"success": 2, "failed": 1}


def test_what_was_deleted_is_forgotten_within_a_minute(activity, run, store, clock):
    run()
    run("failed")
    assert totals(activity) == {"success": 1, "failed": 1}
    with store.begin() as connection:
        connection.execute(sa.delete(history).where(history.c.status == "failed"))
    clock.advance(LIFE.total_seconds())
    assert totals(activity) == {"success": 1}


def test_only_what_is_new_is_read(activity, run, store):
    run()
    activity.by_time(DAY)
    with store.begin() as connection:
        connection.execute(sa.update(history).values(status="failed"))
    run()
    assert totals(activity) == {"success": 2}


def totals(activity: Activity) -> dict[str, int]:
    return {status: sum(found.values()) for status, found in activity.by_time(DAY).items()}
