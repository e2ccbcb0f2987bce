"""When a query is due: what is accepted, what is refused and how, and which time comes next."""

from datetime import UTC, datetime, timedelta

import pytest
from cronsim import CronSim
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.schedule import (
    LONGEST_CRON,
    SHORTHANDS,
    BadCron,
    Schedule,
    next_run,
    parse,
    zone,
)

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)  # a Sunday


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def times(expression: str, after: str, timezone: str, count: int) -> list[str]:
    """The next times as the clock on the wall shows them, with the distance from UTC."""
    tz = zone(timezone)
    begin = datetime.fromisoformat(after)
    found = parse(expression).next_times(begin if begin.tzinfo else begin.replace(tzinfo=tz), tz, count)
    return [moment.astimezone(tz).isoformat(" ", "minutes") for moment in found]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("* * * * *", "2026-11-15 12:01"),
        ("*/5 * * * *", "2026-11-15 12:05"),
        ("0 * * * *", "2026-11-15 13:00"),
        ("30 2 * * *", "2026-11-16 02:30"),
        ("0 6 * * 1", "2026-11-16 06:00"),
        ("0 6 * * MON", "2026-11-16 06:00"),
        ("0 6 * * mon-fri", "2026-11-16 06:00"),
        ("0 0 1 * *", "2026-12-01 00:00"),
        ("0 0 1 JAN *", "2027-01-01 00:00"),
        ("0 0 29 2 *", "2028-02-29 00:00"),
        ("0 0 L * *", "2026-11-30 00:00"),
        ("0 0 * * 1#2", "2026-12-14 00:00"),
        ("@hourly", "2026-11-15 13:00"),
        ("@daily", "2026-11-16 00:00"),
        ("@weekly", "2026-11-22 00:00"),
        ("@monthly", "2026-12-01 00:00"),
        ("@yearly", "2027-01-01 00:00"),
    ],
)
def test_the_next_time_of_a_schedule(expression: str, expected: str) -> None:
    assert parse(expression).next_after(NOON) == utc(expected)


def test_zero_and_seven_are_both_sunday() -> None:
    assert (
        parse("0 6 * * 0").next_after(NOON) == parse("0 6 * * 7").next_after(NOON) == utc("2026-11-22 06:00")
    )


def test_day_of_month_and_day_of_week_are_alternatives() -> None:
    assert times("0 0 20 * 1", "2026-11-15 12:00", "UTC", 3) == [
        "2026-11-16 00:00+00:00",  # a Monday
        "2026-11-20 00:00+00:00",  # the twentieth
        "2026-11-23 00:00+00:00",
    ]


def test_the_next_time_is_later_than_the_moment_asked_about_even_by_a_microsecond() -> None:
    schedule = parse("* * * * *")
    assert schedule.next_after(NOON) == NOON + timedelta(minutes=1)
    assert schedule.next_after(NOON - timedelta(microseconds=1)) == NOON
    assert schedule.next_after(NOON + timedelta(seconds=59)) == NOON + timedelta(minutes=1)


def test_spaces_and_capitals_do_not_matter() -> None:
    assert parse("  */5\t* *  * * ") == parse("*/5 * * * *")
    assert parse("*/5  * * * *").expression == "*/5 * * * *"
    assert parse("@Daily").expression == "@daily"


def test_a_stored_schedule_is_asked_by_its_texts() -> None:
    assert next_run("0 6 * * *", "Europe/Berlin", NOON) == utc("2026-11-16 05:00")


def test_next_times_follow_each_other() -> None:
    assert parse("*/20 * * * *").next_times(NOON, count=3) == [
        NOON + timedelta(minutes=n) for n in (20, 40, 60)
    ]
    assert parse("* * * * *").next_times(NOON, count=0) == []


