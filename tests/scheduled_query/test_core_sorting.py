from decimal import Decimal

import pytest
from plugbay_scheduled_query.core.sorting import sorted_places


@pytest.mark.parametrize(
    ("cells", "up", "down"),
    [
        ([3, 1, 2], [1, 2, 0], [0, 2, 1]),
        ([10, "9", Decimal("9.5")], [1, 2, 0], [0, 2, 1]),
        ([2, None, 1], [2, 0, 1], [0, 2, 1]),
        (["b", "A", "c"], [1, 0, 2], [2, 0, 1]),
        (["x", 5, "a"], [1, 2, 0], [0, 2, 1]),
        ([True, False], [1, 0], [0, 1]),
        ([[2], [1]], [1, 0], [0, 1]),
        ([1, 1, 1], [0, 1, 2], [0, 1, 2]),
        ([None, None], [0, 1], [0, 1]),
        ([], [], []),
    ],
)
def test_numbers_go_by_size_all_else_as_text_and_nothing_comes_last(cells, up, down):
    rows = [["other", cell] for cell in cells]
    assert sorted_places(rows, 1) == up
    assert sorted_places(rows, 1, descending=True) == down


def test_a_row_that_is_too_short_has_nothing_there():
    assert sorted_places([[1], [1, 2]], 1) == [1, 0]
