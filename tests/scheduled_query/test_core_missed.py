"""Counting the cron times that went by: exactly, and without walking through them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from plugbay_scheduled_query.core import schedule as schedules
from plugbay_scheduled_query.core.schedule import Advance, Schedule, advance, parse, passed_over, zone

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
YEAR = timedelta(days=365)


def walked(schedule: Schedule, timezone: str, due_at: datetime, now: datetime) -> int:
    """The same number the slow way: from each time to the next."""
    total, tz = 0, zone(timezone)
    while (due_at := schedule.next_after(due_at, tz)) <= now:
        total += 1
    return total


# --- what claiming a due time leads to -------------------------------------------------------------------


def test_in_time_nothing_is_missed() -> None:
    assert advance("* * * * *", "UTC", NOON, NOON) == Advance(NOON + MINUTE, 0)
    assert advance("* * * * *", "UTC", NOON, NOON + timedelta(seconds=59)) == Advance(NOON + MINUTE, 0)


def test_a_minute_late_one_time_is_passed_over() -> None:
    assert advance("* * * * *", "UTC", NOON, NOON + MINUTE) == Advance(NOON + 2 * MINUTE, 1)


def test_after_downtime_all_times_but_the_due_one_are_passed_over() -> None:
    late = NOON + timedelta(hours=3, minutes=2)
    assert advance("*/5 * * * *", "UTC", NOON, late) == Advance(NOON + timedelta(hours=3, minutes=5), 36)


def test_a_clock_set_back_leads_on_from_the_due_time() -> None:
    assert advance("* * * * *", "UTC", NOON, NOON - timedelta(hours=1)) == Advance(NOON + MINUTE, 0)


def test_the_time_zone_of_the_query_counts() -> None:
    due = datetime(2026, 11, 15, 5, 0, tzinfo=UTC)  # six o'clock in Berlin
    assert advance("0 6 * * *", "Europe/Berlin", due, due + timedelta(days=3)) == Advance(
        due + timedelta(days=4), 3
    )


# --- the number itself -----------------------------------------------------------------------------------


def test_before_the_due_time_nothing_was_passed_over() -> None:
    assert passed_over(parse("* * * * *"), UTC, NOON, NOON) == 0
    assert passed_over(parse("* * * * *"), UTC, NOON, NOON - YEAR) == 0


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("* * * * *", 525_600),
        ("*/5 * * * *", 105_120),
        ("0 * * * *", 8_760),
        ("30 2 * * *", 365),
        ("0 6 * * 1", 52),
        ("0 0 1 * *", 12),
        ("0 0 29 2 *", 0),
        ("@yearly", 1),
    ],
)
@pytest.mark.parametrize("timezone", ["UTC", "Europe/Berlin", "Asia/Kathmandu"])
def test_a_year_of_downtime_is_counted_in_full(expression: str, expected: int, timezone: str) -> None:
    assert passed_over(parse(expression), zone(timezone), NOON - YEAR, NOON) == expected


def test_a_year_of_every_minute_is_not_walked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(schedules, "_count_one_by_one", lambda *args: asked.append(args) or 0)
    assert passed_over(parse("* * * * *"), zone("America/Denver"), NOON - YEAR, NOON) == 525_600
    assert not asked


def test_the_repeated_hour_counts_twice_for_a_star_and_once_for_a_fixed_time() -> None:
    # Berlin, 25 October 2026: 25 hours
    start = datetime(2026, 10, 24, 22, 0, tzinfo=UTC) - timedelta(seconds=1)
    end = start + timedelta(hours=25)
    assert passed_over(parse("0 * * * *"), zone("Europe/Berlin"), start, end) == 25
    assert passed_over(parse("*/30 2 * * *"), zone("Europe/Berlin"), start, end) == 4
    assert passed_over(parse("0,30 2 * * *"), zone("Europe/Berlin"), start, end) == 2


EXPRESSIONS = st.sampled_from(
    [
        *("*/45 * * * *", "*/20 0 * * *", "*/20 2 * * *", "30 2 * * *", "0,30 2 * * *", "30 2,3 * * *"),
        *("30 */2 * * *", "0 0 * * *", "30 23 * * *", "59 23 * * *", "0 0,23 * * *", "10-50/7 1-3 * * *"),
        *("15 0 * * 0", "*/15 23 * * 6", "5 2 29 3 *", "0 12 L * *", "0 9 1-7 * MON", "5 0-23 * * *"),
    ]
)
ZONES = st.sampled_from(
    [
        *("UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Nuuk", "America/Havana", "Africa/Cairo"),
        *("Atlantic/Azores", "America/Santiago", "Africa/Casablanca", "Antarctica/Troll", "Asia/Kathmandu"),
    ]
)


@given(
    EXPRESSIONS,
    ZONES,
    st.integers(0, 800_000).map(lambda n: datetime(2025, 1, 1, tzinfo=UTC) + n * MINUTE),
    st.integers(0, 60 * 24 * 3600),
)
@example("30 23 * * *", "America/Nuuk", datetime(2026, 3, 27, tzinfo=UTC), 5 * 24 * 3600)
@example("*/20 0 * * *", "Australia/Lord_Howe", datetime(2026, 10, 1, tzinfo=UTC), 9 * 24 * 3600)
@example("30 2 * * *", "Europe/Berlin", datetime(2026, 10, 24, tzinfo=UTC), 3 * 24 * 3600)
def test_the_number_is_that_of_walking_from_time_to_time(
    expression: str, timezone: str, begin: datetime, seconds: int
) -> None:
    schedule, tz = parse(expression), zone(timezone)
    due_at = schedule.next_after(begin, tz)
    now = due_at + timedelta(seconds=seconds)
    assert passed_over(schedule, tz, due_at, now) == walked(schedule, timezone, due_at, now)


@given(EXPRESSIONS, ZONES, st.integers(0, 500_000), st.integers(0, 100_000), st.integers(0, 100_000))
def test_two_waits_add_up_to_one(expression: str, timezone: str, start: int, one: int, two: int) -> None:
    schedule, tz = parse(expression), zone(timezone)
    first = schedule.next_after(datetime(2025, 6, 1, tzinfo=UTC) + start * MINUTE, tz)
    middle = schedule.next_after(first + one * MINUTE, tz)
    last = middle + two * MINUTE
    whole = passed_over(schedule, tz, first, last)
    assert passed_over(schedule, tz, first, middle) + passed_over(schedule, tz, middle, last) == whole
