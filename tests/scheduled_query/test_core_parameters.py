"""Request parameters read strictly, and times as the API writes them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.paging import BadParameter, Period, period
from plugbay_scheduled_query.core.text import as_utc, format_utc

STATUSES = ("all", "success", "failed", "timeout")


# --- periods ---------------------------------------------------------------------------------------------


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


def test_days_are_inclusive_at_both_ends() -> None:
    assert period("2026-11-01", "2026-11-15") == Period(utc(2026, 11, 1), utc(2026, 11, 16))
    assert period("2026-11-15", "2026-11-15") == Period(utc(2026, 11, 15), utc(2026, 11, 16))


def test_seconds_are_inclusive_at_both_ends() -> None:
    assert period("2026-11-15 12:00:00", "2026-11-15 12:00:00") == Period(
        utc(2026, 11, 15, 12, 0, 0), utc(2026, 11, 15, 12, 0, 1)
    )


def test_an_end_left_out_is_open() -> None:
    assert period(None, None) == Period(None, None)
    assert period("", "") == Period(None, None)
    assert period("2026-11-15", None) == Period(utc(2026, 11, 15), None)
    assert period(None, "2026-11-15") == Period(None, utc(2026, 11, 16))


def test_the_last_day_of_the_calendar_has_an_end() -> None:
    assert period(None, "9999-12-31").until == datetime.max.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "2026-11-15T12:00:00",
            "2026-11-15 12:00",
            "15.11.2026",
            "2026-1-1",
            "20261115",
            "now",
            " 2026-11-15",
        ),
        *("2026-11-15 12:00:00Z", "2026-W46", "２０２６-11-15", "2026-11-15 12:00:00.5", "0"),
    ],
)
def test_other_ways_to_write_a_date_are_refused(text: str) -> None:
    with pytest.raises(BadParameter, match="date_from must be YYYY-MM-DD or YYYY-MM-DD HH:MM:SS, in UTC"):
        period(text, None)


@pytest.mark.parametrize("text", ["2026-02-30", "2026-13-01", "0000-01-01", "2026-11-15 24:00:01"])
def test_a_date_that_is_not_in_the_calendar_is_refused(text: str) -> None:
    with pytest.raises(BadParameter, match="date_to is not a date of the calendar"):
        period(None, text)


def test_a_period_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(BadParameter, match="date_from must not be later than date_to"):
        period("2026-11-16", "2026-11-15")


# --- times -----------------------------------------------------------------------------------------------


def test_times_are_written_in_utc_to_the_second() -> None:
    berlin = timezone(timedelta(hours=1))
    assert format_utc(datetime(2026, 11, 15, 13, 5, 6, 999_999, tzinfo=berlin)) == "2026-11-15 12:05:06"


def test_what_has_not_happened_stays_none() -> None:
    assert format_utc(None) is None


def test_a_time_of_the_store_is_utc_already() -> None:
    stored = datetime(2026, 11, 15, 12, 0)  # noqa: DTZ001
    assert format_utc(stored) == "2026-11-15 12:00:00"
    assert as_utc(stored).tzinfo is UTC


def test_early_years_keep_their_zeros() -> None:
    assert format_utc(datetime(999, 1, 2, 3, 4, 5, tzinfo=UTC)) == "0999-01-02 03:04:05"


@given(st.datetimes(timezones=st.just(UTC)).filter(lambda moment: moment.year < 9999))
def test_what_is_written_is_read_as_the_same_second(moment: datetime) -> None:
    second = moment.replace(microsecond=0)
    text = format_utc(second)
    assert period(text, text) == Period(second, second + timedelta(seconds=1))
