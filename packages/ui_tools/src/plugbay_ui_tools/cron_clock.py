"""The minutes and hours of a cron expression in words."""

from collections.abc import Sequence
from itertools import product

from plugbay_ui_tools.listing import is_unbroken, join_words, list_numbers, step_of

MAX_TIMES = 4  # so many times of day are listed one by one


def fixed_times(minutes: Sequence[int], hours: Sequence[int]) -> str | None:
    """`02:30 and 14:30`, where they are few enough to be listed."""
    if len(minutes) * len(hours) > MAX_TIMES:
        return None
    return join_words([_clock(hour, minute) for hour, minute in product(hours, minutes)])


def repeated_times(minutes: Sequence[int], hours: Sequence[int]) -> str:
    """`every 5 minutes`, `hourly from 09:00 to 17:00`, `at minutes 5 and 20 of hours 1–3`."""
    if len(hours) == 24:
        return _every_hour(minutes)
    if len(minutes) == 1:
        return _once_an_hour(minutes[0], hours)
    pace = _pace(minutes)
    if pace and is_unbroken(hours):
        return f"{pace} from {_clock(hours[0], minutes[0])} to {_clock(hours[-1], minutes[-1])}"
    return f"at minutes {list_numbers(minutes)} of {_hours(hours)}"


def _every_hour(minutes: Sequence[int]) -> str:
    if len(minutes) == 1:
        return f"hourly at minute {minutes[0]}" if minutes[0] else "hourly"
    first = f" from minute {minutes[0]}" if minutes[0] else ""
    if pace := _pace(minutes):
        return pace + first
    # such a step begins anew with each hour: after minute 56 of */7 comes minute 0
    if (step := step_of(minutes, 59)) and len(minutes) > MAX_TIMES:
        return f"every {step} minutes within each hour{first}"
    return f"at minutes {list_numbers(minutes)} of every hour"


def _once_an_hour(minute: int, hours: Sequence[int]) -> str:
    step = step_of(hours, 23)
    if step and 24 % step == 0 and len(hours) == 24 // step:
        first = _clock(hours[0], minute)
        return f"every {step} hours" + ("" if first == "00:00" else f" from {first}")
    if is_unbroken(hours):
        return f"hourly from {_clock(hours[0], minute)} to {_clock(hours[-1], minute)}"
    return f"at minute {minute} of {_hours(hours)}"


def _pace(minutes: Sequence[int]) -> str | None:
    """The pace of minutes that are equally far apart over the full hour as well."""
    step = step_of(minutes, 59)
    if not step or 60 % step or len(minutes) != 60 // step:
        return None
    return "every minute" if step == 1 else f"every {step} minutes"


def _hours(hours: Sequence[int]) -> str:
    return f"hour{'s' if len(hours) > 1 else ''} {list_numbers(hours)}"


def _clock(hour: int, minute: int) -> str:
    return f"{hour:02d}:{minute:02d}"
