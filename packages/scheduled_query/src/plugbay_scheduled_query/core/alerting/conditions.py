"""What an alert waits for: the kinds of conditions, read from JSON with a sentence for each mistake."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Literal

from plugbay_scheduled_query.core.draft import FieldRefused
from plugbay_scheduled_query.core.metric import format_number, number_in
from plugbay_scheduled_query.core.model import Number
from plugbay_scheduled_query.core.text import quoted, unwelcome_character

Op = Literal[">", ">=", "<", "<=", "==", "!="]
Rows = Literal["first", "any", "all"]
Of = Literal["value", "rows", "result"]

OP_WORDS: dict[str, str] = {
    ">": "above",
    ">=": "at least",
    "<": "below",
    "<=": "at most",
    "==": "equal to",
    "!=": "not equal to",
}
MAX_COLUMN = 1000  # characters: as many as a column's name keeps
MAX_TIMES = 1000
MAX_MINUTES = 525_600  # a year


@dataclass(frozen=True, slots=True)
class ValueCondition:
    """A number of the result against a limit."""

    op: Op
    value: Number
    column: str | None = None
    rows: Rows = "first"
    kind: ClassVar[str] = "value"

    @property
    def words(self) -> str:
        what = f"“{self.column}”" if self.column else "the value"
        of_rows = {"first": "", "any": " in any row", "all": " in all rows"}[self.rows]
        return f"{what} is {OP_WORDS[self.op]} {format_number(self.value)}{of_rows}"


@dataclass(frozen=True, slots=True)
class RowsCondition:
    """How many rows there are, against a limit."""

    op: Op
    value: Number
    kind: ClassVar[str] = "rows"

    @property
    def words(self) -> str:
        return f"the number of rows is {OP_WORDS[self.op]} {format_number(self.value)}"


@dataclass(frozen=True, slots=True)
class ChangeCondition:
    """Something is not what it was at the success before."""

    of: Of = "value"
    column: str | None = None
    by: Number | None = None
    percent: bool = False
    kind: ClassVar[str] = "change"

    @property
    def words(self) -> str:
        what = {"value": "the value", "rows": "the number of rows", "result": "the result"}[self.of]
        if self.of == "value" and self.column:
            what = f"“{self.column}”"
        if self.by is None:
            return f"{what} changes"
        return f"{what} changes by {format_number(self.by)}{' %' if self.percent else ''} or more"


@dataclass(frozen=True, slots=True)
class NoDataCondition:
    """There are no rows, or NULL stands where the value should be."""

    kind: ClassVar[str] = "no_data"

    @property
    def words(self) -> str:
        return "there is no data"


@dataclass(frozen=True, slots=True)
class FailingCondition:
    """So many executions in a row failed or timed out."""

    times: int
    kind: ClassVar[str] = "failing"

    @property
    def words(self) -> str:
        return "an execution fails" if self.times == 1 else f"{self.times} executions in a row fail"


@dataclass(frozen=True, slots=True)
class StaleCondition:
    """No execution has succeeded for so long."""

    minutes: int
    kind: ClassVar[str] = "stale"

    @property
    def words(self) -> str:
        length = "a minute" if self.minutes == 1 else f"{self.minutes:,} minutes"
        return f"no execution has succeeded for {length}"


Condition = (
    ValueCondition | RowsCondition | ChangeCondition | NoDataCondition | FailingCondition | StaleCondition
)
Read = Callable[[Mapping[str, Any]], Condition]


def condition_json(condition: Condition) -> dict[str, Any]:
    """The object of the API; what is written so can be read back."""
    fields = {name: getattr(condition, name) for name in condition.__slots__}
    return {"kind": condition.kind} | {name: _plain(value) for name, value in fields.items()}


def check_condition(given: Any) -> Condition:
    """A condition from whatever was sent; raises FieldRefused."""
    if not isinstance(given, Mapping):
        raise FieldRefused('must be an object such as {"kind": "value", "op": ">", "value": 10}')
    read = _KINDS.get(given["kind"]) if isinstance(given.get("kind"), str) else None
    if read is None:
        raise FieldRefused(f"kind must be one of {', '.join(_KINDS)}")
    unknown = [name for name in given if name not in _KNOWN]
    if unknown:
        raise FieldRefused(f"{quoted(str(unknown[0]))} is not a field of a condition")
    return read(given)


def _value_condition(given: Mapping[str, Any]) -> Condition:
    rows: Any = _choice(given, "rows", ("first", "any", "all"), "first")
    return ValueCondition(_op(given), _number(given, "value"), _column(given), rows)


def _rows_condition(given: Mapping[str, Any]) -> Condition:
    return RowsCondition(_op(given), _number(given, "value"))


def _change_condition(given: Mapping[str, Any]) -> Condition:
    of: Any = _choice(given, "of", ("value", "rows", "result"), "value")
    by = None if given.get("by") is None else _number(given, "by")
    percent = given.get("percent") or False
    if not isinstance(percent, bool):
        raise FieldRefused("percent must be true or false")
    if by is not None and by <= 0:
        raise FieldRefused("by must be above 0")
    if by is not None and of == "result":
        raise FieldRefused("by is for the value or the number of rows: a result as a whole changes or not")
    return ChangeCondition(of, _column(given) if of == "value" else None, by, percent)


def _no_data_condition(given: Mapping[str, Any]) -> Condition:
    return NoDataCondition()


def _failing_condition(given: Mapping[str, Any]) -> Condition:
    return FailingCondition(_whole(given, "times", MAX_TIMES))


def _stale_condition(given: Mapping[str, Any]) -> Condition:
    return StaleCondition(_whole(given, "minutes", MAX_MINUTES))


_KINDS: dict[str, Read] = {
    "value": _value_condition,
    "rows": _rows_condition,
    "change": _change_condition,
    "no_data": _no_data_condition,
    "failing": _failing_condition,
    "stale": _stale_condition,
}
KINDS = tuple(_KINDS)
_KNOWN = ("kind", "op", "value", "column", "rows", "of", "by", "percent", "times", "minutes")


def _op(given: Mapping[str, Any]) -> Any:
    return _choice(given, "op", tuple(OP_WORDS), None)


def _choice(given: Mapping[str, Any], name: str, allowed: tuple[str, ...], default: str | None) -> str:
    value = given.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str) or value not in allowed:
        raise FieldRefused(f"{name} must be one of {', '.join(allowed)}")
    return value


def _number(given: Mapping[str, Any], name: str) -> Number:
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or number_in(value) is None:
        raise FieldRefused(f"{name} must be a number")
    # by its digits: the float 0.1 is not what a database calls 0.1
    return value if isinstance(value, int) else Decimal(repr(value))


def _whole(given: Mapping[str, Any], name: str, most: int) -> int:
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise FieldRefused(f"{name} must be a whole number from 1 to {most:,}")
    return value


def _column(given: Mapping[str, Any]) -> str | None:
    column = given.get("column")
    if column is None or column == "":
        return None
    if not isinstance(column, str) or len(column) > MAX_COLUMN:
        raise FieldRefused(f"column must be a text of at most {MAX_COLUMN:,} characters")
    if found := unwelcome_character(column, but_allowed="\n\t"):
        raise FieldRefused(f"column must not have {found}")
    return column


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value
