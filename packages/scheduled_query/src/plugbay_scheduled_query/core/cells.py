"""Every value that a database driver can return, as JSON."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from json.encoder import encode_basestring
from math import isfinite, isnan
from typing import Any

MAX_DIGITS = 4000  # beyond 4,300 digits Python refuses to read a number; JSON text then keeps it as a string

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def encode_cell(value: object) -> str:
    """The JSON text of one value; what JSON does not know is written as a string."""
    try:
        return _encode(value)
    except Exception:  # nested without end, or an object that cannot even say what it is
        return encode_text(f"<{type(value).__name__}>")


def _encode(value: object) -> str:
    return _ENCODERS.get(type(value), _encode_other)(value)


def encode_text(text: str) -> str:
    """A JSON string; halves of characters, which no store can keep, become the replacement character."""
    return encode_basestring(text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text))


def _encode_digits(digits: str) -> str:
    return digits if len(digits) <= MAX_DIGITS else f'"{digits}"'


def _encode_int(number: int) -> str:
    # 64 bits need no second look; Decimal spells also those that int refuses to
    return int.__repr__(number) if -(2**63) <= number < 2**63 else _encode_digits(str(Decimal(number)))


def _encode_float(number: float) -> str:
    if isfinite(number):
        return float.__repr__(number)
    return '"NaN"' if isnan(number) else '"Infinity"' if number > 0 else '"-Infinity"'


def _encode_decimal(number: Decimal) -> str:
    if number.is_finite():
        return _encode_digits(str(number))
    return '"NaN"' if number.is_nan() else '"Infinity"' if number > 0 else '"-Infinity"'


def _encode_moment(moment: date | time) -> str:
    return f'"{moment.isoformat()}"'


def _encode_duration(duration: timedelta) -> str:
    sign, duration = ("-", -duration) if duration < timedelta(0) else ("", duration)
    minutes, seconds = divmod(duration.seconds, 60)
    clock = time(*divmod(minutes, 60), seconds, duration.microseconds).isoformat()
    days = f"{duration.days} day{'s' if duration.days > 1 else ''} " if duration.days else ""
    return f'"{sign}{days}{clock}"'


def _encode_bytes(data: bytes | bytearray | memoryview) -> str:
    return f'"{data.hex()}"'


def _encode_list(items: Iterable[object]) -> str:
    return f"[{','.join(map(_encode, items))}]"


def _encode_object(items: Mapping[object, object]) -> str:
    pairs = (f"{encode_text(str(key))}:{_encode(value)}" for key, value in items.items())
    return f"{{{','.join(pairs)}}}"


def _encode_other(value: object) -> str:
    """A subclass of a known type as that type; anything else by its own words."""
    for known, encoder in _ENCODERS.items():
        if isinstance(value, known):
            return encoder(value)
    return encode_text(str(value))


_ENCODERS: dict[type, Callable[[Any], str]] = {
    int: _encode_int,
    str: encode_text,
    float: _encode_float,
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    Decimal: _encode_decimal,
    datetime: _encode_moment,
    date: _encode_moment,
    time: _encode_moment,
    timedelta: _encode_duration,
    bytes: _encode_bytes,
    bytearray: _encode_bytes,
    memoryview: _encode_bytes,
    list: _encode_list,
    tuple: _encode_list,
    set: _encode_list,
    frozenset: _encode_list,
    dict: _encode_object,
}
