import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_ui_tools.figures import draw_sparkline

VALUES = st.lists(st.none() | st.floats(min_value=-1e12, max_value=1e12), max_size=60)


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.e-]+) (-?[\d.e-]+)", path)]


def test_the_lowest_value_is_at_the_bottom_and_the_highest_on_top():
    drawn = draw_sparkline([1, 3, 2], width=104, height=24)
    assert points(drawn.line) == [(2, 22), (52, 2), (102, 12)]
    assert drawn.last == (102, 12)


def test_the_area_closes_at_the_bottom():
    assert draw_sparkline([1, 3], width=104, height=24).area == "M2 24L2 22L102 2L102 24Z"


def test_a_missing_value_leaves_a_gap():
    drawn = draw_sparkline([1, 2, None, 2, 1])
    assert drawn.line.count("M") == 2
    assert len(points(drawn.line)) == 4


def test_a_lone_value_between_gaps_is_a_dash():
    assert len(points(draw_sparkline([None, 5, None]).line)) == 2


@pytest.mark.parametrize("values", [[], [None], [None, None]])
def test_nothing_known_draws_nothing(values: list[None]):
    drawn = draw_sparkline(values)
    assert (drawn.line, drawn.area, drawn.last, drawn.words) == ("", "", None, "no values")


def test_values_that_do_not_change_lie_in_the_middle():
    assert {y for _, y in points(draw_sparkline([7, 7, 7], height=32).line)} == {16}


@pytest.mark.parametrize(
    ("values", "words"),
    [([1284], "one value: 1,284"), ([1, None, 3, 2], "3 values from 1 to 3, last 2")],
)
def test_a_drawing_is_told_in_words_too(values: list[float | None], words: str):
    assert draw_sparkline(values).words == words


def test_values_at_both_ends_of_what_a_float_holds_are_drawn():
    line = draw_sparkline([-1.7e308, 0.0, 1.7e308], width=104, height=24).line
    assert points(line) == [(2, 22), (52, 12), (102, 2)]


@given(VALUES)
def test_no_point_lies_outside_of_the_box(values: list[float | None]):
    drawn = draw_sparkline(values, width=120, height=32)
    assert all(0 <= x <= 120 and 0 <= y <= 32 for x, y in points(drawn.line))
