"""Results as counter, table or raw text."""

import json
from decimal import Decimal

import pytest
from plugbay_scheduled_query.core.model import RenderType
from plugbay_scheduled_query.core.rendering import Brief, brief, change_since, detect, render

AUTO, TABLE, COUNTER, METRIC, RAW = RenderType


# --- auto ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", [0, 42, -1.5, Decimal("12.50"), "12.50"])
def test_one_row_and_one_column_with_a_number_is_a_counter(cell: object) -> None:
    assert detect(["n"], [[cell]]) is COUNTER


@pytest.mark.parametrize("cell", ["text", True, None, "NaN", "2026-11-15"])
def test_one_cell_that_is_no_number_is_a_table(cell: object) -> None:
    assert detect(["n"], [[cell]]) is TABLE


@pytest.mark.parametrize(
    ("columns", "rows"), [(["a"], [[1], [2]]), (["a", "b"], [[1, 2]]), (["a", "a"], [[1, 1], [2, 2]])]
)
def test_rows_and_columns_are_a_table(columns: list[str], rows: list[list[object]]) -> None:
    assert detect(columns, rows) is TABLE


@pytest.mark.parametrize(("columns", "rows"), [([], []), (["a"], []), ([], [[]])])
def test_anything_else_is_raw(columns: list[str], rows: list[list[object]]) -> None:
    assert detect(columns, rows) is RAW


def test_the_beginning_of_a_longer_result_is_not_taken_for_all_of_it() -> None:
    assert detect(["n"], [[1]], is_whole=False) is TABLE


# --- what was asked for ----------------------------------------------------------------------------------


def test_auto_renders_what_it_detects() -> None:
    assert render(AUTO, ["n"], "[[5]]").kind is COUNTER
    assert render(AUTO, ["a", "b"], "[[1,2]]").kind is TABLE
    assert render(AUTO, ["a"], "[]").kind is RAW


@pytest.mark.parametrize("render_type", [COUNTER, METRIC])
def test_metric_is_shown_like_counter(render_type: RenderType) -> None:
    shown = render(render_type, ["day", "orders"], '[["Monday",1284],["Tuesday",7]]')
    assert shown.kind is COUNTER
    assert shown.counter is not None
    assert (shown.counter.text, shown.counter.label, shown.counter.value) == ("1,284", "orders", 1284)


def test_a_counter_keeps_all_digits_for_who_wants_them() -> None:
    shown = render(COUNTER, ["sum"], "[[1234567.891]]")
    assert shown.counter is not None
    assert (shown.counter.text, shown.counter.exact) == ("1,234,567.89", "1234567.891")


@pytest.mark.parametrize("text", ["[]", '[["text"]]', "[[null]]", "[[true]]"])
def test_a_counter_without_a_number_falls_back_to_the_raw_text(text: str) -> None:
    shown = render(COUNTER, ["n"], text)
    assert (shown.kind, shown.text, shown.counter) == (RAW, text, None)


def test_a_table_has_columns_and_rows_even_if_there_are_none() -> None:
    shown = render(TABLE, ["a", "b"], '[[1,"x"]]')
    assert (shown.kind, shown.columns, shown.rows) == (TABLE, ["a", "b"], [[1, "x"]])
    assert render(TABLE, ["a"], "[]").kind is TABLE
    assert render(TABLE, [], "[]").kind is RAW


def test_a_table_on_a_page_has_fifty_rows() -> None:
    assert len(render(TABLE, ["n"], json.dumps([[n] for n in range(80)])).rows) == 50


def test_raw_is_the_text_as_it_is_stored() -> None:
    assert render(RAW, ["n"], "[[5]]").text == "[[5]]"
    assert render(RAW, ["n"], "[[5]]").kind is RAW


# --- change ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "previous", "direction", "text"),
    [
        (106.2, 100, 1, "+6.2 %"),
        (98, 100, -1, "−2.0 %"),
        (5, 5, 0, "unchanged"),
        (5.0, 5, 0, "unchanged"),
        (9, 0, 1, "+9"),
        (-1500, 0, -1, "−1,500"),
        (300, 100, 1, "+200 %"),
        (1_000_000, 1, 1, "+99,999,900 %"),
        (1.001, 1, 1, "+0.10 %"),
        (-50, -100, 1, "+50.0 %"),
        (-150, -100, -1, "−50.0 %"),
        (Decimal("1.10"), 1.1, 0, "unchanged"),
        (123456789012345678, float(123456789012345678), 0, "unchanged"),
    ],
)
def test_a_change_is_told_against_the_value_before(
    value: float | Decimal, previous: float, direction: int, text: str
) -> None:
    found = change_since(previous, value)
    assert found is not None
    assert (found.direction, found.text) == (direction, text)


def test_without_a_value_before_there_is_no_change() -> None:
    assert change_since(None, 5) is None
    counter = render(AUTO, ["n"], "[[5]]").counter
    assert counter is not None
    assert counter.change is None


def test_a_counter_carries_its_change() -> None:
    counter = render(AUTO, ["n"], "[[110]]", previous=100.0).counter
    assert counter is not None
    assert counter.change is not None
    assert counter.change.text == "+10.0 %"


@pytest.mark.parametrize(
    ("columns", "rows", "count", "expected"),
    [
        (["n"], [[1712]], 1, Brief("1,712", "n", is_number=True)),
        (["n"], [["x" * 100]], 1, Brief("x" * 80 + "…", "n")),
        (["n"], [], 0, Brief("no rows")),
        (["a", "b"], [[True, None]], 1, Brief("a: true, b: NULL")),
        (["a", "b"], [["eu", 1204], ["us", 1]], 1200, Brief("1,200 rows", "eu, 1,204 …")),
        (["a"], [[{"k": [1, "ü"]}]], 1, Brief('{"k": [1, "ü"]}', "a")),
        (["a"], [["1e999"]], 1, Brief("1e999", "a")),
    ],
)
def test_a_result_in_a_few_words(columns: list[str], rows: list[list], count: int, expected: Brief) -> None:
    assert brief(columns, json.dumps(rows), count) == expected


def test_a_counter_is_told_by_its_first_number() -> None:
    text = json.dumps([["eu", 1204], ["us", 987]])
    assert brief(["region", "n"], text, 2, RenderType.COUNTER) == Brief("1,204", "n", is_number=True)
