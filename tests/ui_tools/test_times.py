import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_ui_tools.filters import (
    JUST_NOW_S,
    TIME_UNITS,
    YEAR_S,
    as_utc,
    iso_text,
    relative_words,
    utc_text,
)

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
MINUTE, HOUR, DAY = 60, 3600, 86_400
SCRIPT = Path(__file__).parents[2] / "packages/ui_tools/frontend/src/parts/times.js"


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (0, "just now"),
        (44, "just now"),
        (45, "1 min ago"),
        (2 * MINUTE + 20, "2 min ago"),
        (59 * MINUTE, "59 min ago"),
        (59.6 * MINUTE, "1 h ago"),
        (22 * HOUR, "22 h ago"),
        (23.6 * HOUR, "1 d ago"),
        (29 * DAY, "29 d ago"),
        (29.6 * DAY, "1 mo ago"),
        (200 * DAY, "7 mo ago"),
        (364.6 * DAY, "1 y ago"),
        (1000 * DAY, "3 y ago"),
        (-10, "in a moment"),
        (-4 * MINUTE, "in 4 min"),
        (-3 * HOUR, "in 3 h"),
    ],
)
def test_a_moment_is_told_by_its_distance(age: float, words: str):
    assert relative_words(NOW - timedelta(seconds=age), NOW) == words


@pytest.mark.parametrize("nothing", [None, ""])
def test_no_moment_is_never(nothing: str | None):
    assert relative_words(nothing, NOW) == "never"
    assert utc_text(nothing) == "–"
    assert iso_text(nothing) == ""


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 11, 15, 12, 0, tzinfo=UTC),
        datetime(2026, 11, 15, 12, 0),  # noqa: DTZ001 - what a store without time zones gives back
        datetime(2026, 11, 15, 13, 0, tzinfo=timezone(timedelta(hours=1))),
        "2026-11-15 12:00:00",
        "2026-11-15T12:00:00Z",
        "2026-11-15T13:00:00+01:00",
        1794744000,
        1794744000.0,
    ],
)
def test_every_way_to_give_a_moment_means_the_same(moment: datetime | str | float):
    assert as_utc(moment) == NOW
    assert utc_text(moment) == "2026-11-15 12:00:00 UTC"
    assert iso_text(moment) == "2026-11-15T12:00:00Z"


@given(st.integers(min_value=-(10**9), max_value=10**9))
def test_the_words_never_tell_zero(seconds: int):
    assert not re.search(r"\b0\b", relative_words(NOW - timedelta(seconds=seconds), NOW))


def test_the_browser_goes_by_the_same_rules():
    script = SCRIPT.read_text()
    for limit, unit, size in TIME_UNITS:
        found = re.search(rf'\[([0-9. *]+), "{unit}", ([0-9. *]+)\]', script)
        assert found, unit
        assert [eval(part) for part in found.groups()] == [limit, size]
    assert f"< {JUST_NOW_S}" in script
    assert eval(re.search(r"YEAR = ([0-9. *]+);", script)[1]) == YEAR_S
