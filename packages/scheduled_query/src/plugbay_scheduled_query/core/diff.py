"""What changed between two results: columns, rows and cells, at a cost that grows with their size only."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from itertools import islice
from typing import Any, TypeVar

from plugbay_scheduled_query.core.results import iter_rows, rows_with_source

MAX_ROWS = 10_000  # compared on each side
MAX_TEXT = 10_000_000  # characters compared on each side: a whole result, unless settings allow longer ones
MAX_LISTED = 100  # rows of each kind; all are counted
MAX_CELLS = 20  # listed of a changed row: nobody reads a thousand
KEY_CANDIDATES = 5  # columns tried, from the left, for one that names its rows

_KEY_KINDS: tuple[set[type], ...] = ({str}, {int, str})
_NAMING = (str, int)
_PLAIN = (str, int, Decimal)  # compared as Python does
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)  # no digit is rounded away

T = TypeVar("T")
Row = Sequence[Any]
Column = tuple[str, int]  # a name, and how many of that name stand to the left
Places = dict[Column, int]


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
    more: int = 0
    """How many cells changed beside those that are listed."""


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
    compared: int  # rows, on the side that has more of them

    @property
    def is_empty(self) -> bool:
        """Whether the results are the same."""
        rows = self.rows.added_count + self.rows.removed_count + self.rows.changed_count
        return not (rows or self.columns_added or self.columns_removed)


def compare(
    columns_before: Sequence[str], text_before: str, columns_after: Sequence[str], text_after: str
) -> ResultDiff:
    """The way from one result to another; columns are matched by name, rows by a column that names them."""
    places_before, places_after = _places(columns_before), _places(columns_after)
    shared = [column for column in places_before if column in places_after]
    before, after = _Side(places_before, text_before, shared), _Side(places_after, text_after, shared)
    is_partial = before.is_cut or after.is_cut
    for one, other in ((before, after), (after, before)):
        if one.is_cut:  # else what was not read of one side would seem to be missing there
            other.keep(len(one))
    return ResultDiff(
        columns_added=tuple(name for name, n in places_after if (name, n) not in places_before),
        columns_removed=tuple(name for name, n in places_before if (name, n) not in places_after),
        rows=_compare_rows(before, after, shared),
        is_partial=is_partial,
        compared=max(len(before), len(after)),
    )


class _Side:
    """A result of which little more than its text is kept: rows are read one at a time, again when needed."""

    def __init__(self, places: Places, text: str, shared: Sequence[Column]) -> None:
        self.places = places
        self.sources: list[str] = []
        """Each row as it is written: where columns stand alike, two that are written alike are the same."""
        self._names: list[list[Any]] = []
        self.is_cut = False
        self._shared = shared
        self._read(text, [places[column] for column in shared[:KEY_CANDIDATES]])

    def _read(self, text: str, candidates: Sequence[int]) -> None:
        room = MAX_TEXT
        for row, source in rows_with_source(text):
            room -= len(source)
            if len(self.sources) == MAX_ROWS or room < 0:
                self.is_cut = True
                return
            self.sources.append(source)
            self._names.append([_name(row[index]) for index in candidates])

    def __len__(self) -> int:
        return len(self.sources)

    def keep(self, rows: int) -> None:
        """Lets go of all but the first rows."""
        del self.sources[rows:], self._names[rows:]

    def row(self, number: int) -> Row:
        return next(iter_rows(f"[{self.sources[number]}]"))

    def names(self, candidate: int) -> list[Any]:
        """What a column has to name each row with; None where it has nothing."""
        return [names[candidate] for names in self._names]

    def digest(self, number: int) -> bytes:
        """A short text that two rows have in common only if all cells of shared columns are the same."""
        row = self.row(number)
        cells = ",".join([_canonical(row[self.places[column]]) for column in self._shared])
        return hashlib.blake2b(cells.encode(errors="surrogatepass"), digest_size=16).digest()


def _places(columns: Sequence[str]) -> Places:
    return {column: index for index, column in enumerate(_numbered(columns))}


def _numbered(columns: Sequence[str]) -> Iterator[Column]:
    seen: Counter[str] = Counter()
    for name in columns:
        yield name, seen[name]
        seen[name] += 1


def _name(value: Any) -> Any:
    return value if type(value) in _NAMING else None


def _canonical(value: Any) -> str:
    """One text for all that is the same: 1, 1.0 and 1.00; but true is not 1."""
    if isinstance(value, str):
        return f"{len(value)}:{value}"  # with its length, or two cells could look like one
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, list):
        return f"[{','.join(map(_canonical, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{_canonical(key)}={_canonical(value[key])}' for key in sorted(value))}}}"
    return _number(value)


def _number(value: int | Decimal) -> str:
    text = str(value)
    if text[-1] != "0" and "E" not in text:  # nearly all of them: there is nothing to shorten
        return text
    return str(Decimal(value).normalize(_EXACT)) if value else "0"


def _compare_rows(before: _Side, after: _Side, shared: Sequence[Column]) -> RowsDiff:
    if len(before) == len(after) == 1:
        return _compare_by_key(before, after, shared, [None], [None])
    candidate = _naming_column(before, after, len(shared[:KEY_CANDIDATES]))
    if candidate is None:
        return _compare_as_bags(before, after)
    names = before.names(candidate), after.names(candidate)
    return _compare_by_key(before, after, shared, *names, key_column=shared[candidate][0])


def _naming_column(before: _Side, after: _Side, candidates: int) -> int | None:
    """A column whose values name the rows on both sides: no two alike; text rather than whole numbers."""
    for kinds in _KEY_KINDS:
        for candidate in range(candidates):
            if all(_names_rows(side.names(candidate), kinds) for side in (before, after)):
                return candidate
    return None


def _names_rows(values: list[Any], kinds: set[type]) -> bool:
    return set(map(type, values)) <= kinds and len(set(values)) == len(values)


def _compare_by_key(
    before: _Side,
    after: _Side,
    shared: Sequence[Column],
    old_keys: Sequence[Any],
    new_keys: Sequence[Any],
    key_column: str | None = None,
) -> RowsDiff:
    old, new = _by_key(old_keys), _by_key(new_keys)
    changed = [key for key in new if key in old and _differ(before, old[key], after, new[key], shared)]
    added = [number for key, number in new.items() if key not in old]
    removed = [number for key, number in old.items() if key not in new]
    listed = [
        _row_change(key, list(_changes(before, old[key], after, new[key], shared)))
        for key in changed[:MAX_LISTED]
    ]
    return RowsDiff(
        added=tuple(map(after.row, added[:MAX_LISTED])),
        removed=tuple(map(before.row, removed[:MAX_LISTED])),
        changed=tuple(listed),
        added_count=len(added),
        removed_count=len(removed),
        changed_count=len(changed),
        key_column=key_column,
    )


def _by_key(keys: Sequence[Any]) -> dict[Any, int]:
    return {key: number for number, key in enumerate(keys)}


def _row_change(key: Any, cells: Sequence[CellChange]) -> RowChange:
    return RowChange(key, tuple(cells[:MAX_CELLS]), len(cells[MAX_CELLS:]))


def _differ(before: _Side, old: int, after: _Side, new: int, shared: Sequence[Column]) -> bool:
    if before.places == after.places and before.sources[old] == after.sources[new]:
        return False
    return next(_changes(before, old, after, new, shared), None) is not None


def _changes(
    before: _Side, old: int, after: _Side, new: int, shared: Sequence[Column]
) -> Iterator[CellChange]:
    old_row, new_row = before.row(old), after.row(new)
    for column in shared:
        was, now = old_row[before.places[column]], new_row[after.places[column]]
        if not _is_same(was, now):
            yield CellChange(column[0], was, now)


def _is_same(was: Any, now: Any) -> bool:
    if type(was) in _PLAIN and type(now) in _PLAIN:
        return bool(was == now)
    return _canonical(was) == _canonical(now)


def _compare_as_bags(before: _Side, after: _Side) -> RowsDiff:
    """Rows that nothing names are only there or not there, as often as they are."""
    old, new = _digests(before, after), _digests(after, before)
    added = Counter(new.values()) - Counter(old.values())
    removed = Counter(old.values()) - Counter(new.values())
    return RowsDiff(
        added=tuple(_pick(after, new, added)),
        removed=tuple(_pick(before, old, removed)),
        added_count=added.total(),
        removed_count=removed.total(),
    )


def _digests(side: _Side, other: _Side) -> dict[int, bytes]:
    """Of all rows that have no twin on the other side which is written alike, by number."""
    if side.places != other.places:
        return {number: side.digest(number) for number in range(len(side))}
    alone = Counter(side.sources) - Counter(other.sources)
    return {number: side.digest(number) for number, text in enumerate(side.sources) if _take(alone, text)}


def _pick(side: _Side, digests: Mapping[int, bytes], wanted: Counter[bytes]) -> Iterator[Row]:
    left = wanted.copy()
    found = (side.row(number) for number, digest in digests.items() if _take(left, digest))
    return islice(found, MAX_LISTED)


def _take(left: Counter[T], item: T) -> bool:
    if left[item] <= 0:
        return False
    left[item] -= 1
    return True
