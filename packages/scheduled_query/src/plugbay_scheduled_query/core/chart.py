"""How the rows of a table are drawn: as bars or lines, from columns that its author chose."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, get_args

from plugbay_scheduled_query.core.metric import number_in
from plugbay_scheduled_query.core.model import ChartConfig, ChartKind
from plugbay_scheduled_query.core.text import quoted, unwelcome_character

KINDS: tuple[str, ...] = get_args(ChartKind)
MAX_LINES = 8  # columns beside each other: more cannot be told apart by colour
MAX_COLUMN = 200  # characters of a column's name
MAX_POINTS = 500  # rows that are drawn

_EXAMPLE = 'must be an object such as {"kind": "bar", "x": "country", "y": ["orders"]}'


class BadChart(ValueError):
    """What is wrong with a chart."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The points of a chart; `left_out` counts the rows beyond those that are drawn."""

    kind: ChartKind
    x: list[Any]
    series: list[dict[str, Any]]
    left_out: int = 0


def check_chart(given: Mapping[str, Any]) -> ChartConfig:
    """A chart from what was sent; raises BadChart."""
    if unknown := sorted(given.keys() - {"kind", "x", "y"}):
        raise BadChart(f"has no field {quoted(str(unknown[0]))}; {_EXAMPLE}")
    kind, x, y = (given.get(name) for name in ("kind", "x", "y"))
    if kind not in KINDS:
        raise BadChart(f"the kind must be one of: {', '.join(KINDS)}")
    if not isinstance(y, list | tuple) or not 1 <= len(y) <= MAX_LINES:
        raise BadChart(f"y must be a list of 1 to {MAX_LINES} columns")
    columns = [_column(name) for name in (x, *y)]
    if len(set(columns)) < len(columns):
        raise BadChart("each column can be drawn once")
    return ChartConfig(kind, columns[0], tuple(columns[1:]))


def missing_columns(chart: ChartConfig, columns: Sequence[str]) -> list[str]:
    """Those of its columns that a result does not have."""
    return [name for name in (chart.x, *chart.y) if _index(name, columns) is None]


def draw(
    chart: ChartConfig, columns: Sequence[str], rows: Iterable[Sequence[Any]], row_count: int
) -> Drawing | None:
    """The points of a result; None where a column is missing or there is no number to draw."""
    places = [_index(name, columns) for name in (chart.x, *chart.y)]
    if None in places:
        return None
    found = [[row[place] for place in places if place is not None] for row in islice(rows, MAX_POINTS)]
    series = [
        {"label": name, "values": [_height(row[number]) for row in found]}
        for number, name in enumerate(chart.y, 1)
    ]
    if not any(value is not None for one in series for value in one["values"]):
        return None
    return Drawing(chart.kind, [_mark(row[0]) for row in found], series, max(0, row_count - len(found)))


def _column(name: Any) -> str:
    if not isinstance(name, str) or not name or len(name) > MAX_COLUMN or unwelcome_character(name):
        raise BadChart(f"x and y must name columns, of at most {MAX_COLUMN} characters")
    return name


def _index(name: str, columns: Sequence[str]) -> int | None:
    """By its exact name, else without regard to case."""
    if name in columns:
        return columns.index(name)
    folded = [column.casefold() for column in columns]
    return folded.index(name.casefold()) if name.casefold() in folded else None


def _height(cell: object) -> float | None:
    number = number_in(cell)
    return None if number is None else float(number)


def _mark(cell: object) -> Any:
    """A number or a text that stands on the axis."""
    number = number_in(cell) if not isinstance(cell, str) else None
    if number is not None:
        return float(number) if number % 1 else int(number)
    return "NULL" if cell is None else str(cell)