# --- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("", "a cron expression is needed"),
        ("   ", "a cron expression is needed"),
        ("*", "has five fields"),
        ("* * * *", "this one has 4"),
        ("0 * * * * *", "this one has 6"),
        ("60 * * * *", "the minute “60” is not valid: it takes 0 to 59"),
        ("* 24 * * *", "the hour “24” is not valid: it takes 0 to 23"),
        ("* * 32 * *", "the day of month “32” is not valid: it takes 1 to 31"),
        ("* * * 13 *", "the month “13” is not valid: it takes 1 to 12 or JAN to DEC"),
        ("* * * * 8", "the day of week “8” is not valid: it takes 0 to 7 or SUN to SAT"),
        ("*/0 * * * *", "the minute “*/0” is not valid"),
        ("5-1 * * * *", "the minute “5-1” is not valid"),
        ("1, * * * *", "the minute “1,” is not valid"),
        ("* * 1,99 * *", "the day of month “1,99” is not valid"),
        ("@reboot", "“@reboot” is not known; there are @hourly"),
        ("@annually", "is not known"),
        ("é * * * *", "“é” has a character that no cron field can have"),
        ("* * * * ſun", "has a character that no cron field can have"),
        ("1.5 * * * *", "has a character that no cron field can have"),
        ("\x00 * * * *", "has a character that no cron field can have"),
        ("\ud800 * * * *", "has a character that no cron field can have"),
    ],
)
def test_a_bad_expression_is_refused_with_a_sentence(expression: str, words: str) -> None:
    with pytest.raises(BadCron) as refusal:
        parse(expression)
    assert words in str(refusal.value)
    assert str(refusal.value).encode()  # fit for a page, whatever was sent


