"""Lengths of time as people read them."""

from datetime import timedelta

from plugbay_ui_tools.numbers import NONE, format_number

STEPS = ((86_400_000, "d", 3_600_000, "h"), (3_600_000, "h", 60_000, "min"), (60_000, "min", 1000, "s"))


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


def _in_two_units(milliseconds: float) -> str:
    seconds = round(milliseconds / 1000) * 1000
    large, large_unit, small, small_unit = next(step for step in STEPS if seconds >= step[0])
    rest = seconds % large // small
    return f"{seconds // large:,} {large_unit}" + (f" {rest} {small_unit}" if rest else "")
