"""Versions compared: the fields that differ, and the lines of the SQL."""

import pytest
from plugbay_scheduled_query.core.versions import (
    MAX_MATCHED,
    Version,
    changed_in,
    field_changes,
    line_diff,
    with_changes,
)

MARKS = {"same": " ", "added": "+", "removed": "-", "skipped": "~"}


def drawn(before: str, after: str) -> list[str]:
    return [f"{MARKS[line.kind]}{line.text}" for line in line_diff(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        pytest.param("a\nb\nc", "a\nB\nc", [" a", "-b", "+B", " c"], id="changed"),
        pytest.param("a", "a\nb", [" a", "+b"], id="added"),
        pytest.param("a\nb", "b", ["-a", " b"], id="removed"),
        pytest.param("", "a", ["+a"], id="from_nothing"),
        pytest.param("a\na\na", "a\na", [" a", " a", "-a"], id="one_of_many_alike"),
        pytest.param("a\r\nb", "a\nb", ["~2 lines the same"], id="line_ends_are_none"),
        pytest.param("a", "a", ["~1 line the same"], id="the_same"),
    ],
)
def test_the_lines_of_two_texts_are_compared(before: str, after: str, lines: list[str]):
    assert drawn(before, after) == lines


def test_what_is_far_from_a_change_is_left_out_and_counted():
    text = [f"line {n}" for n in range(1, 21)]
    lines = drawn("\n".join(text), "\n".join([*text[:9], "new", *text[9:]]))
    around = [" line 7", " line 8", " line 9", "+new", " line 10", " line 11", " line 12"]
    assert lines == ["~6 lines the same", *around, "~8 lines the same"]


def test_lines_have_the_numbers_of_their_own_text():
    found = [(line.before, line.after) for line in line_diff("a\nb\nc", "a\nc")]
    assert found == [(1, 1), (2, None), (3, 2)]


def test_texts_that_differ_in_too_many_lines_are_not_matched():
    many = MAX_MATCHED + 1
    lines = line_diff("\n".join(["x"] * many), "\n".join(["y", "x"] * many))
    assert [line.kind for line in lines].count("removed") == many - 1  # the last line of both is the same


def test_fields_differ_by_their_values():
    before = {"name": "A", "tags": ["x"], "enabled": True, "query": "SELECT 1", "timeout": None}
    after = {"name": "A", "tags": ["x", "y"], "enabled": False, "query": "SELECT 2", "timeout": 5}
    assert changed_in(before, after) == ("query", "enabled", "timeout", "tags")
    found = {one.name: (one.before, one.after) for one in field_changes(before, after)}
    assert found == {"enabled": ("yes", "no"), "timeout": ("–", "5"), "tags": ("x", "x, y")}


def test_a_field_that_a_version_is_too_old_to_have_is_not_compared():
    assert changed_in({"name": "A"}, {"name": "B", "chart": None}) == ("name",)


def test_each_version_is_compared_with_the_one_before_it_and_the_first_with_nothing():
    names = ["C", "B", "B"]
    found = with_changes([Version(3 - n, None, None, {"name": name}) for n, name in enumerate(names)])
    assert [(one.version, one.changed) for one in found] == [(3, ("name",)), (2, ()), (1, ())]
    assert with_changes([]) == []
