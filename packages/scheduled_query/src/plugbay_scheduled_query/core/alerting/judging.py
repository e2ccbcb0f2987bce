"""What a condition says of an execution, and how the state of its alert follows."""

import hashlib
import json
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

from plugbay_scheduled_query.core.alerting.conditions import (
    ChangeCondition,
    Condition,
    FailingCondition,
    NoDataCondition,
    RowsCondition,
    StaleCondition,
    ValueCondition,
)
from plugbay_scheduled_query.core.alerting.model import Standing, State
from plugbay_scheduled_query.core.metric import first_number, number_in
from plugbay_scheduled_query.core.model import Number, Status
from plugbay_scheduled_query.core.results import iter_rows

MOST_COUNTED = 1_000_000  # in a row: no rule asks for more, and an alert may fire for years
NO_ROWS = "the result has no rows"

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True)
class Evidence:
    """What one execution brought; its rows are decoded when they are first looked at."""

    status: Status
    columns: Sequence[str] = ()
    text: str = "[]"
    row_count: int = 0
    binary: frozenset[int] = frozenset()

    @property
    def is_success(self) -> bool:
        return self.status is Status.SUCCESS

    @cached_property
    def first_row(self) -> list[Any] | None:
        return next(iter_rows(self.text), None)

    @cached_property
    def rows(self) -> list[list[Any]]:
        """All of them at once, which is quicker than one by one."""
        found: list[list[Any]] = json.loads(self.text, parse_float=Decimal)
        return found

    @cached_property
    def first_number(self) -> Number | None:
        """As for the gauge: row by row, left to right."""
        return first_number(iter_rows(self.text), self.binary)

    def index_of(self, column: str) -> int | None:
        """Where a column stands: by its exact name, else without regard to case."""
        names = list(self.columns)
        if column in names:
            return names.index(column)
        folded = [name.casefold() for name in names]
        return folded.index(column.casefold()) if column.casefold() in folded else None

    def number_at(self, row: Sequence[Any], index: int) -> Number | None:
        """The number in a cell; bytes are none, whatever their digits spell."""
        return None if index in self.binary or index >= len(row) else number_in(row[index])


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a condition is true; None where an execution says nothing about it, with the problem if any.

    `memory` is what the next judgement needs to know of this one.
    """

    is_true: bool | None = None
    value: Number | None = None
    problem: str | None = None
    memory: str | None = None


def judge(condition: Condition, evidence: Evidence, memory: str | None = None) -> Verdict:
    """What an execution says; `memory` is that of the verdict before. The time of `stale` is another's."""
    if not evidence.is_success and not isinstance(condition, FailingCondition):
        return Verdict(memory=memory)
    return _JUDGES[type(condition)](condition, evidence, memory)


