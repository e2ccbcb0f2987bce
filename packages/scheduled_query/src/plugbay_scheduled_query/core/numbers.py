"""Which cells are numbers, and how a number is written for people."""

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from itertools import chain

from plugbay_scheduled_query.core.model import Number

_PLAIN = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)")
_TOO_LONG_TO_SPELL = 10**15


def number_in(cell: object) -> Number | None:
    """The number that a cell is or spells; booleans, dates, NaN and what no float can hold are none."""
    if isinstance(cell, str):
        return _finite(Decimal(cell)) if _PLAIN.fullmatch(cell) else None
    if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal):
        return None
    return _finite(cell)


def first_number(rows: Iterable[Iterable[object]]) -> Number | None:
    """The first numeric value of a result: row by row, left to right."""
    for cell in chain.from_iterable(rows):
        if (found := number_in(cell)) is not None:
            return found
    return None


def _finite(number: Number) -> Number | None:
    try:
        return number if math.isfinite(float(number)) else None
    except (OverflowError, ValueError):  # an integer beyond all floats; a signalling NaN
        return None


def format_number(number: Number) -> str:
    """A number as a person reads it: grouped by thousands, no more digits than tell something."""
    size = -number if number < 0 else number
    if size < _TOO_LONG_TO_SPELL and number == int(number):
        return f"{int(number):,}"
    if 1 <= size < _TOO_LONG_TO_SPELL:
        return f"{number:,.2f}".rstrip("0").rstrip(".")
    return f"{float(number):.4g}"
