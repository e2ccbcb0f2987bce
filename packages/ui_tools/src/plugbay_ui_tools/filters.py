"""Numbers, lengths of time and moments as people read them, and the table of the templates' filters."""

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from plugbay_ui_tools.cron_words import cron_words

NONE = "–"
PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", re.ASCII)
FLOAT_DIGITS, DECIMAL_PLACES = 16, 6  # a number of more digits and more places is no decimal of a database
SIGNIFICANT_DIGITS = 12  # a float's noise, as in 0.1 + 0.2, begins after the fifteenth
PLAIN_FLOATS = (1e-4, 1e15)  # outside of these a float is easier to read with an exponent
COMPACT_FROM = 10_000  # below this the whole number is short enough
COMPACT_UNITS = ("", "K", "M", "B", "T")
MACHINE_INTEGER_BITS = 64
BYTE_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
DURATION_STEPS = (
    (86_400_000, "d", 3_600_000, "h"),
    (3_600_000, "h", 60_000, "min"),
    (60_000, "min", 1000, "s"),
)
JUST_NOW_S = 45
# up to which age in seconds, in which unit, of how many seconds; `times.js` repeats these rules
TIME_UNITS = (
    (59.5 * 60, "min", 60),
    (23.5 * 3600, "h", 3600),
    (29.5 * 86400, "d", 86400),
    (364.5 * 86400, "mo", 30.44 * 86400),
)
YEAR_S = 365.25 * 86400

Number = int | float | Decimal
Moment = datetime | str | float | None


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


def format_duration(milliseconds: float | timedelta | None) -> str:
    """`318` → `318 ms`, `1204` → `1.2 s`, `184000` → `3 min 4 s`."""
    if milliseconds is None:
        return NONE
    if isinstance(milliseconds, timedelta):
        milliseconds = milliseconds / timedelta(milliseconds=1)
    if milliseconds < 0:
        return f"-{format_duration(-milliseconds)}"
    if round(milliseconds) < 1000:
        return f"{format_number(round(milliseconds, 1 if milliseconds < 1 else 0) + 0.0)} ms"
    if round(milliseconds / 1000, 1) < 60:
        return f"{format_number(round(milliseconds / 1000, 1))} s"
    return _in_two_units(milliseconds)


def utc_text(moment: Moment) -> str:
    """`2026-11-15 12:00:00 UTC`."""
    then = as_utc(moment)
    return f"{then:%Y-%m-%d %H:%M:%S} UTC" if then else NONE


FILTERS: dict[str, Callable[..., Any]] = {
    "number": format_number,
    "compact": format_compact,
    "bytes": format_bytes,
    "percent": format_percent,
    "duration": format_duration,
    "utc": utc_text,
    "cron_words": cron_words,
}


def iso_text(moment: Moment) -> str:
    """What the `datetime` attribute of a `<time>` takes."""
    then = as_utc(moment)
    return f"{then:%Y-%m-%dT%H:%M:%SZ}" if then else ""


def relative_words(moment: Moment, now: datetime) -> str:
    """`2 min ago`, `in 4 h`, `just now`."""
    then = as_utc(moment)
    if then is None:
        return "never"
    seconds = (now - then).total_seconds()
    if abs(seconds) < JUST_NOW_S:
        return "just now" if seconds >= 0 else "in a moment"
    amount = _amount(abs(seconds))
    return f"{amount} ago" if seconds > 0 else f"in {amount}"


def as_utc(moment: Moment) -> datetime | None:
    """A datetime, an ISO text or Unix seconds as UTC; what carries no time zone is UTC already."""
    if moment is None or moment == "":
        return None
    if isinstance(moment, int | float):
        return datetime.fromtimestamp(moment, UTC)
    parsed = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)


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


def _in_two_units(milliseconds: float) -> str:
    seconds = round(milliseconds / 1000) * 1000
    large, large_unit, small, small_unit = next(step for step in DURATION_STEPS if seconds >= step[0])
    rest = seconds % large // small
    return f"{seconds // large:,} {large_unit}" + (f" {rest} {small_unit}" if rest else "")


def _amount(seconds: float) -> str:
    for limit, unit, size in TIME_UNITS:
        if seconds < limit:
            return f"{max(1, round(seconds / size))} {unit}"
    return f"{max(1, round(seconds / YEAR_S))} y"
