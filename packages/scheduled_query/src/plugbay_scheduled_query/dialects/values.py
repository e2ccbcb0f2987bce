"""Turn every value a driver returns into JSON text, without loss and within the cell limit."""

import codecs
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

# Python refuses to read an integer of more than 4,300 digits: a longer number is stored as a string
NUMBER_TEXT_LIMIT = 4000  # characters
NESTING_LIMIT = 64  # levels: json.loads gives up near 1,000, less what is already on the reader's stack
CUT_MARK = "…"

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')


_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


class JsonText:
    """A value that its database already wrote as JSON."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class NumberText:
    """A number as its database wrote it, with every digit."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def iso_text(text: str) -> str:
    """A database's `2026-11-15 12:00:00+01` as ISO 8601; what is no plain date and time stays as it is."""
    if len(text) > 10 and text[10] == " " and text[:4].isdigit() and "BC" not in text:
        text = text[:10] + "T" + text[11:]
        if text[-3] in "+-" and text[-2:].isdigit():
            text += ":00"
    return text


def _escape_surrogates(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    wrong = error.object[error.start : error.end]
    return "".join(f"\\u{ord(character):04x}" for character in wrong), error.end


codecs.register_error("json-escape", _escape_surrogates)


def to_bytes(json_text: str) -> bytes:
    """JSON text as UTF-8; a lone surrogate, which UTF-8 cannot carry, becomes its JSON escape."""
    return json_text.encode("utf-8", "json-escape")


def decode_text(raw: bytes) -> str:
    """Text of a database that does not check it: what is not UTF-8 becomes lone surrogates, one per byte."""
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "surrogateescape")


class RowEncoder:
    """Encodes rows as JSON arrays; `has_cut` tells whether any cell was too long."""

    def __init__(self, cell_bytes: int) -> None:
        self._limit = cell_bytes
        self._plain = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
        self._rows_are_plain = True
        self.has_cut = False

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
        return self.encode_rows((row,)) or to_bytes(f"[{','.join(map(self._cell, row))}]")

    def _cell(self, value: Any) -> str:
        if isinstance(value, bytes | bytearray | memoryview):
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
