"""How often schedules start runs, how to keep them apart, and whether a source can keep up with them."""

from datetime import UTC, datetime

import pytest
from plugbay_scheduled_query.core.capacity import (
    Load,
    Pace,
    measure,
    starts_by_hour,
    starts_per_day,
    starts_per_hour,
    warning,
)
from plugbay_scheduled_query.core.schedule import parse

WINTER = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
SUMMER = datetime(2026, 7, 15, 12, 0, tzinfo=UTC)
ONE_LANE = Pace(interval_s=30, max_parallel=8)
PARALLEL = Pace(interval_s=0, max_parallel=8)


# --- cadence ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "per_day"),
    [
        ("* * * * *", 1440),
        ("*/5 * * * *", 288),
        ("0 * * * *", 24),
        ("30 2 * * *", 1),
        ("0 6 * * 1", 1 / 7),
        ("0 0 1 * *", 48 / 1461),
        ("*/10 9-16 * * 1-5", 48 * 5 / 7),
        ("0 0 29 2 *", 1 / 1461),
    ],
)
def test_starts_a_day_are_those_of_an_average_day(expression: str, per_day: float) -> None:
    assert starts_per_day(parse(expression)) == pytest.approx(per_day, rel=0.01)
    assert starts_per_hour(parse(expression)) == pytest.approx(per_day / 24, rel=0.01)


def test_starts_are_told_by_the_hour_of_utc() -> None:
    assert starts_by_hour("*/30 9 * * *", "UTC", WINTER)[9] == 2
    assert starts_by_hour("*/30 9 * * *", "Europe/Berlin", WINTER)[8] == 2
    assert starts_by_hour("*/30 9 * * *", "Europe/Berlin", SUMMER)[7] == 2
    assert starts_by_hour("*/30 9 * * *", "America/New_York", WINTER)[14] == 2


def test_a_zone_a_quarter_of_an_hour_aside_spreads_over_two_hours_of_utc() -> None:
    hours = starts_by_hour("*/15 9 * * *", "Asia/Kathmandu", WINTER)  # 03:15 to 04:00
    assert (hours[3], hours[4]) == (3, 1)


def test_all_hours_together_make_the_day() -> None:
    assert sum(starts_by_hour("*/7 * * * 1-5", "Asia/Kathmandu", WINTER)) == pytest.approx(
        starts_per_day(parse("*/7 * * * 1-5"))
    )


# --- capacity --------------------------------------------------------------------------------------------


def test_thirty_seconds_apart_two_starts_a_minute_are_possible() -> None:
    found = measure([Load("* * * * *", "UTC", 0)], ONE_LANE, WINTER)
    assert (found.needed, found.possible, found.fill) == (60, 120, 0.5)


def test_the_duration_of_the_runs_takes_its_part_of_the_lane() -> None:
    found = measure([Load("* * * * *", "UTC", 30_000)], ONE_LANE, WINTER)
    assert found.possible == 60
    assert found.fill == 1.0


def test_a_query_that_runs_often_weighs_more_than_one_that_runs_daily() -> None:
    loads = [Load("* * * * *", "UTC", 10_000), Load("0 0 * * *", "UTC", 1_000_000)]
    mean_s = (1440 * 10 + 1000) / 1441
    assert measure(loads, ONE_LANE, WINTER).possible == pytest.approx(3600 / (30 + mean_s))


def test_without_an_interval_as_many_run_at_once_as_are_allowed() -> None:
    found = measure([Load("* * * * *", "UTC", 60_000)] * 4, PARALLEL, WINTER)
    assert (found.needed, found.possible, found.fill) == (240, 480, 0.5)


def test_unmeasured_queries_on_a_source_without_an_interval_need_next_to_nothing() -> None:
    assert measure([Load("* * * * *", "UTC")] * 100, PARALLEL, WINTER).fill < 0.01


def test_a_source_without_queries_is_empty() -> None:
    found = measure([], ONE_LANE, WINTER)
    assert (found.needed, found.fill, found.fill_then) == (0, 0, 0)
    assert warning("sales", found, ONE_LANE) is None


def test_the_busiest_hour_is_found_in_utc() -> None:
    found = measure([Load("* 9 * * *", "Europe/Berlin")] * 3, ONE_LANE, WINTER)
    assert (found.busiest_hour, found.needed_then, found.fill_then) == (8, 180, 1.5)


def test_figures_go_into_json_with_few_digits() -> None:
    assert measure([Load("*/7 * * * *", "UTC", 333)], ONE_LANE, WINTER).as_json() == {
        "needed_per_hour": 9,
        "possible_per_hour": 118.68,
        "fill": 0.0758,
        "busiest_hour": 0,
        "busiest_hour_fill": 0.0758,
    }


# --- the warning at save ---------------------------------------------------------------------------------


def test_a_source_that_keeps_up_needs_no_warning() -> None:
    loads = [Load("* * * * *", "UTC", 0), Load("* * * * *", "UTC", 0)]
    assert warning("sales", measure(loads, ONE_LANE, WINTER), ONE_LANE) is None


def test_a_source_that_cannot_keep_up_is_named_with_its_figures_and_a_way_out() -> None:
    capacity = measure([Load("* * * * *", "UTC", 0)] * 3, ONE_LANE, WINTER)
    assert warning("sales", capacity, ONE_LANE) == (
        "The data source “sales” cannot keep up: its queries need 180 starts an hour and 120 are possible "
        "(one at a time, 30 s apart). Run some of them less often or at other hours, set the pace of sales "
        "to 0, or use another data source."
    )


def test_a_source_that_only_runs_late_is_told_apart() -> None:
    capacity = measure([Load("0 2 * * *", "UTC", 0)] * 150, ONE_LANE, WINTER)
    assert str(warning("sales", capacity, ONE_LANE)).startswith(
        "The data source “sales” will run late: between 02:00 and 03:00 UTC 150 starts are due and 120 are"
    )


def test_without_an_interval_the_way_out_is_more_at_a_time() -> None:
    capacity = measure([Load("* * * * *", "UTC", 60_000)] * 10, PARALLEL, WINTER)
    text = str(warning("sales", capacity, PARALLEL))
    assert "(8 at a time)" in text
    assert "raise max_parallel of sales" in text


def test_ten_thousand_queries_of_one_kind_are_reckoned_as_one() -> None:
    found = measure([Load("* * * * *", "UTC", 5)] * 10_000, ONE_LANE, WINTER)
    assert found.needed == pytest.approx(600_000)


def test_a_schedule_that_cannot_be_read_needs_nothing() -> None:
    lost = Load("* * * * *", "Mars/Olympus")
    assert measure([lost, Load("0 * * * *", "UTC")], ONE_LANE, WINTER).needed == pytest.approx(1)
