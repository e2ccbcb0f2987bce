import pytest
from plugbay_ui_tools.figures import Change, compare


@pytest.mark.parametrize(
    ("current", "previous", "text", "direction"),
    [
        (110, 100, "+10 %", "up"),
        (90, 100, "-10 %", "down"),
        (100, 100, "unchanged", "level"),
        (9, 0, "+9", "up"),
        (-9, 0, "-9", "down"),
        (-50, -100, "+50 %", "up"),
        ("110", "100", "+10 %", "up"),
        (3, 1, "+200 %", "up"),
    ],
)
def test_a_change_is_told_with_its_direction(current: object, previous: object, text: str, direction: str):
    trend = compare(current, previous)
    assert trend == Change(text, direction, "secondary")


@pytest.mark.parametrize(
    ("current", "good", "tone"),
    [
        (2, "up", "green"),
        (2, "down", "red"),
        (0.5, "down", "green"),
        (0.5, "up", "red"),
        (1, "up", "secondary"),
    ],
)
def test_whether_it_is_good_news_depends_on_what_is_wanted(current: float, good: str, tone: str):
    trend = compare(current, 1, good)
    assert trend
    assert trend.tone == tone


@pytest.mark.parametrize(("current", "previous"), [(None, 1), (1, None), ("many", 1), (True, False)])
def test_without_two_numbers_there_is_no_trend(current: object, previous: object):
    assert compare(current, previous) is None


def test_every_direction_has_an_icon():
    assert {Change("", way, "").icon for way in ("up", "down", "level")} == {
        *("fa-arrow-trend-up", "fa-arrow-trend-down", "fa-minus")
    }
