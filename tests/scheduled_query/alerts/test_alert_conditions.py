"""Every kind of condition against every kind of result: a table of cases."""

import json
from typing import Any

import pytest
from plugbay_scheduled_query.core.alerting.conditions import check_condition, condition_json
from plugbay_scheduled_query.core.alerting.judging import Evidence, Verdict, judge
from plugbay_scheduled_query.core.draft import FieldRefused
from plugbay_scheduled_query.core.model import Status

NO_NUMBER = "the result has no numeric value"
NO_ROWS = "the result has no rows"
MISSING = "the result has no column “x”"
NO_CELL = "“n” has no number in the first row"


def evidence(
    rows: list[list[Any]] | str, columns: tuple[str, ...] = ("n",), status: str = "success", **more: Any
) -> Evidence:
    text = rows if isinstance(rows, str) else json.dumps(rows)
    return Evidence(Status(status), columns, text, len(json.loads(text)), **more)


def verdict(condition: dict[str, Any], found: Evidence, memory: str | None = None) -> Verdict:
    return judge(check_condition(condition), found, memory)


def above(limit: float, **more: Any) -> dict[str, Any]:
    return {"kind": "value", "op": ">", "value": limit, **more}


VALUE_CASES = [
    # condition, rows, is it true, value, problem
    (above(10), [[11]], True, 11, None),
    (above(10), [[10]], False, 10, None),
    (above(10), [["eu", 11]], True, 11, None),
    (above(10), [["11.5"]], True, 11.5, None),
    (above(10), [[None], [11]], True, 11, None),
    (above(10), [[None]], None, None, NO_NUMBER),
    (above(10), [["many"]], None, None, NO_NUMBER),
    (above(0), [[True]], None, None, NO_NUMBER),
    (above(10), [], None, None, NO_ROWS),
    (above(10, column="n"), [[11], [1]], True, 11, None),
    (above(10, column="N"), [[11]], True, 11, None),
    (above(10, column="n"), [[None], [11]], None, None, NO_CELL),
    (above(10, column="n"), [["many"]], None, None, NO_CELL),
    (above(10, column="n"), [], None, None, NO_ROWS),
    (above(10, column="x"), [[11]], None, None, MISSING),
    (above(10, column="x"), [], None, None, MISSING),
    (above(10, rows="any"), [[1], [11], [12]], True, 11, None),
    (above(10, rows="any"), [[1], [2]], False, 1, None),
    (above(10, rows="any", column="n"), [[None], ["many"], [11]], True, 11, None),
    (above(10, rows="any", column="n"), [[None], ["many"]], False, None, None),
    (above(10, rows="any", column="n"), [], False, None, None),
    (above(10, rows="any", column="x"), [[11]], None, None, MISSING),
    (above(10, rows="all"), [[11], [12]], True, 11, None),
    (above(10, rows="all"), [[11], [10]], False, 11, None),
    (above(10, rows="all", column="n"), [[11], [None], ["many"]], True, 11, None),
    (above(10, rows="all", column="n"), [[None]], False, None, None),
    (above(10, rows="all", column="n"), [], False, None, None),
    (above(10, rows="all", column="x"), [], None, None, MISSING),
]


@pytest.mark.parametrize(("condition", "rows", "is_true", "value", "problem"), VALUE_CASES)
def test_a_value_against_a_limit(
    condition: dict[str, Any], rows: list[list[Any]], is_true: bool, value: float, problem: str
):
    found = verdict(condition, evidence(rows))
    assert (found.is_true, found.value, found.problem) == (is_true, value, problem)


OPERATORS = {">": "001", ">=": "011", "<": "100", "<=": "110", "==": "010", "!=": "101"}


@pytest.mark.parametrize("kind", ["value", "rows"])
@pytest.mark.parametrize("op", OPERATORS)
def test_each_operator_below_at_and_above_the_limit(kind: str, op: str):
    for count, expected in zip((1, 2, 3), OPERATORS[op], strict=True):
        found = verdict({"kind": kind, "op": op, "value": 2}, evidence([[count]] * count))
        assert (found.is_true, found.value) == (expected == "1", count)


