"""The time limit of a query: how it is chosen, and when its three steps are due."""

import time

import pytest
from plugbay_scheduled_query.executor.time_limit import (
    CANCEL_AFTER_S,
    END_AFTER_S,
    TimeLimit,
    chosen_limit_s,
)


@pytest.mark.parametrize(
    ("asked_for", "limit_s"),
    [(None, 30), (5, 5), (60, 60), (300, 300), (301, 300)],
)
def test_a_query_may_ask_for_another_limit_than_the_usual_one_up_to_the_longest(
    asked_for: int | None, limit_s: int
):
    assert chosen_limit_s(asked_for, usual=30, longest=300) == limit_s


def test_the_usual_limit_is_never_above_the_longest():
    assert chosen_limit_s(None, usual=30, longest=10) == 10


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> TimeLimit:
    """Five seconds, begun at 1000."""
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    begun = TimeLimit(5, connect_s=10)
    begun.run()
    return begun


def test_the_parent_waits_a_second_longer_than_the_database(limit: TimeLimit):
    assert (limit.deadline, limit.is_over) == (1005 + CANCEL_AFTER_S, False)


def test_a_second_after_the_cancel_the_runner_is_ended(limit: TimeLimit):
    limit.cancel()
    assert (limit.deadline, limit.is_over) == (1005 + CANCEL_AFTER_S + END_AFTER_S, True)


def test_connecting_has_a_limit_of_its_own_and_the_statement_all_of_its_time(limit: TimeLimit):
    limit.connect()
    assert (limit.deadline, limit.is_connecting) == (1010 + CANCEL_AFTER_S + END_AFTER_S, True)
    limit.run()
    assert (limit.deadline, limit.is_connecting) == (1005 + CANCEL_AFTER_S, False)
