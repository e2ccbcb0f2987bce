from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_ui_tools.cells import Cell, column_kind, make_cell, spell, typed_grid


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (None, "null", "NULL"),
        (True, "bool", "true"),
        (False, "bool", "false"),
        (1284, "number", "1,284"),
        (98412.5, "number", "98,412.5"),
        (Decimal("98412.50"), "number", "98,412.50"),
        ("98412.50", "number", "98,412.50"),
        ("007", "text", "007"),
        (date(2026, 11, 15), "moment", "2026-11-15"),
        (datetime(2026, 11, 15, 12, 30, tzinfo=UTC), "moment", "2026-11-15 12:30:00+00:00"),
        (time(12, 30), "moment", "12:30:00"),
        ("2026-11-15T12:30:00Z", "moment", "2026-11-15 12:30:00Z"),
        ("2026-11-15 12:30:00.25+01:00", "moment", "2026-11-15 12:30:00.25+01:00"),
        ("2026-11-15 was a Sunday", "text", "2026-11-15 was a Sunday"),
        ("Tokyo", "text", "Tokyo"),
        ("", "text", ""),
        (b"\x00\xff", "text", "b'\\x00\\xff'"),
        ([1, 2], "text", "[1, 2]"),
    ],
)
def test_a_cell_shows_by_type(value: Any, kind: str, text: str):
    cell = make_cell(value)
    assert (cell.kind, cell.text) == (kind, text)


def test_a_number_is_sorted_and_hovered_by_its_exact_value():
    assert make_cell(1284) == Cell("number", "1,284", sort="1284", full="1284")
    assert make_cell(1284, grouped=False).text == "1284"


@pytest.mark.parametrize("value", [10**60, "9" * 60, 10**5000], ids=["long", "text", "endless"])
def test_a_row_of_digits_too_long_to_compare_is_text(value: int | str):
    assert make_cell(value).kind in ("text", "long")


@pytest.mark.parametrize("value", ["a" * 91, "two\nlines", "x" * 100_000])
def test_long_text_is_folded_behind_its_beginning(value: str):
    cell = make_cell(value)
    assert cell.kind == "long"
    assert cell.full == value
    assert len(cell.text) <= 81
    assert "\n" not in cell.text


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2.5, None, Decimal(3)], "number"),
        (["1", "2"], "number"),
        ([True, None], "bool"),
        ([1, True], "text"),
        ([1, "a"], "text"),
        (["2026-11-15", date(2026, 11, 15)], "moment"),
        ([None, None], "text"),
        ([], "text"),
    ],
)
def test_a_column_is_what_all_its_values_are(values: list[Any], kind: str):
    assert column_kind(values) == kind


def test_a_grid_takes_lists_and_mappings():
    by_list = typed_grid(["a", "b"], [[1, "x"], (2, "y")])
    by_name = typed_grid(["a", "b"], [{"a": 1, "b": "x"}, {"b": "y", "a": 2}])
    assert by_list == by_name
    assert [column.is_number for column in by_list.columns] == [True, False]


def test_rows_of_the_wrong_length_fit_all_the_same():
    grid = typed_grid(["a", "b"], [[1], [1, 2, 3], []])
    assert [len(row) for row in grid.rows] == [2, 2, 2]
    assert grid.rows[0][1].kind == "null"


def test_duplicate_column_names_survive():
    grid = typed_grid(["n", "n"], [[1, 2]])
    assert [column.label for column in grid.columns] == ["n", "n"]
    assert [cell.text for cell in grid.rows[0]] == ["1", "2"]


@pytest.mark.parametrize("label", ["id", "user_id", "YEAR", "zip", "order_no", "country_code"])
def test_digits_that_name_a_thing_are_not_grouped(label: str):
    assert typed_grid([label], [[10481]]).rows[0][0].text == "10481"


@pytest.mark.parametrize("label", ["orders", "grid", "paid", "years_ago"])
def test_digits_that_count_are_grouped(label: str):
    assert typed_grid([label], [[10481]]).rows[0][0].text == "10,481"


def test_the_numbers_of_a_column_have_as_many_decimals():
    rows = [
        [Decimal("1254.7"), 10481, "1.2", 1e30],
        [Decimal("6738.42"), 1.5, "1.10", 1.5],
        [5, None, "2", None],
    ]
    grid = typed_grid(["revenue", "id", "release", "far"], rows)
    texts = [[cell.text for cell in row] for row in grid.rows]
    assert [row[0] for row in texts] == ["1,254.70", "6,738.42", "5.00"]
    assert [row[1] for row in texts] == ["10481", "1.5", "NULL"]
    assert [row[2] for row in texts] == ["1.2", "1.10", "2"]
    assert [row[3] for row in texts] == ["1e+30", "1.5", "NULL"]


def test_a_number_among_words_is_a_word():
    grid = typed_grid(["mixed"], [[10481], ["a"], [True], [None]])
    assert [cell.kind for cell in grid.rows[0] + grid.rows[1] + grid.rows[2] + grid.rows[3]] == [
        *("text", "text", "text", "null")
    ]
    assert grid.rows[0][0].text == "10481"


def test_no_columns_make_an_empty_grid():
    assert typed_grid([], [[]]).rows == [[]]


ANYTHING = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals()
    | st.text()
    | st.dates()
    | st.binary()
)


@given(st.lists(st.lists(ANYTHING, max_size=4), max_size=6))
def test_whatever_a_driver_returns_can_be_shown(rows: list[list[Any]]):
    grid = typed_grid(["a", "b", "c"], rows)
    assert all(len(row) == 3 for row in grid.rows)


@given(st.integers())
def test_an_integer_is_spelled_without_loss(number: int):
    assert int(spell(number)) == number


def test_what_is_made_of_others_is_shown_as_json():
    value = {"tags": ["a", None, True], "price": Decimal("1.10"), "at": {"größe": 12}}
    expected = '{"tags": ["a", null, true], "price": 1.10, "at": {"größe": 12}}'
    assert make_cell(value) == Cell("text", expected)
    assert make_cell([1, "x"]) == Cell("text", '[1, "x"]')
