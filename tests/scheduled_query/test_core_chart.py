"""Which points a chart draws of a result."""

from decimal import Decimal
from typing import Any

import pytest
from plugbay_scheduled_query.core.chart import MAX_POINTS, Drawing, check_chart, draw, missing_columns
from plugbay_scheduled_query.core.model import ChartConfig

BARS = ChartConfig("bar", "country", ("orders", "revenue"))
COLUMNS = ["country", "orders", "revenue"]


def test_a_chart_is_what_it_says_about_itself() -> None:
    assert check_chart(BARS.as_json()) == BARS


def test_each_column_is_a_series_along_the_first() -> None:
    rows = [["Germany", 12, Decimal("1.5")], ["France", "7", None], [None, True, "no number"]]
    series = [
        {"label": "orders", "values": [12.0, 7.0, None]},
        {"label": "revenue", "values": [1.5, None, None]},
    ]
    assert draw(BARS, COLUMNS, rows, 3) == Drawing("bar", ["Germany", "France", "NULL"], series)


@pytest.mark.parametrize(("cell", "mark"), [(3, 3), (Decimal("2.50"), 2.5), ("7", "7"), ([1], "[1]")])
def test_numbers_along_the_axis_stay_numbers(cell: Any, mark: Any) -> None:
    drawing = draw(ChartConfig("line", "x", ("y",)), ["x", "y"], [[cell, 1]], 1)
    assert drawing
    assert drawing.x == [mark]


def test_columns_are_found_by_their_exact_name_and_else_in_any_case() -> None:
    drawing = draw(ChartConfig("bar", "Country", ("n",)), ["N", "n", "COUNTRY"], [[1, 2, "x"]], 1)
    assert drawing
    assert drawing.series == [{"label": "n", "values": [2.0]}]


def test_a_result_without_the_columns_or_without_numbers_is_not_drawn() -> None:
    assert missing_columns(BARS, ["country", "n"]) == ["orders", "revenue"]
    assert draw(BARS, ["country", "n"], [["x", 1]], 1) is None
    assert draw(BARS, COLUMNS, [["x", None, "y"]], 1) is None
    assert draw(BARS, COLUMNS, [], 0) is None


def test_what_is_too_much_to_draw_is_counted() -> None:
    rows = ([str(n), n, n] for n in range(MAX_POINTS + 20))
    drawing = draw(BARS, COLUMNS, rows, 12_000)
    assert drawing
    assert (len(drawing.x), drawing.left_out) == (MAX_POINTS, 12_000 - MAX_POINTS)
