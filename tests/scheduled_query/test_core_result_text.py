"""Stored results: read row by row, and previewed."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.results import PREVIEW_BYTES, PREVIEW_ROWS, iter_rows, preview, read_rows

CELLS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=20)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=80)
)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("[]", []),
        ("[ ]", []),
        ("[[]]", [[]]),
        ("[[1]]", [[1]]),
        ('[[1,"a"],[2,"b"]]', [[1, "a"], [2, "b"]]),
        ('[ [1, "a"] ,\n [2, "b"] ]', [[1, "a"], [2, "b"]]),
        ('[["],[",null,true]]', [["],[", None, True]]),
        ('[[{"a": [1, 2]}]]', [[{"a": [1, 2]}]]),
    ],
)
def test_rows_are_read_from_any_array_of_arrays(text: str, rows: list[list[object]]) -> None:
    assert read_rows(text) == rows


@given(TABLES)
def test_what_was_written_as_json_is_read_back(rows: list[list[object]]) -> None:
    assert read_rows(json.dumps(rows)) == rows
    assert (
        read_rows(json.dumps(rows, ensure_ascii=False, indent=1).encode(errors="replace").decode())
        is not None
    )


def test_decimals_come_back_digit_by_digit() -> None:
    assert read_rows("[[12.50, 0.1, 1E+30]]") == [[Decimal("12.50"), Decimal("0.1"), Decimal("1E+30")]]
    assert str(read_rows("[[12.50]]")[0][0]) == "12.50"


def test_integers_come_back_at_any_size() -> None:
    assert read_rows(f"[[{10**100}]]") == [[10**100]]


def test_only_the_rows_asked_for_are_decoded() -> None:
    assert read_rows("[[1],[2],[not JSON", limit=2) == [[1], [2]]
    rows = iter_rows("[[1],[not JSON")
    assert next(rows) == [1]
    with pytest.raises(json.JSONDecodeError):
        next(rows)


def test_half_a_character_is_replaced_wherever_it_stands() -> None:
    assert read_rows(r'[["\udc80", {"\ud800": ["x\udfff"]}, 1]]') == [["\ufffd", {"\ufffd": ["x\ufffd"]}, 1]]


def test_a_character_that_was_escaped_in_two_halves_is_whole() -> None:
    assert read_rows(r'[["\ud83d\ude00"]]') == [["😀"]]


# --- previews --------------------------------------------------------------------------------------------


def test_a_small_result_is_its_own_preview() -> None:
    assert preview('[[1,"a"],[2,"b"]]') == ('[[1,"a"],[2,"b"]]', True)
    assert preview("[]") == ("[]", True)


def test_a_preview_has_fifty_rows() -> None:
    at_the_limit = json.dumps([[n] for n in range(PREVIEW_ROWS)])
    assert preview(at_the_limit).is_whole
    shown = preview(json.dumps([[n] for n in range(PREVIEW_ROWS + 1)]))
    assert read_rows(shown.text) == [[n] for n in range(50)]
    assert not shown.is_whole


def test_a_preview_has_at_most_64_kilobytes_in_whole_rows() -> None:
    shown = preview(json.dumps([["ä" * 5_000]] * 20, ensure_ascii=False))
    assert len(shown.text.encode()) <= PREVIEW_BYTES
    assert read_rows(shown.text) == [["ä" * 5_000]] * 6
    assert not shown.is_whole


def test_a_single_row_that_is_too_long_is_shown_with_its_cells_cut() -> None:
    shown = preview(json.dumps([["x" * 70_000, 5, None, "short"], ["second", 1, 2, 3]]))
    assert read_rows(shown.text) == [["x" * 200, 5, None, "short"]]
    assert not shown.is_whole


def test_decimals_of_a_row_that_is_cut_keep_their_digits() -> None:
    shown = preview('[["' + "x" * 70_000 + '",12.50]]')
    assert read_rows(shown.text) == [["x" * 200, "12.50"]]


def test_a_row_that_is_too_wide_even_then_is_left_out() -> None:
    assert preview(json.dumps([["y" * 300] * 1_000])) == ("[]", False)


def test_what_a_preview_does_not_show_is_not_decoded() -> None:
    assert not preview(json.dumps([[n] for n in range(51)])[:-1] + ",[not JSON").is_whole


@given(TABLES)
def test_a_preview_is_the_beginning_of_its_result(rows: list[list[object]]) -> None:
    shown = preview(json.dumps(rows))
    assert read_rows(shown.text) == rows[:PREVIEW_ROWS]
    assert shown.is_whole == (len(rows) <= PREVIEW_ROWS)
