"""Results as text: a JSON array of rows, each an array in the order of the columns, one row a line."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple

from plugbay_scheduled_query.core.cells import encode_cell, encode_text
from plugbay_scheduled_query.core.model import Number, Result
from plugbay_scheduled_query.core.numbers import first_number_in_row

PREVIEW_ROWS = 50
PREVIEW_BYTES = 64_000
SHORT_CELL = 200  # characters, where a single row would not fit into a preview

_DECODER = json.JSONDecoder(parse_float=Decimal)
_BETWEEN_ROWS = " \t\r\n,"


@dataclass(frozen=True, slots=True)
class ResultLimits:
    """How much of a result is kept."""

    rows: int = 10_000
    columns: int = 1_000
    cell_bytes: int = 64_000
    result_bytes: int = 10_000_000


class ResultBuilder:
    """Takes rows as they come from the driver and keeps what the limits allow."""

    def __init__(self, columns: Sequence[str], limits: ResultLimits | None = None) -> None:
        self._limits = limits or ResultLimits()
        self._columns = tuple(_storable(name) for name in columns[: self._limits.columns])
        self._is_too_wide = len(columns) > self._limits.columns
        self._truncated = self._is_too_wide
        self._rows: list[str] = []
        self._bytes = 2
        self._number: Number | None = None

    def add(self, row: Sequence[object]) -> bool:
        """Keeps a row; False says that this one and all further ones are too many."""
        if self._is_too_wide:
            row = row[: self._limits.columns]
        text = self._encode(row)
        size = self._bytes + _size(text) + 2
        if len(self._rows) >= self._limits.rows or size > self._limits.result_bytes:
            self._truncated = True
            return False
        if self._number is None:
            self._number = first_number_in_row(row)
        self._rows.append(text)
        self._bytes = size
        return True

    def build(self) -> Result:
        """What has been kept."""
        return Result(
            columns=self._columns,
            text=join_rows(self._rows),
            row_count=len(self._rows),
            truncated=self._truncated,
            number=self._number,
        )

    def _encode(self, row: Sequence[object]) -> str:
        cells = list(map(encode_cell, row))
        # no character takes more than four bytes
        if max(map(len, cells), default=0) * 4 > self._limits.cell_bytes:
            cells = [self._encode_within(cell) for cell in row]
        return f"[{','.join(cells)}]"

    def _encode_within(self, value: object) -> str:
        limit = self._limits.cell_bytes
        if isinstance(value, bytes | bytearray | memoryview):
            value = bytes(value).hex()
        text = value if isinstance(value, str) else encode_cell(value)
        if _size(text) <= limit:
            return encode_cell(value)
        self._truncated = True
        return encode_text(text.encode(errors="replace")[:limit].decode(errors="ignore"))


def encode_rows(rows: Iterable[Iterable[object]]) -> str:
    """The text of a result whose size is known to be small."""
    return join_rows(f"[{','.join(map(encode_cell, row))}]" for row in rows)


def join_rows(rows: Iterable[str]) -> str:
    """The text of a result from the texts of its rows."""
    return "[" + ",\n".join(rows) + "]"


def iter_rows(text: str) -> Iterator[list[Any]]:
    """The rows of a result, decoded one at a time; decimals come back exactly."""
    return (row for row, _ in _decoded(text))


def read_rows(text: str, limit: int | None = None) -> list[list[Any]]:
    """The first rows of a result, or all of them."""
    return list(islice(iter_rows(text), limit))


class Preview(NamedTuple):
    """The beginning of a result, small enough for a page, as the text of a result itself."""

    text: str
    is_whole: bool


def preview(text: str) -> Preview:
    """The first 50 rows, or as many of them as fit into 64 kB."""
    kept: list[str] = []
    room = PREVIEW_BYTES - 2
    for row, source in islice(_decoded(text), PREVIEW_ROWS + 1):
        room -= _size(source) + 2
        if room < 0 or len(kept) == PREVIEW_ROWS:
            return Preview(join_rows(kept or _shortened(row)), is_whole=False)
        kept.append(source)
    return Preview(text, is_whole=True)


def _decoded(text: str) -> Iterator[tuple[list[Any], str]]:
    """Each row with the piece of text that it was read from."""
    position = 1
    while True:
        while text[position] in _BETWEEN_ROWS:
            position += 1
        if text[position] == "]":
            return
        row, end = _DECODER.raw_decode(text, position)
        yield row, text[position:end]
        position = end


def _shortened(row: list[Any]) -> list[str]:
    """A row that alone is too long, with its long cells cut, or nothing if it is too wide even then."""
    short = [cell[:SHORT_CELL] if isinstance(cell, str) else cell for cell in row]
    text = encode_rows([short])
    return [text[1:-1]] if _size(text) <= PREVIEW_BYTES else []


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def _storable(name: object) -> str:
    return str(json.loads(encode_text(str(name))))
