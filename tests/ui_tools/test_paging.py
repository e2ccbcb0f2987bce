import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_ui_tools.macros import page_window, query_string, shown_range
from starlette.datastructures import QueryParams


@pytest.mark.parametrize(
    ("page", "pages", "window"),
    [
        (1, 1, [1]),
        (1, 3, [1, 2, 3]),
        (1, 9, [1, 2, None, 9]),
        (7, 25, [1, None, 6, 7, 8, None, 25]),
        (3, 25, [1, 2, 3, 4, None, 25]),
        (4, 25, [1, 2, 3, 4, 5, None, 25]),
        (22, 25, [1, None, 21, 22, 23, 24, 25]),
        (25, 25, [1, None, 24, 25]),
        (99, 5, [1, None, 5]),
        (1, 0, []),
    ],
)
def test_the_window_has_the_ends_and_the_neighbours(page: int, pages: int, window: list[int | None]):
    assert page_window(page, pages) == window


@given(st.integers(1, 10**6), st.integers(0, 10**6).map(lambda n: min(n, 400)))
def test_a_window_is_short_and_rising(page: int, pages: int):
    numbers = [number for number in page_window(page, pages) if number]
    assert numbers == sorted(set(numbers))
    assert len(numbers) <= 7


def test_a_gap_stands_for_two_pages_or_more():
    for page in range(1, 40):
        window = page_window(page, 40)
        for index, number in enumerate(window):
            if number is None:
                assert window[index + 1] - window[index - 1] > 2


@pytest.mark.parametrize(
    ("page", "limit", "total", "shown"),
    [
        (1, 50, 1234, (1, 50)),
        (25, 50, 1234, (1201, 1234)),
        (26, 50, 1234, (0, 0)),
        (1, 50, 0, (0, 0)),
        (1, 50, 3, (1, 3)),
    ],
)
def test_the_range_tells_what_is_on_the_page(page: int, limit: int, total: int, shown: tuple[int, int]):
    assert shown_range(page, limit, total) == shown


@pytest.mark.parametrize(
    ("current", "changes", "query"),
    [
        ("", {"page": 2}, "?page=2"),
        ("page=1&status=failed", {"page": 2}, "?status=failed&page=2"),
        ("tag=a&tag=b", {"page": 3}, "?tag=a&tag=b&page=3"),
        ("page=4&search=x", {"page": None}, "?search=x"),
        ("search=a%26b", {"page": 2}, "?search=a%26b&page=2"),
        ("page=2", {"page": ""}, "?"),
    ],
)
def test_a_link_keeps_the_other_parameters(current: str, changes: dict[str, object], query: str):
    assert query_string(QueryParams(current).multi_items(), **changes) == query


def test_a_plain_mapping_will_do_as_well():
    assert query_string({"search": "x"}, page=2) == "?search=x&page=2"
