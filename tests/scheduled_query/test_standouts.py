"""Who was slow and who failed in a span: counted once, kept up with what is recorded, and counted anew."""

from datetime import timedelta

import pytest
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.repository.standouts import LIFE, Standouts

DAY = timedelta(days=1)


@pytest.fixture
def standouts(store, clock):
    return Standouts(store, clock)


@pytest.fixture
def ran(store, clock, claims, recording, finished):
    """Records an execution of a query, some time ago."""

    def record(query, ms=5, status="success", ago=timedelta()):
        run, _ = claims.start_now(query.id, "ada")
        ended = finished(run, status, duration_ms=ms, executed_at=clock.now() - ago)
        recording.record([ended], clock.now(), Keeping())

    return record


def amounts(found):
    return [(one.name, one.amount) for one in found]


def test_the_longest_execution_of_the_span_counts(standouts, add_query, ran):
    quick, slow = add_query("Quick"), add_query("Slow")
    ran(quick, 10)
    ran(slow, 70)
    ran(slow, 20)
    ran(quick, 9_000, ago=2 * DAY)
    assert amounts(standouts.slowest(DAY, 5)) == [("Slow", 70), ("Quick", 10)]
    assert amounts(standouts.slowest(3 * DAY, 1)) == [("Quick", 9_000)]


def test_failures_and_timeouts_of_the_span_are_counted(standouts, add_query, ran):
    good, bad = add_query("Good"), add_query("Bad")
    ran(good)
    for status in ("failed", "timeout"):
        ran(bad, status=status)
    ran(good, status="failed", ago=2 * DAY)
    assert amounts(standouts.most_failing(DAY, 5)) == [("Bad", 2)]


def test_what_is_recorded_later_is_added(standouts, add_query, ran):
    query = add_query("Orders")
    ran(query, 5)
    assert amounts(standouts.slowest(DAY, 5)) == [("Orders", 5)]
    ran(query, 8, status="failed")
    assert amounts(standouts.slowest(DAY, 5)) == [("Orders", 8)]
    assert amounts(standouts.most_failing(DAY, 5)) == [("Orders", 1)]


def test_the_deleted_vanish_and_what_is_too_old_before_long(standouts, add_query, ran, definitions, clock):
    gone, old = add_query("Gone"), add_query("Old")
    ran(gone, 7)
    ran(old, 6, ago=DAY - timedelta(minutes=5))
    assert len(standouts.slowest(DAY, 5)) == 2
    definitions.delete(gone.id)
    assert amounts(standouts.slowest(DAY, 5)) == [("Old", 6)]
    clock.advance(LIFE.total_seconds())
    assert standouts.slowest(DAY, 5) == []


def test_nothing_ran(standouts):
    assert (standouts.slowest(DAY, 5), standouts.most_failing(DAY, 5)) == ([], [])