@pytest.mark.parametrize("text", ["[[0.1]]", '[["0.1"]]', "[[0.10]]"])
def test_decimals_are_compared_by_their_digits(text: str):
    assert verdict({"kind": "value", "op": "==", "value": 0.1}, evidence(text)).is_true
    assert not verdict(above(0.1), evidence(text)).is_true


def test_an_integer_that_no_float_can_hold_is_compared_exactly():
    limit = 2**63
    assert verdict(above(limit), evidence([[limit + 1]])).is_true
    assert not verdict(above(limit), evidence([[limit]])).is_true


def test_the_digits_of_bytes_are_no_number():
    found = evidence([["1234"], ["99"]], binary=frozenset({0}))
    assert verdict(above(10), found).problem == NO_NUMBER
    assert verdict(above(10, column="n"), found).problem == NO_CELL
    assert verdict(above(10, rows="any"), found).is_true is False


def test_of_two_columns_that_differ_in_case_the_exact_one_counts():
    found = evidence([[1, 11]], columns=("N", "n"))
    assert verdict(above(10, column="n"), found).is_true
    assert not verdict(above(10, column="N"), found).is_true


def change(of: str = "value", **more: Any) -> dict[str, Any]:
    return {"kind": "change", "of": of, **more}


CHANGE_CASES = [
    # condition, the result before, the result now, is it true, problem
    (change(), [[5]], [[5]], False, None),
    (change(), [[5]], [[6]], True, None),
    (change(by=2), [[5]], [[6]], False, None),
    (change(by=2), [[5]], [[7]], True, None),
    (change(by=2), [[5]], [[3]], True, None),
    (change(by=20, percent=True), [[100]], [[119]], False, None),
    (change(by=20, percent=True), [[100]], [[120]], True, None),
    (change(by=20, percent=True), [[100]], [[80]], True, None),
    (change(by=20, percent=True), [[-100]], [[-80]], True, None),
    (change(by=20, percent=True), [[0]], [[0]], False, None),
    (change(by=20, percent=True), [[0]], [[0.001]], True, None),
    (change(by=0.1), [["0.1"]], [["0.2"]], True, None),
    (change(column="n"), [[5]], [[6]], True, None),
    (change(column="n"), [[5]], [[None]], None, NO_CELL),
    (change(column="x"), [[5]], [[6]], None, MISSING),
    (change(), [[5]], [], None, NO_ROWS),
    (change(), [[5]], [["text"]], None, NO_NUMBER),
    (change("rows"), [[5]], [[5], [6]], True, None),
    (change("rows"), [[5]], [[7]], False, None),
    (change("rows", by=2), [[5]], [[5], [6]], False, None),
    (change("rows"), [[5]], [], True, None),
    (change("result"), [[5]], [[5]], False, None),
    (change("result"), [["a"]], [["b"]], True, None),
    (change("result"), [], [[None]], True, None),
]


@pytest.mark.parametrize(("condition", "before", "now", "is_true", "problem"), CHANGE_CASES)
def test_a_change_since_the_success_before(
    condition: dict[str, Any],
    before: list[list[Any]],
    now: list[list[Any]],
    is_true: bool,
    problem: str | None,
):
    first = verdict(condition, evidence(before))
    then = verdict(condition, evidence(now), first.memory)
    assert (then.is_true, then.problem) == (is_true, problem)


@pytest.mark.parametrize("of", ["value", "rows", "result"])
def test_the_first_success_is_no_change_and_a_failure_forgets_nothing(of: str):
    first = verdict(change(of), evidence([[5]]))
    assert first.is_true is False
    failed = verdict(change(of), evidence([], status="failed"), first.memory)
    assert failed == Verdict(memory=first.memory)
    assert verdict(change(of), evidence([[6], [7]]), failed.memory).is_true


