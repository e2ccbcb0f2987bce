"""What changed between two results."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.diff import (
    MAX_CELLS,
    MAX_LISTED,
    MAX_ROWS,
    CellChange,
    ResultDiff,
    RowChange,
    compare,
)

Rows = list[list[object]]


def diff(columns: list[str], before: Rows, after: Rows, columns_after: list[str] | None = None) -> ResultDiff:
    return compare(columns, json.dumps(before), columns_after or columns, json.dumps(after))


def test_a_result_does_not_differ_from_itself() -> None:
    same = [["eu", 1, None], ["us", 2.5, [1, {"a": True}]]]
    found = diff(["region", "n", "more"], same, same)
    assert found.is_empty
    assert not found.is_partial


def test_two_single_rows_are_compared_cell_by_cell() -> None:
    found = diff(["orders", "revenue"], [[5, 100]], [[6, 100]])
    assert found.rows.changed == (RowChange(None, (CellChange("orders", 5, 6),)),)
    assert (found.rows.changed_count, found.rows.added_count, found.rows.removed_count) == (1, 0, 0)


def test_rows_are_matched_by_the_column_that_names_them() -> None:
    found = diff(
        ["n", "country", "orders"],
        [[1, "Germany", 10], [2, "France", 20], [3, "Spain", 30]],
        [[1, "France", 25], [2, "Germany", 10], [3, "Italy", 5]],
    )
    assert found.rows.key_column == "country"
    assert found.rows.added == ([3, "Italy", 5],)
    assert found.rows.removed == ([3, "Spain", 30],)
    assert found.rows.changed == (
        RowChange("France", (CellChange("n", 2, 1), CellChange("orders", 20, 25))),
        RowChange("Germany", (CellChange("n", 1, 2),)),
    )


def test_without_a_naming_text_a_whole_number_names_the_rows() -> None:
    found = diff(["id", "state"], [[1, "a"], [2, "a"]], [[1, "a"], [2, "b"]])
    assert found.rows.key_column == "id"
    assert found.rows.changed == (RowChange(2, (CellChange("state", "a", "b"),)),)


def test_the_order_of_named_rows_is_no_change() -> None:
    assert diff(["id", "v"], [[1, "x"], [2, "x"]], [[2, "x"], [1, "x"]]).is_empty


def test_rows_that_nothing_names_are_counted() -> None:
    found = diff(["v"], [["a"], ["a"], ["b"]], [["a"], ["b"], ["b"], ["c"]])
    assert found.rows.key_column is None
    assert found.rows.added == (["b"], ["c"])
    assert found.rows.removed == (["a"],)


def test_a_fraction_never_names_a_row() -> None:
    found = diff(["price"], [[1.5], [2.5]], [[1.5], [3.5]])
    assert found.rows.key_column is None
    assert (found.rows.added_count, found.rows.removed_count) == (1, 1)


def test_one_side_without_rows() -> None:
    found = diff(["id"], [], [[1], [2]])
    assert (found.rows.added_count, found.rows.removed_count) == (2, 0)
    assert diff(["id"], [[1]], []).rows.removed == ([1],)
    assert diff(["id"], [], []).is_empty


def test_columns_that_came_and_went_are_named_and_the_others_compared() -> None:
    found = diff(
        ["id", "old", "v"], [[1, "x", "a"], [2, "y", "b"]], [["a", 1, 0], ["c", 2, 0]], ["v", "id", "new"]
    )
    assert (found.columns_added, found.columns_removed) == (("new",), ("old",))
    assert found.rows.changed_count + found.rows.added_count > 0


def test_columns_that_only_changed_places_are_no_change() -> None:
    assert diff(["a", "b"], [[1, "x"], [2, "y"]], [["x", 1], ["y", 2]], ["b", "a"]).is_empty


def test_columns_of_one_name_are_told_apart_by_their_order() -> None:
    found = diff(["n", "n"], [[1, 2]], [[1, 3]])
    assert found.rows.changed == (RowChange(None, (CellChange("n", 2, 3),)),)
    assert diff(["n", "n"], [[1, 2]], [[1]], ["n"]).columns_removed == ("n",)


def test_true_is_not_one_and_a_text_is_not_a_number() -> None:
    assert not diff(["v"], [[True]], [[1]]).is_empty
    assert not diff(["v"], [["1"]], [[1]]).is_empty
    assert diff(["v"], [[1]], [[1.0]]).is_empty


def test_nested_values_are_compared_by_content() -> None:
    assert diff(["v"], [[{"a": 1, "b": [2]}]], [[{"b": [2], "a": 1}]]).is_empty
    assert not diff(["v"], [[{"a": [1, 2]}]], [[{"a": [2, 1]}]]).is_empty


def test_many_changes_are_counted_in_full_and_listed_in_part() -> None:
    found = diff(["id", "v"], [[n, "x"] for n in range(1_000)], [[n, "y"] for n in range(500, 1_500)])
    assert (found.rows.added_count, found.rows.removed_count, found.rows.changed_count) == (500, 500, 500)
    assert len(found.rows.added) == len(found.rows.removed) == len(found.rows.changed) == MAX_LISTED


def test_what_is_beyond_the_limit_is_not_compared_and_that_is_said() -> None:
    rows: Rows = [[n] for n in range(MAX_ROWS + 1)]
    assert diff(["id"], rows[:-1], rows).is_partial
    assert not diff(["id"], rows[:-1], rows[:-1]).is_partial


def test_a_row_with_many_changes_lists_some_and_counts_the_rest() -> None:
    width = MAX_CELLS + 5
    names = [f"c{n}" for n in range(width)]
    (change,) = diff(names, [[0] * width], [[1] * width]).rows.changed
    assert ([cell.column for cell in change.cells], change.more) == (names[:MAX_CELLS], 5)


def test_a_text_that_is_too_long_is_compared_as_far_as_both_sides_were_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("plugbay_scheduled_query.core.diff.MAX_TEXT", 50)
    long, short = [[n, "x" * 20] for n in range(5)], [[n, "x"] for n in range(5)]
    found = diff(["id", "v"], short, long)
    assert (found.is_partial, found.compared) == (True, 1)
    assert (found.rows.changed_count, found.rows.added_count, found.rows.removed_count) == (1, 0, 0)


def test_rows_without_a_name_are_compared_by_value_however_they_are_written() -> None:
    before = [[1, "a"], [1, "a"], [100, None], [2.50, "b"]]
    after = [[1.0, "a"], [1e2, None], [2.5, "b"], [-1, "a"], [1, "a"]]
    found = diff(["n", "t"], before, after).rows
    assert (found.key_column, found.added, found.removed) == (None, ([-1, "a"],), ())
    assert not diff(["n", "t"], [[-1, 0], [-1, 0]], [[-2, 0], [-2, 0]]).is_empty
    assert not diff(["a", "b"], [["x,1:y", "z"]] * 2, [["x", "y,z"]] * 2).is_empty


KEYED = st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.integers(0, 3), min_size=2, max_size=15)


@given(KEYED, KEYED)
def test_a_diff_of_named_rows_leads_from_one_to_the_other(
    before: dict[str, int], after: dict[str, int]
) -> None:
    found = diff(["k", "v"], [[k, v] for k, v in before.items()], [[k, v] for k, v in after.items()]).rows
    patched = {key: value for key, value in before.items() if [key, value] not in list(found.removed)}
    patched |= {str(row[0]): row[1] for row in found.added}
    patched |= {change.key: change.cells[-1].after for change in found.changed}
    assert patched == after


@given(st.lists(st.integers(0, 3), max_size=20), st.lists(st.integers(0, 3), max_size=20))
def test_a_diff_of_nameless_rows_leads_from_one_to_the_other(before: list[int], after: list[int]) -> None:
    rows = diff(["v", "v"], [[n, 0] for n in before], [[n, 0] for n in after]).rows
    if not rows.changed:
        kept = list(before)
        for row in rows.removed:
            kept.remove(int(row[0]))
        assert sorted(kept + [int(row[0]) for row in rows.added]) == sorted(after)
