"""What changed between two results: columns, rows and cells, at a cost that grows with their size only."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from plugbay_scheduled_query.core.results import read_rows

MAX_ROWS = 10_000  # compared on each side
MAX_LISTED = 100  # of each kind; all are counted
KEY_CANDIDATES = 5  # columns tried, from the left, for one that names its rows

_KEY_KINDS: tuple[set[type], ...] = ({str}, {int, str})

Row = Sequence[Any]
Column = tuple[str, int]  # a name, and how many of that name stand to the left


@dataclass(frozen=True, slots=True)
class CellChange:
    """A cell that has another value now."""

    column: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row that is there on both sides with other cells; `key` names it, None where there is but one row."""

    key: Any
    cells: tuple[CellChange, ...]


@dataclass(frozen=True, slots=True)
class RowsDiff:
    """The differences between rows, each kind listed up to a limit and counted in full."""

    added: tuple[Row, ...] = ()
    removed: tuple[Row, ...] = ()
    changed: tuple[RowChange, ...] = ()
    added_count: int = 0
    removed_count: int = 0
    changed_count: int = 0
    key_column: str | None = None


@dataclass(frozen=True, slots=True)
class ResultDiff:
    """The differences between two results."""

    columns_added: tuple[str, ...]
    columns_removed: tuple[str, ...]
    rows: RowsDiff
    is_partial: bool  # one of the results has more rows than are compared

    @property
    def is_empty(self) -> bool:
        """Whether the results are the same."""
        rows = self.rows.added_count + self.rows.removed_count + self.rows.changed_count
        return not (rows or self.columns_added or self.columns_removed)


def compare(
    columns_before: Sequence[str], text_before: str, columns_after: Sequence[str], text_after: str
) -> ResultDiff:
    """The way from one result to another; columns are matched by name, rows by a column that names them."""
    before, after = _Side(columns_before, text_before), _Side(columns_after, text_after)
    return ResultDiff(
        columns_added=tuple(name for name, n in after.places if (name, n) not in before.places),
        columns_removed=tuple(name for name, n in before.places if (name, n) not in after.places),
        rows=_compare_rows(before, after),
        is_partial=before.is_cut or after.is_cut,
    )


class _Side:
    def __init__(self, columns: Sequence[str], text: str) -> None:
        rows = read_rows(text, MAX_ROWS + 1)
        self.rows = rows[:MAX_ROWS]
        self.is_cut = len(rows) > MAX_ROWS
        self.places = {column: index for index, column in enumerate(_numbered(columns))}

    def column(self, column: Column) -> list[Any]:
        index = self.places[column]
        return [row[index] for row in self.rows]

    def projected(self, columns: Sequence[Column]) -> list[tuple[Hashable, ...]]:
        indexes = [self.places[column] for column in columns]
        return [tuple(_frozen(row[index]) for index in indexes) for row in self.rows]


def _numbered(columns: Sequence[str]) -> Iterator[Column]:
    seen: Counter[str] = Counter()
    for name in columns:
        yield name, seen[name]
        seen[name] += 1


def _frozen(value: Any) -> Hashable:
    if isinstance(value, bool):
        return bool, value  # true is not 1
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return frozenset((key, _frozen(item)) for key, item in value.items())
    return value  # type: ignore[no-any-return]


def _compare_rows(before: _Side, after: _Side) -> RowsDiff:
    shared = [column for column in before.places if column in after.places]
    if len(before.rows) == len(after.rows) == 1:
        return _compare_by_key(before, after, shared, [None], [None])
    if key := _key_column(before, after, shared):
        names = before.column(key), after.column(key)
        return _compare_by_key(before, after, shared, *names, key_column=key[0])
    return _compare_as_bags(before, after, shared)


def _key_column(before: _Side, after: _Side, shared: Sequence[Column]) -> Column | None:
    """A column whose values name the rows on both sides: no two alike; text rather than whole numbers."""
    for kinds in _KEY_KINDS:
        for column in shared[:KEY_CANDIDATES]:
            if all(_names_rows(side.column(column), kinds) for side in (before, after)):
                return column
    return None


def _names_rows(values: list[Any], kinds: set[type]) -> bool:
    return set(map(type, values)) <= kinds and len(set(values)) == len(values)


def _compare_by_key(
    before: _Side,
    after: _Side,
    shared: Sequence[Column],
    old_keys: Sequence[Hashable],
    new_keys: Sequence[Hashable],
    key_column: str | None = None,
) -> RowsDiff:
    old, new = _by_key(old_keys), _by_key(new_keys)
    old_cells, new_cells = before.projected(shared), after.projected(shared)
    changed = [key for key in new if key in old and old_cells[old[key]] != new_cells[new[key]]]
    added = [after.rows[place] for key, place in new.items() if key not in old]
    removed = [before.rows[place] for key, place in old.items() if key not in new]
    listed = [
        RowChange(key, tuple(_changes(before, old[key], after, new[key], shared)))
        for key in changed[:MAX_LISTED]
    ]
    return RowsDiff(
        added=tuple(added[:MAX_LISTED]),
        removed=tuple(removed[:MAX_LISTED]),
        changed=tuple(listed),
        added_count=len(added),
        removed_count=len(removed),
        changed_count=len(changed),
        key_column=key_column,
    )


def _by_key(keys: Sequence[Hashable]) -> dict[Hashable, int]:
    return {key: place for place, key in enumerate(keys)}


def _changes(
    before: _Side, old: int, after: _Side, new: int, shared: Sequence[Column]
) -> Iterator[CellChange]:
    for column in shared:
        was, now = before.rows[old][before.places[column]], after.rows[new][after.places[column]]
        if _frozen(was) != _frozen(now):
            yield CellChange(column[0], was, now)


def _compare_as_bags(before: _Side, after: _Side, shared: Sequence[Column]) -> RowsDiff:
    """Rows that nothing names are only there or not there, as often as they are."""
    old, new = before.projected(shared), after.projected(shared)
    added, removed = Counter(new) - Counter(old), Counter(old) - Counter(new)
    return RowsDiff(
        added=tuple(_pick(after.rows, new, added)),
        removed=tuple(_pick(before.rows, old, removed)),
        added_count=added.total(),
        removed_count=removed.total(),
    )


def _pick(
    rows: Sequence[Row], cells: Iterable[tuple[Hashable, ...]], wanted: Counter[tuple[Hashable, ...]]
) -> Iterator[Row]:
    left = wanted.copy()
    found = (row for row, key in zip(rows, cells, strict=True) if _take(left, key))
    return islice(found, MAX_LISTED)


def _take(left: Counter[tuple[Hashable, ...]], key: tuple[Hashable, ...]) -> bool:
    if left[key] <= 0:
        return False
    left[key] -= 1
    return True