@pytest.mark.parametrize("expression", ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 LW * */7"])
def test_an_expression_that_never_fires_is_refused(expression: str) -> None:
    with pytest.raises(BadCron, match="never fires"):
        parse(expression)


def test_a_rare_expression_is_not_taken_for_one_that_never_fires() -> None:
    assert parse("0 0 * 2 MON#5").next_after(NOON) == utc("2044-02-29 00:00")


def test_128_characters_are_allowed_and_129_are_not() -> None:
    longest = ",".join(["1"] * 60) + " * * * *"
    longest = longest + " " * (LONGEST_CRON - len(longest))
    assert parse(longest)
    with pytest.raises(BadCron, match="at most 128 characters; this one has 129"):
        parse(longest + " ")


@given(st.text(max_size=140))
def test_any_text_is_a_schedule_or_refused(text: str) -> None:
    try:
        assert isinstance(parse(text), Schedule)
    except BadCron as refusal:
        message = str(refusal)
    else:
        message = ""
    assert message.isprintable()


# --- clock changes, as cronsim does them -----------------------------------------------------------------
# Berlin 2026: on 29 March 02:00 becomes 03:00, on 25 October 03:00 becomes 02:00.


def test_a_fixed_time_in_the_gap_runs_once_right_after_it() -> None:
    assert times("30 2 * * *", "2026-03-28 12:00", "Europe/Berlin", 2) == [
        "2026-03-29 03:00+02:00",
        "2026-03-30 02:30+02:00",
    ]


def test_two_fixed_times_in_the_gap_run_once_together() -> None:
    assert times("0,30 2 * * *", "2026-03-28 12:00", "Europe/Berlin", 2) == [
        "2026-03-29 03:00+02:00",
        "2026-03-30 02:00+02:00",
    ]


def test_a_fixed_time_in_the_repeated_hour_runs_once() -> None:
    assert times("30 2 * * *", "2026-10-24 12:00", "Europe/Berlin", 2) == [
        "2026-10-25 02:30+02:00",
        "2026-10-26 02:30+01:00",
    ]


def test_asked_within_the_second_pass_of_the_repeated_hour_a_fixed_time_is_over() -> None:
    second_pass = "2026-10-25 02:10+01:00"
    assert times("30 2 * * *", second_pass, "Europe/Berlin", 1) == ["2026-10-26 02:30+01:00"]
    assert times("30 2,3 * * *", second_pass, "Europe/Berlin", 1) == ["2026-10-25 03:30+01:00"]


def test_a_schedule_with_a_star_goes_by_elapsed_time_through_the_repeated_hour() -> None:
    assert times("*/30 * * * *", "2026-10-25 01:45", "Europe/Berlin", 5) == [
        "2026-10-25 02:00+02:00",
        "2026-10-25 02:30+02:00",
        "2026-10-25 02:00+01:00",
        "2026-10-25 02:30+01:00",
        "2026-10-25 03:00+01:00",
    ]


def test_a_schedule_with_a_star_goes_by_elapsed_time_over_the_gap() -> None:
    assert times("15 * * * *", "2026-03-29 00:30", "Europe/Berlin", 3) == [
        "2026-03-29 01:15+01:00",
        "2026-03-29 03:15+02:00",
        "2026-03-29 04:15+02:00",
    ]


def test_a_gap_before_midnight_moves_the_run_into_the_next_day() -> None:
    # Nuuk 2026: on 28 March 23:00 becomes 00:00 of the 29th
    assert times("30 23 * * *", "2026-03-28 12:00", "America/Nuuk", 2) == [
        "2026-03-29 00:00-01:00",
        "2026-03-29 23:30-01:00",
    ]


def test_in_utc_every_day_is_the_same() -> None:
    assert times("30 2 * * *", "2026-03-28 12:00", "UTC", 2) == [
        "2026-03-29 02:30+00:00",
        "2026-03-30 02:30+00:00",
    ]


ZONES = [
    *("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Nuuk", "Africa/Cairo"),
    *("America/Havana", "Asia/Kathmandu", "Antarctica/Troll", "UTC"),
]
MOMENTS = st.integers(0, 3 * 365 * 86_400).map(
    lambda n: datetime(2025, 1, 1, tzinfo=UTC) + timedelta(seconds=n)
)


@given(
    st.sampled_from(
        ["* * * * *", "*/20 * * * *", "30 2 * * *", "0,30 1-3 * * *", "5 */2 * * 0", "0 0 1 * *"]
    ),
    st.sampled_from(ZONES),
    MOMENTS,
)
def test_the_next_time_is_later_and_nothing_lies_between(expression: str, name: str, after: datetime) -> None:
    schedule, tz = parse(expression), zone(name)
    due = schedule.next_after(after, tz)
    assert due > after
    assert due.tzinfo is UTC
    # asked again from anywhere before it, the answer is the same
    assert schedule.next_after(after + (due - after) / 2, tz) == due
    assert schedule.next_after(due - timedelta(microseconds=1), tz) == due


@given(st.sampled_from([*SHORTHANDS.values(), "*/7 3-5 * * 1-5", "0 12 L * *"]), MOMENTS)
def test_in_utc_the_next_time_is_that_of_cronsim(expression: str, after: datetime) -> None:
    assert parse(expression).next_after(after) == next(CronSim(expression, after))


def test_a_moment_without_a_zone_is_taken_as_utc() -> None:
    assert parse("0 * * * *").next_after(datetime(2026, 11, 15, 12, 30)) == utc("2026-11-15 13:00")  # noqa: DTZ001


def test_a_zone_that_was_not_whole_minutes_from_utc_does_not_stop_the_search() -> None:
    # Monrovia was 44 min 30 s behind UTC until 1972
    tz = zone("Africa/Monrovia")
    after = datetime(1971, 1, 1, 0, 0, 29, tzinfo=UTC)
    assert parse("* * * * *").next_after(after, tz) == datetime(1971, 1, 1, 0, 0, 30, tzinfo=UTC)
    assert parse("* * * * *").next_after(datetime(1971, 1, 1, 0, 0, 31, tzinfo=UTC), tz).second == 30


def test_the_end_of_the_calendar_is_an_error_with_a_name() -> None:
    with pytest.raises((BadCron, OverflowError)):
        parse("0 0 29 2 *").next_after(datetime(9999, 12, 31, tzinfo=UTC))
