"""The state machine, against a model that is slow and obvious."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.alerting.conditions import StaleCondition
from plugbay_scheduled_query.core.alerting.judging import follow, judge_age
from plugbay_scheduled_query.core.alerting.model import Standing, State

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


def last_in_a_row(verdicts: list[bool], wanted: bool) -> int:
    """How many of the last judgements said so without a break."""
    for count, verdict in enumerate(reversed(verdicts)):
        if verdict is not wanted:
            return count
    return len(verdicts)


def model(verdicts: list[bool], for_runs: int, recover_runs: int) -> State:
    """Looks at the whole past anew for each moment: it fires from so many trues on to so many falses."""
    is_firing = False
    for end in range(1, len(verdicts) + 1):
        past = verdicts[:end]
        if last_in_a_row(past, True) >= for_runs:
            is_firing = True
        elif last_in_a_row(past, False) >= recover_runs:
            is_firing = False
    if not verdicts:
        return State.UNKNOWN
    if is_firing:
        return State.FIRING
    return State.PENDING if verdicts[-1] else State.OK


@given(st.lists(st.booleans(), max_size=40), st.integers(1, 5), st.integers(1, 5))
def test_the_state_is_what_the_whole_past_says(verdicts: list[bool], for_runs: int, recover_runs: int):
    standing = Standing()
    for end, is_true in enumerate(verdicts, 1):
        standing = follow(standing, is_true, for_runs, recover_runs)
        assert standing.state is model(verdicts[:end], for_runs, recover_runs)


def test_it_fires_at_once_unless_told_to_wait():
    assert follow(Standing(), True, 1, 1).state is State.FIRING
    assert follow(Standing(), True, 2, 1) == Standing(State.PENDING, 1)


def test_one_good_run_breaks_a_row_of_bad_ones():
    standing = Standing(State.PENDING, 2)
    assert follow(standing, False, 3, 1) == Standing(State.OK)


@pytest.mark.parametrize(("seconds", "is_true", "minutes"), [(299, False, 4), (300, True, 5), (360, True, 6)])
def test_stale_is_true_from_the_minute_on_that_was_asked_for(seconds: int, is_true: bool, minutes: int):
    found = judge_age(StaleCondition(5), NOON, NOON + timedelta(seconds=seconds))
    assert (found.is_true, found.value) == (is_true, minutes)
