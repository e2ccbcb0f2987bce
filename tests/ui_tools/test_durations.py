from datetime import timedelta

import pytest
from plugbay_ui_tools.filters import format_duration


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, "–"),
        (0, "0 ms"),
        (0.04, "0 ms"),
        (0.4, "0.4 ms"),
        (41, "41 ms"),
        (41.6, "42 ms"),
        (999, "999 ms"),
        (999.6, "1 s"),
        (1000, "1 s"),
        (1204, "1.2 s"),
        (59_940, "59.9 s"),
        (59_960, "1 min"),
        (60_000, "1 min"),
        (184_000, "3 min 4 s"),
        (3_599_600, "1 h"),
        (7_500_000, "2 h 5 min"),
        (86_400_000, "1 d"),
        (97_200_000, "1 d 3 h"),
        (86_400_000 * 1500, "1,500 d"),
        (-1204, "-1.2 s"),
        (timedelta(seconds=1.204), "1.2 s"),
        (timedelta(days=2, hours=5), "2 d 5 h"),
    ],
)
def test_a_duration_is_told_in_its_two_largest_units(milliseconds: float | timedelta | None, text: str):
    assert format_duration(milliseconds) == text
