"""The thinking behind the pages: charts, calendars, addresses and conflicts, without any web."""

from datetime import UTC, date, datetime, timedelta

import pytest
from plugbay_scheduled_query.core.model import Status
from plugbay_scheduled_query.dialects.contract import Table
from plugbay_scheduled_query.repository.history import Point
from plugbay_scheduled_query.web.pages.charts import (
    WEEKS,
    activity_chart,
    calendar,
    duration_chart,
    in_every_form,
    previous_value,
    value_chart,
)
from plugbay_scheduled_query.web.pages.editor import (
    SCHEDULES,
    completion,
    differences,
    upcoming,
)
from plugbay_scheduled_query.web.pages.listing import list_view
from plugbay_scheduled_query.web.pages.query_page import history_view

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def points(*durations: int, status: Status = Status.SUCCESS, value: float | None = 1.0) -> list[Point]:
    return [Point(NOW + timedelta(minutes=n), ms, status, value) for n, ms in enumerate(durations)]


def test_what_a_clock_set_back_recorded_is_drawn_in_order():
    later, earlier = points(10, 20)
    for chart in (duration_chart([earlier, later]), value_chart([earlier, later])):
        assert chart
        assert chart["t"] == sorted(chart["t"])


def test_one_execution_makes_no_chart():
    assert duration_chart(points(5)) is None
    assert value_chart(points(5)) is None


def test_values_that_are_no_numbers_make_no_chart():
    assert value_chart(points(5, 6, 7, value=None)) is None


def test_a_failure_leaves_a_gap_in_the_values():
    chart = value_chart([*points(1, 2), points(1, 2, 3, status=Status.FAILED, value=None)[2]])
    assert chart
    assert chart["series"][0]["values"] == [1.0, 1.0, None]


def test_an_outlier_is_cut_off_and_told():
    chart = duration_chart(points(*[40] * 30, 30_000))
    assert chart
    assert (chart["cut_ms"], chart["longest_ms"]) == (160, 30_000)
    assert max(chart["series"][0]["values"]) == 160


def test_usual_durations_are_left_alone():
    chart = duration_chart(points(40, 50, 60))
    assert chart
    assert chart["cut_ms"] is None
    assert chart["series"] == [{"label": "success", "tone": "primary", "values": [40, 50, 60]}]


def test_a_calendar_ends_today_and_begins_on_a_monday():
    found = calendar({}, NOW.date())
    assert found.squares[-1].day == NOW.date()
    assert found.squares[0].day.weekday() == 0
    assert found.squares[-1].x == WEEKS - 1
    assert {square.kind for square in found.squares} == {"none"}


@pytest.mark.parametrize(
    ("counts", "kind"),
    [
        ({"success": 100}, "good-3"),
        ({"success": 50}, "good-2"),
        ({"success": 10}, "good-1"),
        ({"success": 95, "failed": 5}, "few"),
        ({"success": 70, "timeout": 30}, "some"),
        ({"failed": 1}, "bad"),
    ],
)
def test_a_day_is_coloured_by_how_it_went(counts: dict[str, int], kind: str):
    today, busiest = date(2026, 11, 15), date(2026, 11, 1)
    found = calendar({today: counts, busiest: {"success": 100}}, today)
    assert found.squares[-1].kind == kind


def test_activity_counts_each_status():
    start = int(NOW.timestamp())
    chart = activity_chart(
        {"success": {NOW: 5}, "failed": {NOW: 2}, "timeout": {NOW: 1}}, [start, start + 3600]
    )
    counted = {one["label"]: one["values"] for one in chart["series"]}
    assert counted == {"success": [5, 0], "failed": [2, 0], "timeout": [1, 0]}


@pytest.mark.parametrize(("expression", "words"), SCHEDULES)
def test_every_common_schedule_is_good(expression: str, words: str):
    assert not upcoming(expression, "UTC", NOW).error
    assert words


def test_next_runs_are_told_in_their_own_zone():
    found = upcoming("0 8 * * *", "America/New_York", NOW)
    assert found.times[0] == (datetime(2026, 11, 15, 13, 0, tzinfo=UTC), "Sun 2026-11-15 08:00")


def test_line_ends_of_a_browser_are_no_difference():
    assert differences({"query": "a\r\nb", "csrf_token": "x"}, {"query": "a\nb", "version": "2"}) == []
    assert differences({"name": "a"}, {"name": "b"}) == [{"name": "name", "mine": "a", "theirs": "b"}]


def test_tables_of_two_schemas_are_told_apart():
    tables = [Table("a", "t", [("x", "INT")]), Table("b", "t", []), Table("b", "u", [])]
    assert completion(tables) == {"a.t": {"x": "INT"}, "b.t": {}, "u": {}}


def test_a_list_is_filtered_only_when_somebody_asked():
    assert not list_view({"page": "2", "sort": "name"}).is_filtered
    assert list_view({"tag": "x"}).is_filtered
    assert list_view({"search": "  "}).listing.search == ""


def test_dates_that_cannot_be_read_are_shown_and_not_applied():
    view = history_view({"date_from": "soon", "status": "what"})
    assert view.error
    assert view.date_from == ""
    crossed = history_view({"date_from": "2026-11-15", "date_to": "2026-11-14 10:00:00"})
    assert (crossed.date_from, crossed.date_to) == ("2026-11-15", "2026-11-14")
    assert crossed.error
    assert view.wanted.since is None
    assert view.wanted.status == "all"


def test_the_value_before_is_the_last_known_one():
    assert previous_value((1.0, 2.0, None, 3.0)) == 2.0
    assert previous_value((3.0,)) is None
    assert previous_value((None, None)) is None


@pytest.mark.parametrize(("text", "auto"), [("[[1]]", "counter"), ("[[1],[2]]", "table"), ("[]", "raw")])
def test_auto_chooses_among_the_forms(text: str, auto: str):
    assert in_every_form(["n"], text)["auto"] == auto
