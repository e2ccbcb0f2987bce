"""Schedules in words, as they stand in the list of queries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.schedule import BadCron, parse
from plugbay_scheduled_query.core.schedule_words import in_words


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("* * * * *", "every minute"),
        ("*/5 * * * *", "every 5 minutes"),
        ("0/5 * * * *", "every 5 minutes"),
        ("3-59/10 * * * *", "every 10 minutes from :03"),
        ("0 * * * *", "hourly"),
        ("@hourly", "hourly"),
        ("5 * * * *", "hourly at :05"),
        ("0 */6 * * *", "every 6 hours"),
        ("15 */6 * * *", "every 6 hours at :15"),
        ("30 2 * * *", "daily at 02:30"),
        ("@daily", "daily at 00:00"),
        ("0 6 * * 1", "Mondays at 06:00"),
        ("0 6 * * 7", "Sundays at 06:00"),
        ("0 6 * * mon", "Mondays at 06:00"),
        ("0 6 * * 1,WED,5", "Mondays, Wednesdays and Fridays at 06:00"),
        ("0 6 * * 1-5", "weekdays at 06:00"),
        ("0 6 * * MON-FRI", "weekdays at 06:00"),
        ("0 6 * * 6,0", "weekends at 06:00"),
        ("@weekly", "Sundays at 00:00"),
        ("0 0 1 * *", "monthly on day 1 at 00:00"),
        ("@monthly", "monthly on day 1 at 00:00"),
        ("0 0 1 1 *", "yearly on 1 January at 00:00"),
        ("@yearly", "yearly on 1 January at 00:00"),
    ],
)
def test_usual_schedules_are_told_briefly(expression: str, words: str) -> None:
    assert in_words(parse(expression)) == words


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("*/7 * * * *", "every seventh minute of every hour"),  # 56 to 00 is not seven minutes
        ("0 */5 * * *", "at minute 0 past every fifth hour"),
        ("40/5 * * * *", "every fifth minute from 40 through 59 of every hour"),
        ("30 2,14 * * *", "at 02:30 and 14:30 every day"),
        ("0 0 L * *", "at 00:00 on the last day of every month"),
        ("0 0 * * 1#2", "at 00:00 on the second Monday of the month"),
        ("0 0 22 * 1", "at 00:00 on the 22nd day of month and on Monday"),
        ("0 0 1,11,21,31 * *", "at 00:00 on the first, the 11th, the 21st, and the 31st day of month"),
        ("0 6 * * 1-4", "at 06:00 on Monday through Thursday"),
    ],
)
def test_other_schedules_are_told_as_cronsim_does(expression: str, words: str) -> None:
    assert in_words(parse(expression)) == words


def test_what_is_not_evenly_spaced_is_not_called_so() -> None:
    assert "every 45 minutes" not in in_words(parse("*/45 * * * *"))


TERMS = [
    *(
        "*",
        "*/5",
        "*/7",
        "1",
        "0",
        "5-9",
        "5-9/2",
        "1,2",
        "L",
        "LW",
        "MON",
        "SUN-SAT",
        "1#2",
        "5L",
        "JAN",
        "60",
    ),
    *("7", "0-7", "L/2", "MON#5", "mon-fri", "*,*", "1,*/2", "0-0", "L,15", "31", "12", "07", "6L,1", "1/7"),
]


@given(st.lists(st.sampled_from(TERMS), min_size=5, max_size=5))
def test_every_schedule_can_be_told(terms: list[str]) -> None:
    try:
        schedule = parse(" ".join(terms))
    except BadCron:
        return
    words = in_words(schedule)
    assert words
    assert words.isprintable()
