"""Searching definitions by any word in them."""

import sqlite3

import pytest
from plugbay_scheduled_query.core.draft import Draft
from plugbay_scheduled_query.core.paging import ESCAPE, MAX_SEARCH, like_patterns, search_text

DRAFT = Draft(
    name="Über Orders 100%",
    query="SELECT count(*) FROM order_items",
    cron_schedule="@daily",
    data_source="Sales",
    description="Counts what was ordered",
    tags=("shop", "Größe"),
)


def is_found(search: str) -> bool:
    """Asked of a real database, whose LIKE knows the capitals of ASCII alone."""
    with sqlite3.connect(":memory:") as connection:
        return all(
            connection.execute("SELECT ? LIKE ? ESCAPE ?", (search_text(DRAFT), pattern, ESCAPE)).fetchone()[
                0
            ]
            for pattern in like_patterns(search)
        )


@pytest.mark.parametrize(
    "search",
    [
        "orders",
        "ÜBER",
        "über",
        "100%",
        "order_items",
        "sales",
        "COUNTS",
        "shop",
        "GRÖSSE",
        "count sales",
        "",
        "  ",
    ],
)
def test_a_query_is_found_by_any_of_its_words(search: str) -> None:
    assert is_found(search)


@pytest.mark.parametrize(
    "search", ["revenue", "100%%", "order-items", "orderXitems", "\\", "orders revenue", "a%b"]
)
def test_other_words_and_wildcards_find_nothing(search: str) -> None:
    assert not is_found(search)


def test_a_search_has_a_length() -> None:
    assert like_patterns("x" * 10_000) == ["%" + "x" * MAX_SEARCH + "%"]


def test_a_nul_separates_words_like_a_space() -> None:
    assert like_patterns("a\0b") == ["%a%", "%b%"]
