"""In which order the rows of a whole result stand when it is sorted by a column. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any

from plugbay_scheduled_query.core.metric import number_in


def sorted_places(rows: Iterable[Sequence[Any]], column: int, descending: bool = False) -> list[int]:
    """The places of the rows in their new order: numbers by size, all else as text, NULL last both ways."""
    cells = [row[column] if column < len(row) else None for row in rows]
    known = [place for place, cell in enumerate(cells) if cell is not None]
    numbers = {place: number_in(cells[place]) for place in known}
    if all(number is not None for number in numbers.values()):
        known.sort(key=lambda place: numbers[place], reverse=descending)  # type: ignore[arg-type, return-value]
    else:
        known.sort(key=lambda place: _as_text(cells[place]), reverse=descending)
    return known + [place for place, cell in enumerate(cells) if cell is None]


def _as_text(cell: Any) -> str:
    return (cell if isinstance(cell, str) else str(cell)).casefold()