def judge_age(condition: StaleCondition, counts_from: datetime, now: datetime) -> Verdict:
    """Whether the last success is too long ago."""
    minutes = int((now - counts_from).total_seconds() // 60)
    return Verdict(minutes >= condition.minutes, minutes)


def follow(standing: Standing, is_true: bool, for_runs: int, recover_runs: int) -> Standing:
    """The standing after one more judgement."""
    if is_true:
        trues = min(standing.trues + 1, MOST_COUNTED)
        fires = standing.state is State.FIRING or trues >= for_runs
        return Standing(State.FIRING if fires else State.PENDING, trues)
    falses = standing.falses + 1
    if standing.state is State.FIRING and falses < recover_runs:
        return Standing(State.FIRING, 0, falses)
    return Standing(State.OK)


def _judge_value(condition: ValueCondition, evidence: Evidence, memory: str | None) -> Verdict:
    if condition.rows == "first":
        found = _number_of(evidence, condition.column)
        if isinstance(found, str):
            return Verdict(problem=found)
        return Verdict(_COMPARE[condition.op](found, condition.value), found)
    if condition.column and evidence.index_of(condition.column) is None:
        return Verdict(problem=_missing(condition.column))
    return _judge_rows(condition, list(_numbers_of(evidence, condition.column)))


def _judge_rows(condition: ValueCondition, numbers: list[Number]) -> Verdict:
    """Any or all of the rows that have a number; without any, false."""
    compare = _COMPARE[condition.op]
    true = [number for number in numbers if compare(number, condition.value)]
    is_true = bool(true) and (condition.rows == "any" or len(true) == len(numbers))
    shown = true if is_true else numbers
    return Verdict(is_true, shown[0] if shown else None)


def _judge_row_count(condition: RowsCondition, evidence: Evidence, memory: str | None) -> Verdict:
    count = evidence.row_count
    return Verdict(_COMPARE[condition.op](count, condition.value), count)


def _judge_change(condition: ChangeCondition, evidence: Evidence, memory: str | None) -> Verdict:
    if condition.of == "result":
        return _change_of_result(evidence, memory)
    found = evidence.row_count if condition.of == "rows" else _number_of(evidence, condition.column)
    if isinstance(found, str):
        return Verdict(problem=found, memory=memory)
    is_true = memory is not None and _has_changed(Decimal(memory), found, condition)
    return Verdict(is_true, found, memory=str(found))


def _change_of_result(evidence: Evidence, memory: str | None) -> Verdict:
    shown = repr(tuple(evidence.columns)) + evidence.text
    now = hashlib.blake2b(shown.encode(errors="replace"), digest_size=16).hexdigest()
    return Verdict(memory not in (None, now), memory=now)


def _has_changed(before: Decimal, after: Number, condition: ChangeCondition) -> bool:
    difference = abs(Decimal(after) - before)
    if condition.by is None or (condition.percent and before == 0):
        return difference != 0
    if condition.percent:
        return difference * 100 >= Decimal(condition.by) * abs(before)
    return difference >= condition.by


def _judge_no_data(condition: NoDataCondition, evidence: Evidence, memory: str | None) -> Verdict:
    if evidence.first_row is None:
        return Verdict(True)
    number = evidence.first_number
    return Verdict(number is None and None in evidence.first_row, number)


def _judge_failing(condition: FailingCondition, evidence: Evidence, memory: str | None) -> Verdict:
    failures = 0 if evidence.is_success else min(int(memory or 0) + 1, MOST_COUNTED)
    return Verdict(failures >= condition.times, failures, memory=str(failures))


def _judge_stale(condition: StaleCondition, evidence: Evidence, memory: str | None) -> Verdict:
    return Verdict(False, 0)


_JUDGES: dict[type, Callable[[Any, Evidence, str | None], Verdict]] = {
    ValueCondition: _judge_value,
    RowsCondition: _judge_row_count,
    ChangeCondition: _judge_change,
    NoDataCondition: _judge_no_data,
    FailingCondition: _judge_failing,
    StaleCondition: _judge_stale,
}


def _number_of(evidence: Evidence, column: str | None) -> Number | str:
    """The number to judge, or why there is none."""
    if column is None:
        number = evidence.first_number
        if number is None:
            return "the result has no numeric value" if evidence.row_count else NO_ROWS
        return number
    index = evidence.index_of(column)
    if index is None:
        return _missing(column)
    if evidence.first_row is None:
        return NO_ROWS
    number = evidence.number_at(evidence.first_row, index)
    return f"“{column}” has no number in the first row" if number is None else number


def _numbers_of(evidence: Evidence, column: str | None) -> Iterator[Number]:
    """One number for each row that has one."""
    index = evidence.index_of(column) if column else None
    if index is None:
        found = (first_number([row], evidence.binary) for row in evidence.rows)
    else:
        found = (evidence.number_at(row, index) for row in evidence.rows)
    return (number for number in found if number is not None)


def _missing(column: str) -> str:
    return f"the result has no column “{column}”"