def test_what_has_no_number_leaves_the_number_before_in_place():
    first = verdict(change(), evidence([[5]]))
    nothing = verdict(change(), evidence([["text"]]), first.memory)
    assert verdict(change(), evidence([[5]]), nothing.memory).is_true is False


@pytest.mark.parametrize(
    ("rows", "is_true"),
    [
        ([], True),
        ([[None]], True),
        ([["eu", None]], True),
        ([[None], [5]], False),
        ([["text"]], False),
        ([[0]], False),
        ([[None, 3]], False),
    ],
)
def test_no_data_is_no_row_or_null_where_the_value_should_be(rows: list[list[Any]], is_true: bool):
    assert verdict({"kind": "no_data"}, evidence(rows)).is_true is is_true


def test_failing_counts_failures_and_timeouts_in_a_row():
    memory, found = None, []
    for status in ("failed", "timeout", "success", "timeout", "failed", "failed"):
        said = verdict({"kind": "failing", "times": 2}, evidence([], status=status), memory)
        memory = said.memory
        found.append((said.is_true, said.value))
    assert found == [(False, 1), (True, 2), (False, 0), (False, 1), (True, 2), (True, 3)]


def test_a_success_is_never_stale_and_a_failure_says_nothing():
    stale = {"kind": "stale", "minutes": 5}
    assert verdict(stale, evidence([[1]])).is_true is False
    assert verdict(stale, evidence([], status="failed")).is_true is None


@pytest.mark.parametrize(
    "condition",
    [above(1), above(1, rows="any"), {"kind": "rows", "op": ">", "value": 0}, {"kind": "no_data"}],
)
@pytest.mark.parametrize("status", ["failed", "timeout"])
def test_a_failure_says_nothing_about_results(condition: dict[str, Any], status: str):
    assert verdict(condition, evidence([[9]], status=status)) == Verdict()


GOOD = [
    {"kind": "value", "op": ">=", "value": 1.5, "column": "total", "rows": "any"},
    {"kind": "rows", "op": "==", "value": 0},
    {"kind": "change", "of": "value", "column": None, "by": 20, "percent": True},
    {"kind": "no_data"},
    {"kind": "failing", "times": 3},
    {"kind": "stale", "minutes": 60},
]


@pytest.mark.parametrize("given", GOOD, ids=lambda given: given["kind"])
def test_what_is_read_is_written_as_it_was(given: dict[str, Any]):
    assert condition_json(check_condition(given)) == given
    assert check_condition(given).words


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (None, "object"),
        ("value", "object"),
        ({}, "kind"),
        ({"kind": "surprise"}, "kind"),
        ({"kind": ["value"]}, "kind"),
        ({"kind": "value", "op": "=>", "value": 1}, "op"),
        ({"kind": "value", "op": ">", "value": "1"}, "value"),
        ({"kind": "value", "op": ">", "value": True}, "value"),
        ({"kind": "value", "op": ">", "value": float("nan")}, "value"),
        ({"kind": "value", "op": ">", "value": 10**400}, "value"),
        ({"kind": "value", "op": ">"}, "value"),
        ({"kind": "value", "op": ">", "value": 1, "rows": "some"}, "rows"),
        ({"kind": "value", "op": ">", "value": 1, "column": 3}, "column"),
        ({"kind": "value", "op": ">", "value": 1, "column": "a\0b"}, "column"),
        ({"kind": "value", "op": ">", "value": 1, "colum": "n"}, "colum"),
        ({"kind": "change", "of": "everything"}, "of"),
        ({"kind": "change", "of": "result", "by": 3}, "by"),
        ({"kind": "change", "by": 0}, "by"),
        ({"kind": "change", "percent": "yes"}, "percent"),
        ({"kind": "failing"}, "times"),
        ({"kind": "failing", "times": 0}, "times"),
        ({"kind": "stale", "minutes": 1.5}, "minutes"),
        ({"kind": "stale", "minutes": 10**9}, "minutes"),
    ],
)
def test_a_bad_condition_is_refused_by_the_name_of_its_field(given: Any, word: str):
    with pytest.raises(FieldRefused, match=word):
        check_condition(given)
