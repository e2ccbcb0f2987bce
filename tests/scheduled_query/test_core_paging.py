"""Pages over dense numbers: the same rows as slicing, without looking at the others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.paging import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    NOTHING,
    NumberRange,
    from_nearer_end,
    numbers_of_page,
    paginate,
)


def test_the_specified_bounds() -> None:
    assert (DEFAULT_LIMIT, MAX_LIMIT) == (50, 200)


def test_pagination_has_the_specified_fields_and_no_others() -> None:
    assert paginate(2, 50, 120).as_json() == {
        "page": 2,
        "limit": 50,
        "total_count": 120,
        "total_pages": 3,
        "has_next": True,
        "has_prev": True,
    }


@pytest.mark.parametrize(
    ("page", "total", "pages", "has_next", "has_prev"),
    [
        (1, 0, 0, False, False),
        (1, 1, 1, False, False),
        (1, 50, 1, False, False),
        (1, 51, 2, True, False),
        (2, 51, 2, False, True),
        (3, 51, 2, False, True),
        (9**18, 51, 2, False, True),
    ],
)
def test_where_a_page_lies(page: int, total: int, pages: int, has_next: bool, has_prev: bool) -> None:
    found = paginate(page, 50, total)
    assert (found.total_pages, found.has_next, found.has_prev) == (pages, has_next, has_prev)


def test_an_offset_is_never_more_than_there_is() -> None:
    assert paginate(1, 50, 120).offset == 0
    assert paginate(3, 50, 120).offset == 100
    assert paginate(10**18, 200, 120).offset == 120


def test_the_newest_numbers_are_the_first_page() -> None:
    live = NumberRange(1, 120)
    assert numbers_of_page(live, 1, 50) == NumberRange(71, 120)
    assert numbers_of_page(live, 2, 50) == NumberRange(21, 70)
    assert numbers_of_page(live, 3, 50) == NumberRange(1, 20)


def test_what_was_pruned_is_not_asked_for() -> None:
    live = NumberRange(101, 120)
    assert numbers_of_page(live, 1, 50) == live
    assert not numbers_of_page(live, 2, 50)


def test_a_page_past_the_end_is_empty() -> None:
    assert numbers_of_page(NumberRange(1, 120), 4, 50) == NOTHING
    assert numbers_of_page(NumberRange(1, 120), 10**18, 200) == NOTHING
    assert numbers_of_page(NOTHING, 1, 50) == NOTHING


def test_an_empty_range_counts_nothing() -> None:
    assert len(NOTHING) == 0
    assert not NOTHING
    assert len(NumberRange(7, 7)) == 1


@given(st.integers(1, 50), st.integers(0, 200), st.integers(1, 12), st.integers(1, 60))
def test_a_page_is_a_slice_of_the_numbers_turned_round(lowest: int, size: int, page: int, limit: int) -> None:
    live = NumberRange(lowest, lowest + size - 1)
    newest_first = list(range(lowest, lowest + size))[::-1]
    expected = newest_first[(page - 1) * limit : page * limit]
    found = numbers_of_page(live, page, limit)
    assert list(range(found.lowest, found.highest + 1))[::-1] == expected
    assert len(found) == len(expected)


@given(st.integers(1, 50), st.integers(0, 100), st.integers(1, 30))
def test_all_pages_together_are_all_rows_once(lowest: int, size: int, limit: int) -> None:
    live = NumberRange(lowest, lowest + size - 1)
    pages = [
        numbers_of_page(live, page, limit) for page in range(1, paginate(1, limit, size).total_pages + 1)
    ]
    seen = [number for found in pages for number in range(found.lowest, found.highest + 1)]
    assert sorted(seen) == list(range(lowest, lowest + size))


@given(st.integers(0, 60), st.integers(0, 90), st.integers(1, 20))
def test_a_page_is_the_same_from_either_end(total: int, offset: int, limit: int) -> None:
    rows = list(range(total))
    part = from_nearer_end(offset, limit, total)
    ordered = rows[::-1] if part.is_turned else rows
    found = ordered[part.offset : part.offset + part.limit]
    assert (found[::-1] if part.is_turned else found) == rows[offset : offset + limit]
    assert not found or part.offset <= total / 2
