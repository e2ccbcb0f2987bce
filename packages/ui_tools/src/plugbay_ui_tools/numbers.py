"""Numbers as people read them: grouped digits, short large ones, bytes and percentages."""

import math
import re
from collections.abc import Sequence
from decimal import Decimal

NONE = "–"
PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", re.ASCII)
FLOAT_DIGITS, DECIMAL_PLACES = 16, 6  # a number of more digits and more places is no decimal of a database
SIGNIFICANT_DIGITS = 12  # a float's noise, as in 0.1 + 0.2, begins after the fifteenth
PLAIN_FLOATS = (1e-4, 1e15)  # outside of these a float is easier to read with an exponent
COMPACT_FROM = 10_000  # below this the whole number is short enough
COMPACT_UNITS = ("", "K", "M", "B", "T")
MACHINE_INTEGER_BITS = 64
BYTE_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")

Number = int | float | Decimal


def format_number(value: object, decimals: int | None = None) -> str:
    """`1284` → `1,284`; a float without its noise, a decimal without loss, anything else as it is."""
    if value is None:
        return NONE
    number = read_number(value)
    if number is None:
        return str(value)
    if isinstance(number, Decimal) and _is_float(number):
        number = float(number)
    if isinstance(number, float):
        return _format_float(number, decimals)
    return f"{number:,.{decimals}f}" if decimals is not None else f"{number:,}"


def format_compact(value: object) -> str:
    """`1284000` → `1.3 M`, for places where the size matters more than the last digit."""
    amount = as_float(value)
    if amount is None or abs(amount) < COMPACT_FROM:
        return format_number(value)
    return _in_units(amount, COMPACT_UNITS)


def format_bytes(count: object) -> str:
    """`1400000` → `1.4 MB`; a kB is 1,000 bytes."""
    size = as_float(count)
    return format_number(count) if size is None else _in_units(size, BYTE_UNITS)


def format_percent(part: object, decimals: int = 1, *, signed: bool = False) -> str:
    """`0.062` → `6.2 %`; with `signed`, `+6.2 %`."""
    share = as_float(part)
    if share is None:
        return format_number(part)
    sign = "+" if signed else ""
    return f"{_trim(f'{share * 100:{sign},.{decimals}f}')} %"


def read_number(value: object) -> Number | None:
    """The number that a value is or, as a plain decimal text, says; truth values are none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        # Python refuses to spell an integer of more than 4,300 digits; a Decimal has no such limit
        return Decimal(value) if value.bit_length() > MACHINE_INTEGER_BITS else value
    if isinstance(value, float | Decimal):
        return value
    if isinstance(value, str) and PLAIN_NUMBER.fullmatch(value):
        return Decimal(value)
    return None


def as_float(value: object) -> float | None:
    """The same as a float, where one can hold it."""
    number = read_number(value)
    amount = math.nan if number is None else float(number)
    return amount if math.isfinite(amount) else None


def _is_float(number: Decimal) -> bool:
    """Whether it can only be a float that was read from text: with noise at its end, or an exponent."""
    if not number.is_finite() or not math.isfinite(float(number)):
        return False
    _, digits, exponent = number.as_tuple()
    is_noisy = len(digits) >= FLOAT_DIGITS and isinstance(exponent, int) and exponent < -DECIMAL_PLACES
    return is_noisy or "E" in str(number)


def _format_float(number: float, decimals: int | None) -> str:
    if not math.isfinite(number):
        return str(Decimal(number))
    if decimals is not None:
        return f"{number:,.{decimals}f}"
    smallest, largest = PLAIN_FLOATS
    if number and not smallest <= abs(number) < largest:
        return f"{number:.6g}"
    return _trim(f"{Decimal(f'{number:.{SIGNIFICANT_DIGITS}g}'):,f}")


def _in_units(amount: float, units: Sequence[str]) -> str:
    steps = iter(units)
    unit = next(steps)
    # rounded, or 999,950 would become "1,000 K"
    while round(abs(amount), 1) >= 1000 and unit != units[-1]:
        amount, unit = amount / 1000, next(steps)
    return f"{_trim(f'{amount:,.1f}')} {unit}"


def _trim(text: str) -> str:
    """Without the zeros after the point that say nothing."""
    return text.rstrip("0").rstrip(".") if "." in text else text
