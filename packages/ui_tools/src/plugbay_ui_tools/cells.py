"""The cells of a table by what they hold: numbers, nothing, truth, moments, long text."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from plugbay_ui_tools.filters import format_number, read_number

MAX_DIGITS = 40  # a longer row of digits is text: nobody compares its size
LONG_TEXT = 90  # characters; more are folded away behind the first ones
PREVIEW = 80
MAX_PLACES = 4  # decimals that numbers of a column are lined up by
ISO_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
# digits that name a thing are not an amount: grouping them would only make them harder to compare
NAMING_COLUMN = re.compile(r"(^|_)(id|ids|no|nr|year|zip|code|pid|port|version)$", re.IGNORECASE)


@dataclass(frozen=True)
class Cell:
    """One value as a table shows it; `sort` is what its column is ordered by."""

    kind: str
    text: str
    sort: str = ""
    full: str = ""


@dataclass(frozen=True)
class Column:
    """A column's name and what it holds: `number`, `moment`, `bool` or `text`."""

    label: str
    kind: str = "text"

    @property
    def is_number(self) -> bool:
        return self.kind == "number"


@dataclass(frozen=True)
class Grid:
    """A table ready to be shown."""

    columns: list[Column]
    rows: list[list[Cell]]


def typed_grid(labels: Sequence[str], rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> Grid:
    """Columns and rows of a result, each cell by its type; a short row is filled with nothing."""
    plain = [[row.get(label) for label in labels] if isinstance(row, Mapping) else list(row) for row in rows]
    filled = [row[: len(labels)] + [None] * (len(labels) - len(row)) for row in plain]
    kinds = [column_kind(row[index] for row in filled) for index in range(len(labels))]
    columns = [Column(str(label), kind) for label, kind in zip(labels, kinds, strict=True)]
    cells = [list(map(_cell_of, row, columns)) for row in filled]
    return Grid(columns, _aligned(cells, columns, filled))


def column_kind(values: Iterable[Any]) -> str:
    """What all values have in common, leaving out those that are nothing."""
    kinds = {value_kind(value) for value in values if value is not None}
    return kinds.pop() if len(kinds) == 1 else "text"


def value_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if read_number(value) is not None and len(spell(value)) <= MAX_DIGITS:
        return "number"
    if isinstance(value, date | time) or (isinstance(value, str) and ISO_MOMENT.fullmatch(value)):
        return "moment"
    return "text"


def make_cell(value: Any, *, grouped: bool = True) -> Cell:
    """The cell of one value."""
    if value is None:
        return Cell("null", "NULL")
    match value_kind(value):
        case "bool":
            return Cell("bool", "true" if value else "false", sort=str(int(value)))
        case "number":
            full = spell(value)
            return Cell("number", format_number(value) if grouped else full, sort=full, full=full)
        case "moment":
            return Cell("moment", _moment_text(value))
    text = spell(value)
    if len(text) > LONG_TEXT or "\n" in text:
        return Cell("long", text[:PREVIEW].replace("\n", " ").rstrip() + "…", full=text)
    return Cell("text", text)


def spell(value: Any) -> str:
    """The value as text, without grouping or loss; what is made of others as JSON."""
    if isinstance(value, list | dict):
        return _json(value)
    return str(read_number(value)) if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _json(value: Any) -> str:
    """JSON in which a decimal keeps its digits, which Python's own would make a float of."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_json(str(key))}: {_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_json, value)) + "]"
    is_plain = isinstance(value, Decimal) and value.is_finite()
    return str(value) if is_plain else json.dumps(value, ensure_ascii=False, default=str)


def _aligned(
    rows: list[list[Cell]], columns: Sequence[Column], values: Sequence[Sequence[Any]]
) -> list[list[Cell]]:
    """The rows with as many decimals in all numbers of a column as the longest of them has.

    Digits that name a thing, and those that came as text, are left as they are: 1.2 is not the version 1.20.
    """

    def places(index: int, column: Column) -> int:
        is_text = any(isinstance(row[index], str) for row in values)
        is_amount = column.is_number and not is_text and not NAMING_COLUMN.search(column.label)
        return _places(row[index] for row in rows) if is_amount else 0

    most = [places(index, column) for index, column in enumerate(columns)]
    return [[_with_places(cell, count) for cell, count in zip(row, most, strict=True)] for row in rows]


def _places(cells: Iterable[Cell]) -> int:
    """0 where the numbers are too different to be lined up."""
    texts = [cell.text for cell in cells if cell.kind == "number"]
    most = max((len(text.partition(".")[2]) for text in texts), default=0)
    return most if most <= MAX_PLACES and "e" not in "".join(texts).lower() else 0


def _with_places(cell: Cell, places: int) -> Cell:
    if not places or cell.kind != "number":
        return cell
    whole, _, decimals = cell.text.partition(".")
    return replace(cell, text=f"{whole}.{decimals:0<{places}}")


def _cell_of(value: Any, column: Column) -> Cell:
    cell = make_cell(value, grouped=not NAMING_COLUMN.search(column.label))
    # a number or date among other things is text: the column would not be comparable otherwise
    is_stranger = column.kind == "text" and cell.kind in ("number", "moment", "bool")
    return Cell("text", spell(value)) if is_stranger else cell


def _moment_text(value: Any) -> str:
    text = value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)
    return text.replace("T", " ", 1)
