"""A cron expression in words, from what it means: expressions that fire alike read alike.

What counts as an expression is what the scheduled-query service takes; a test holds the two together.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import groupby, pairwise, product

from cronsim import CronSim, CronSimError

MAX_LENGTH = 128  # characters; a list of 20,000 items would take 100 ms to read
SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
FIVE_FIELDS = re.compile(r"[0-9A-Za-z*,/#-]+( [0-9A-Za-z*,/#-]+){4}")
MAX_TIMES = 4  # so many times of day are listed one by one
RANGE_FROM = 3  # so many in a row are told as "1–3"
ORDINAL_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
WEEKDAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
WEEKDAY_GROUPS = {(0, 1, 2, 3, 4): "weekdays", (5, 6): "weekends"}
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
SPECIAL_DAYS = {CronSim.LAST: "the last day", CronSim.LAST_WEEKDAY: "the last weekday"}
_ANY_DAY = datetime(2024, 1, 1, tzinfo=UTC)


def cron_words(expression: str) -> str:
    """The words or, where there are none, the expression itself: what a page shows."""
    try:
        return describe_cron(expression)
    except ValueError:
        return expression


def describe_cron(expression: str) -> str:
    """`*/5 * * * *` → `every 5 minutes`, by the rules of Debian's cron; `ValueError` for a bad expression."""
    cron = _read(expression)
    minutes, hours = sorted(cron.minutes), sorted(cron.hours)
    if len(minutes) * len(hours) > MAX_TIMES:
        return _repeated_times(minutes, hours) + _on_days(cron) + _in_months(cron)
    return _at_times(join_words([_clock(hour, minute) for hour, minute in product(hours, minutes)]), cron)


def join_words(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def list_numbers(numbers: Sequence[int], name: Callable[[int], str] = str, to: str = "–") -> str:
    """Sorted numbers as `1–5, 8 and 10`."""
    words: list[str] = []
    for _, group in groupby(numbers, key=lambda number: number - numbers.index(number)):
        run = [name(number) for number in group]
        words += [f"{run[0]}{to}{run[-1]}"] if len(run) >= RANGE_FROM else run
    return join_words(words)


def step_of(numbers: Sequence[int], last: int) -> int | None:
    """The even step of sorted numbers that go on as far as `last` allows."""
    steps = {after - before for before, after in pairwise(numbers)}
    if len(steps) != 1 or numbers[-1] + min(steps) <= last:
        return None
    return steps.pop()


def is_unbroken(numbers: Sequence[int]) -> bool:
    """Whether sorted numbers follow each other without a gap."""
    return numbers[-1] - numbers[0] == len(numbers) - 1


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `11th`."""
    return f"{number}{'th' if number // 10 % 10 == 1 else ORDINAL_ENDINGS.get(number % 10, 'th')}"


def _read(expression: str) -> CronSim:
    words = " ".join(expression.split())
    fields = SHORTHANDS.get(words.lower(), words)
    if len(expression) > MAX_LENGTH or not FIVE_FIELDS.fullmatch(fields):
        raise ValueError(f"not a cron expression of five fields: {expression!r}")
    try:
        cron = CronSim(fields, _ANY_DAY)
        next(cron)
    except CronSimError as error:
        raise ValueError(f"{error} in {expression!r}") from error
    except StopIteration:
        raise ValueError(f"there is no such day: {expression!r}") from None
    return cron


def _at_times(times: str, cron: CronSim) -> str:
    month_days, week_days = _chosen_days(cron)
    if not month_days and not week_days:
        return f"daily at {times}{_in_months(cron)}"
    if not month_days and all(isinstance(day, int) for day in cron.weekdays):
        return f"{week_days} at {times}{_in_months(cron)}"
    if not week_days and (often := _once_a_month(cron)):
        return f"{often} at {times}"
    return f"at {times}{_on_days(cron)}{_in_months(cron)}"


def _repeated_times(minutes: Sequence[int], hours: Sequence[int]) -> str:
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


def _chosen_days(cron: CronSim) -> tuple[str, str]:
    """Those of the month and those of the week in words, empty where all will do.

    Debian's rule: both must fit if one of the fields begins with a star, else either will do.
    """
    is_any_month_day = set(range(1, 32)) <= cron.days
    is_any_week_day = set(range(7)) <= {day % 7 for day in cron.weekdays if isinstance(day, int)}
    if not cron.day_and and (is_any_month_day or is_any_week_day):
        return "", ""
    return "" if is_any_month_day else _month_days(cron), "" if is_any_week_day else _week_days(cron)


def _on_days(cron: CronSim) -> str:
    month_days, week_days = _chosen_days(cron)
    if month_days and week_days and cron.day_and:
        return f" on {week_days} that fall on {month_days}"
    return " and".join(f" on {days}" for days in (month_days, week_days) if days)


def _in_months(cron: CronSim) -> str:
    if len(cron.months) == 12:
        return ""
    return f" in {list_numbers([month - 1 for month in sorted(cron.months)], MONTHS.__getitem__)}"


def _once_a_month(cron: CronSim) -> str:
    """`monthly on day 1`, `yearly on 1 January`, or nothing where neither can be said."""
    day, month = min(cron.days), min(cron.months)
    if len(cron.days) == 1 and len(cron.months) == 12:
        return f"monthly on {SPECIAL_DAYS.get(day, f'day {day}')}"
    is_date = len(cron.days) == len(cron.months) == 1 and day > 0
    return f"yearly on {day} {MONTHS[month - 1]}" if is_date else ""


def _month_days(cron: CronSim) -> str:
    numbers = sorted(day for day in cron.days if day > 0)
    special = [words for day, words in SPECIAL_DAYS.items() if day in cron.days]
    return f"{join_words([*([_day_numbers(numbers)] if numbers else []), *special])} of the month"


def _day_numbers(numbers: Sequence[int]) -> str:
    step = step_of(numbers, 31) if len(numbers) > MAX_TIMES else None
    if step and step > 1:
        return f"every {ordinal(step)} day" + (f" from day {numbers[0]}" if numbers[0] > 1 else "")
    return f"day{'s' if len(numbers) > 1 else ''} {list_numbers(numbers)}"


def _week_days(cron: CronSim) -> str:
    plain = sorted({(day - 1) % 7 for day in cron.weekdays if isinstance(day, int)})
    counted = sorted({((day[0] - 1) % 7, day[1]) for day in cron.weekdays if not isinstance(day, int)})
    words = [_plain_weekdays(plain)] if plain else []
    words += [_counted_weekday(day, nth) for day, nth in counted if day not in plain]
    return join_words(words)


def _plain_weekdays(days: Sequence[int]) -> str:
    return WEEKDAY_GROUPS.get(tuple(days)) or list_numbers(days, WEEKDAYS.__getitem__, to=" to ")


def _counted_weekday(day: int, nth: int) -> str:
    which = "last" if nth == CronSim.LAST else ordinal(nth)
    return f"the {which} {WEEKDAYS[day].removesuffix('s')} of the month"
