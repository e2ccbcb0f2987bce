"""What a page shows of a result: a counter, a table or its raw text."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from plugbay_scheduled_query.core.metric import format_number, number_in
from plugbay_scheduled_query.core.model import Number, RenderType
from plugbay_scheduled_query.core.results import PREVIEW_ROWS, read_rows

BRIEF_CELLS = 6  # of the first row
BRIEF_TEXT = 80  # characters of a cell
NOISE = Decimal("1e-12")  # a share of a number that a float cannot tell from it


@dataclass(frozen=True, slots=True)
class Change:
    """How a value moved against the one before: `direction` is -1, 0 or 1."""

    direction: int
    text: str


@dataclass(frozen=True, slots=True)
class Counter:
    """One large number: its text, all its digits, the column it came from, and how it changed."""

    value: Number
    text: str
    exact: str
    label: str
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Rendered:
    """A result made ready to be shown; `kind` is counter, table or raw."""

    kind: RenderType
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    text: str
    counter: Counter | None = None


def render(
    render_type: RenderType,
    columns: Sequence[str],
    text: str,
    previous: float | None = None,
    is_whole: bool = True,
) -> Rendered:
    """A result, or the preview of a larger one (`is_whole` false), in the form that was asked for."""
    rows = read_rows(text, PREVIEW_ROWS)
    kind = detect(columns, rows, is_whole) if render_type is RenderType.AUTO else render_type
    if kind in (RenderType.COUNTER, RenderType.METRIC):
        counter = count(columns, rows, previous)
        return Rendered(RenderType.COUNTER if counter else RenderType.RAW, columns, rows, text, counter)
    return Rendered(kind if columns else RenderType.RAW, columns, rows, text)


def detect(columns: Sequence[str], rows: Sequence[Sequence[object]], is_whole: bool = True) -> RenderType:
    """The form that suits a result: one number, rows and columns, or anything else."""
    if len(columns) == len(rows) == 1 and is_whole and number_in(rows[0][0]) is not None:
        return RenderType.COUNTER
    return RenderType.TABLE if columns and rows else RenderType.RAW


def count(
    columns: Sequence[str], rows: Sequence[Sequence[object]], previous: float | None = None
) -> Counter | None:
    """The first numeric value as a counter, or None when there is none."""
    for row in rows:
        for label, cell in zip(columns, row, strict=False):
            if (value := number_in(cell)) is not None:
                return Counter(value, format_number(value), str(value), label, change_since(previous, value))
    return None


@dataclass(frozen=True, slots=True)
class Brief:
    """A result in a few words: what is to be read first, and what else there is."""

    text: str
    detail: str = ""
    is_number: bool = False


def brief(
    columns: Sequence[str],
    text: str,
    row_count: int | None = None,
    render_type: RenderType = RenderType.AUTO,
) -> Brief:
    """A value with its column, one row with its names, or how many rows there are and how they begin."""
    rows = read_rows(text, 2)
    if not rows:
        return Brief("no rows")
    total = row_count if row_count is not None else len(rows)
    is_single = total == len(columns) == 1
    is_counter = is_single or render_type in (RenderType.COUNTER, RenderType.METRIC)
    if is_counter and (counter := count(columns, rows)):
        return Brief(counter.text, counter.label, is_number=True)
    cells = [in_words(cell) for cell in rows[0][:BRIEF_CELLS]]
    if is_single:
        return Brief(cells[0], columns[0])
    if total == 1:
        return Brief(", ".join(f"{name}: {cell}" for name, cell in zip(columns, cells, strict=False)))
    return Brief(f"{total:,} rows", ", ".join(cells) + " …")


def in_words(cell: object) -> str:
    """One cell in a line of text."""
    if cell is None or isinstance(cell, bool):
        return {None: "NULL", True: "true", False: "false"}[cell]
    if isinstance(cell, int | float | Decimal):
        return format_number(cell) if number_in(cell) is not None else str(cell)
    words = json.dumps(cell, ensure_ascii=False, default=str) if isinstance(cell, list | dict) else str(cell)
    return words if len(words) <= BRIEF_TEXT else words[:BRIEF_TEXT] + "…"


def change_since(previous: Number | None, value: Number) -> Change | None:
    """The change since the value before, in percent where there is a whole to take it of."""
    if previous is None:
        return None
    now, before = Decimal(str(value)), Decimal(str(previous))
    change = now - before
    is_noise = abs(change) <= abs(before) * NOISE  # what is kept of earlier values are floats
    direction = 0 if is_noise else (change > 0) - (change < 0)
    if not direction:
        return Change(0, "unchanged")
    sign = "+" if direction > 0 else "−"
    if not before:
        return Change(direction, f"{sign}{format_number(abs(change))}")
    return Change(direction, f"{sign}{_percent(abs(change / before) * 100)} %")


def _percent(share: Decimal) -> str:
    return f"{share:,.0f}" if share >= 100 else f"{share:.2g}" if share < 1 else f"{share:.1f}"
