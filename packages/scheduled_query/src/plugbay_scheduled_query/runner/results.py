"""Send a result as JSON text while it is read, and stop at the first limit it meets.

Every value of every driver becomes JSON without loss and within the limit of a cell.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from plugbay_scheduled_query.dialects.contract import NESTING_LIMIT, JsonText, NumberText, Rows
from plugbay_scheduled_query.runner.protocol import Caps, pack_rows

BINARY = (bytes, bytearray, memoryview)
FLUSH_BYTES = 64 * 1024
FIRST_ROWS = 8  # few, until it is known how long a row is
MOST_ROWS = 500
NAME_LIMIT = 1000  # characters of a column's name: SQLite names a column after its whole expression

# Python refuses to read an integer of more than 4,300 digits: a longer number is stored as a string
NUMBER_TEXT_LIMIT = 4000  # characters
CUT_MARK = "…"

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


class ResultWriter:
    """Turns one result into frames; `rest` is what is left to send with the final frame."""

    def __init__(self, caps: Caps, send: Callable[[bytes], None]) -> None:
        self._caps = caps
        self._send = send
        self._encoder = RowEncoder(caps.cell_bytes)
        self._buffer = bytearray(b"[")
        self._sent_bytes = 0
        self._has_stopped = False
        self._has_lost_columns = False
        self.columns: list[str] = []
        self.row_count = 0

    @property
    def is_truncated(self) -> bool:
        """Whether anything was left out."""
        return self._has_stopped or self._has_lost_columns or self._encoder.has_cut

    @property
    def binary_columns(self) -> list[int]:
        """Those that held bytes, which are written as hexadecimal digits and are no numbers."""
        return sorted(self._encoder.binary_columns)

    def write(self, result: Rows) -> None:
        """Read and send the rows, to the last one or to the first limit."""
        self.columns = [_shorten(name) for name in result.columns[: self._caps.columns]]
        self._has_lost_columns = len(result.columns) > self._caps.columns
        count = FIRST_ROWS
        while not self._has_stopped and (rows := result.fetch(count)):
            before = self._bytes
            self._add(rows)
            count = max(1, min(MOST_ROWS, FLUSH_BYTES * len(rows) // max(1, self._bytes - before)))

    def rest(self) -> bytes:
        """The last frames of rows."""
        return pack_rows(bytes(self._buffer) + b"]")

    @property
    def _bytes(self) -> int:
        return self._sent_bytes + len(self._buffer)

    def _add(self, rows: Sequence[Sequence[Any]]) -> None:
        room = self._caps.rows - self.row_count
        if len(rows) > room:
            self._has_stopped, rows = True, rows[:room]
        if self._has_lost_columns:
            rows = [row[: self._caps.columns] for row in rows]
        encoded = self._encoder.encode_rows(rows)
        if encoded is not None and self._fits(encoded):
            self._append(encoded, len(rows))
        else:
            self._add_one_by_one(rows)

    def _add_one_by_one(self, rows: Sequence[Sequence[Any]]) -> None:
        for row in rows:
            encoded = self._encoder.encode_row(row)
            if not self._fits(encoded):
                self._has_stopped = True
                return
            self._append(encoded, 1)

    def _fits(self, encoded: bytes) -> bool:
        return self._bytes + len(encoded) + len(",]") <= self._caps.result_bytes

    def _append(self, encoded: bytes, row_count: int) -> None:
        if row_count == 0:
            return
        if self.row_count:
            self._buffer += b","
        self._buffer += encoded
        self.row_count += row_count
        if len(self._buffer) >= FLUSH_BYTES:
            self._send(pack_rows(bytes(self._buffer)))
            self._sent_bytes += len(self._buffer)
            self._buffer.clear()


def _shorten(name: str) -> str:
    return name if len(name) <= NAME_LIMIT else name[: NAME_LIMIT - 1] + CUT_MARK


class RowEncoder:
    """Encodes rows as JSON arrays; tells whether any cell was too long, and which columns held bytes."""

    def __init__(self, cell_bytes: int) -> None:
        self._limit = cell_bytes
        self._plain = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
        self._rows_are_plain = True
        self.has_cut = False
        self.binary_columns: set[int] = set()

    def encode_rows(self, rows: Sequence[Sequence[Any]]) -> bytes | None:
        """Many plain rows at once, without the outer brackets; None when they must be taken one by one."""
        try:
            encoded = to_bytes(self._plain(rows))[1:-1] if self._rows_are_plain else None
        except TypeError:
            self._rows_are_plain = False
            return None
        except (ValueError, RecursionError):
            return None
        return encoded if encoded is not None and len(encoded) <= self._limit else None

    def encode_row(self, row: Sequence[Any]) -> bytes:
        """One row, whatever is in it."""
        if encoded := self.encode_rows((row,)):
            return encoded
        self.binary_columns.update(index for index, value in enumerate(row) if isinstance(value, BINARY))
        return to_bytes(f"[{','.join(map(self._cell, row))}]")

    def _cell(self, value: Any) -> str:
        if isinstance(value, BINARY):
            value = bytes(value[: self._limit // 2 + 1]).hex()
        text = value if isinstance(value, str) else encode_value(value)
        if _is_longer(text, self._limit):
            self.has_cut = True
            return self._plain(_cut(text, self._limit))
        return self._plain(text) if isinstance(value, str) else text


def _is_longer(text: str, limit: int) -> bool:
    return len(text) > limit or (len(text) * 4 > limit and len(text.encode("utf-8", "surrogatepass")) > limit)


def _cut(text: str, limit: int) -> str:
    room = limit - len(CUT_MARK.encode())
    return text[:limit].encode("utf-8", "surrogatepass")[:room].decode("utf-8", "ignore") + CUT_MARK


def to_bytes(json_text: str) -> bytes:
    """JSON text as UTF-8; a lone surrogate, which UTF-8 cannot carry, becomes its JSON escape."""
    return json_text.encode("utf-8", "json-escape")


def _escape_surrogates(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    wrong = error.object[error.start : error.end]
    return "".join(f"\\u{ord(character):04x}" for character in wrong), error.end


codecs.register_error("json-escape", _escape_surrogates)


def encode_value(value: Any, depth: int = 0) -> str:
    """The JSON text of one value of any driver."""
    encode = _ENCODERS.get(type(value))
    if encode is not None:
        return encode(value)
    if depth >= NESTING_LIMIT:
        return _quote(str(value))
    if isinstance(value, Mapping):
        pairs = (f"{_quote(_key(key))}:{encode_value(item, depth + 1)}" for key, item in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list | tuple | set | frozenset):
        return _array(value, depth)
    return _encode_other(value)


def _array(values: Iterable[Any], depth: int) -> str:
    return f"[{','.join(encode_value(item, depth + 1) for item in values)}]"


def _encode_other(value: Any) -> str:
    for kind, encode in _ENCODERS.items():
        if isinstance(value, kind):
            return encode(value)
    return _quote(str(value))


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    text = encode_value(key)
    return str(json.loads(text)) if text.startswith('"') else text


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _encode_float(value: float) -> str:
    if value != value:
        return '"NaN"'
    if value in (float("inf"), float("-inf")):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return float.__repr__(value)


def _encode_number(text: str) -> str:
    if not _NUMBER.fullmatch(text):
        text = _plain_number(text)
    is_literal = len(text) <= NUMBER_TEXT_LIMIT and _NUMBER.fullmatch(text)
    return text if is_literal else _quote(text)


def _plain_number(text: str) -> str:
    # MySQL's ZEROFILL writes 0012.50, which is no JSON number
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    return format(number, "f") if number.is_finite() else text


def _encode_int(value: int) -> str:
    if value.bit_length() <= NUMBER_TEXT_LIMIT * 3:  # 3.3 bits make a digit
        return int.__repr__(value)
    return _quote(hex(value))


def _encode_decimal(value: Decimal) -> str:
    return _encode_number(format(value, "f") if value.is_finite() else str(value))


def _encode_json(text: str) -> str:
    """Its own text where any reader can read it back, else that text as a string."""
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return _quote(text)
    return text if _nesting(text) <= NESTING_LIMIT else _quote(text)


def _refuse_constant(name: str) -> None:
    raise ValueError(name)  # NaN and Infinity, which Python reads and the standard does not know


def _nesting(text: str) -> int:
    if text.count("[") + text.count("{") <= NESTING_LIMIT:
        return 0
    depth = deepest = 0
    for token in _BRACKETS.findall(text):
        depth += _STEP.get(token, 0)
        deepest = max(deepest, depth)
    return deepest


_ENCODERS: dict[type, Callable[[Any], str]] = {
    type(None): lambda value: "null",
    bool: lambda value: "true" if value else "false",
    int: _encode_int,
    float: _encode_float,
    str: _quote,
    bytes: lambda value: _quote(value.hex()),
    bytearray: lambda value: _quote(value.hex()),
    memoryview: lambda value: _quote(value.hex()),
    Decimal: _encode_decimal,
    datetime: lambda value: _quote(value.isoformat()),
    date: lambda value: _quote(value.isoformat()),
    time: lambda value: _quote(value.isoformat()),
    UUID: lambda value: _quote(str(value)),
    JsonText: lambda value: _encode_json(value.text),
    NumberText: lambda value: _encode_number(value.text),
}
