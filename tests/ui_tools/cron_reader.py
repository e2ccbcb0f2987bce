"""Reads a schedule in words as a person would, and says whether it fires at a given minute.

It knows nothing of cron: a description that can be misread is misread here.
"""

import calendar
import re
from collections.abc import Callable
from datetime import datetime

Claim = Callable[[datetime], bool]

MONTHS = list(calendar.month_name)[1:]
WEEKDAYS = list(calendar.day_name)
MONTH_LIST = rf"(?:{'|'.join(MONTHS)})(?:(?:–|, | and )(?:{'|'.join(MONTHS)}))*"
CLOCKS = r"\d\d:\d\d(?:(?:, | and )\d\d:\d\d)*"


def read_schedule(words: str) -> Claim:
    """The meaning of the words."""
    words, months = _take(words, rf" in ({MONTH_LIST})$", _months)
    for pattern, read in SENTENCES:
        if found := re.fullmatch(pattern, words):
            return _all(months, *read(*found.groups()))
    raise AssertionError(f"cannot be read: {words}")


def _daily(clocks: str) -> list[Claim]:
    return [_clocks(clocks)]


def _monthly(day: str, clocks: str) -> list[Claim]:
    return [_clocks(clocks), _month_days(f"{day} of the month")]


def _yearly(day: str, month: str, clocks: str) -> list[Claim]:
    return [_clocks(clocks), _month_days(f"day {day} of the month"), _months(month)]


def _days_at(days: str, clocks: str) -> list[Claim]:
    return [_clocks(clocks), _days(days)]


def _at_on(clocks: str, days: str) -> list[Claim]:
    return [_clocks(clocks), _days(days)]


def _repeated(words: str, days: str | None) -> list[Claim]:
    return [_pace(words), *([_days(days)] if days else [])]


SENTENCES: list[tuple[str, Callable[..., list[Claim]]]] = [
    (rf"daily at ({CLOCKS})", _daily),
    (rf"monthly on (day \d+|the last day|the last weekday) at ({CLOCKS})", _monthly),
    (rf"yearly on (\d+) ({'|'.join(MONTHS)}) at ({CLOCKS})", _yearly),
    (rf"at ({CLOCKS}) on (.+)", _at_on),
    (rf"((?:[A-Z]\w+days|week).*?) at ({CLOCKS})", _days_at),
    (r"(.+?)(?: on (.+))?", _repeated),
]


def _pace(words: str) -> Claim:
    for pattern, read in PACES:
        if found := re.fullmatch(pattern, words):
            return read(*found.groups())
    raise AssertionError(f"no pace: {words}")


def _every(step: str | None, first: str | None) -> Claim:
    return lambda moment: (moment.minute - int(first or 0)) % int(step or 1) == 0


def _within_the_hour(step: str, first: str | None) -> Claim:
    start = int(first or 0)
    return lambda moment: moment.minute >= start and (moment.minute - start) % int(step) == 0


def _from_to(step: str | None, first: str, last: str) -> Claim:
    low, high = _minute_of_day(first), _minute_of_day(last)
    return lambda moment: low <= _now(moment) <= high and (_now(moment) - low) % int(step or 1) == 0


def _hourly_from_to(first: str, last: str) -> Claim:
    return _from_to("60", first, last)


def _every_hours(step: str, first: str | None) -> Claim:
    return _from_to(str(int(step) * 60), first or "00:00", "23:59")


def _minutes_of_hours(minutes: str, hours: str | None) -> Claim:
    at, within = _numbers(minutes), _numbers(hours) if hours else set(range(24))
    return lambda moment: moment.minute in at and moment.hour in within


PACES: list[tuple[str, Callable[..., Claim]]] = [
    (r"every (?:minute|(\d+) minutes)(?: from minute (\d+))?", _every),
    (r"every (\d+) minutes within each hour(?: from minute (\d+))?", _within_the_hour),
    (r"every (?:minute|(\d+) minutes) from (\d\d:\d\d) to (\d\d:\d\d)", _from_to),
    (r"hourly from (\d\d:\d\d) to (\d\d:\d\d)", _hourly_from_to),
    (r"every (\d+) hours(?: from (\d\d:\d\d))?", _every_hours),
    (r"hourly(?: at minute (\d+))?", lambda minute: _minutes_of_hours(minute or "0", None)),
    (r"at minutes? ([\d–, and]+) of (?:every hour|hours? ([\d–, and]+))", _minutes_of_hours),
]


def _days(words: str) -> Claim:
    if " that fall on " in words:
        week, month = words.split(" that fall on ")
        return _all(_week_days(week), _month_days(month))
    if " of the month and on " in words:
        month, week = words.split(" of the month and on ", 1)
        return _any(_month_days(f"{month} of the month"), _week_days(week))
    if re.match(r"(days?|every|the last (day|weekday))\b", words):
        return _month_days(words)
    return _week_days(words)


def _month_days(words: str) -> Claim:
    items = re.split(r"(?:, | and )(?=the last)", words.removesuffix(" of the month"))
    return _any(*map(_month_day, items))


def _month_day(words: str) -> Claim:
    if words == "the last day":
        return lambda moment: moment.day == _last_day(moment)
    if words == "the last weekday":
        return lambda moment: moment.day == _last_weekday(moment)
    if found := re.fullmatch(r"every (\d+)\w\w day(?: from day (\d+))?", words):
        step, first = int(found[1]), int(found[2] or 1)
        return lambda moment: moment.day >= first and (moment.day - first) % step == 0
    numbers = _numbers(words.removeprefix("days ").removeprefix("day "))
    return lambda moment: moment.day in numbers


def _week_days(words: str) -> Claim:
    if words in ("weekdays", "weekends"):
        return lambda moment: (moment.weekday() < 5) == (words == "weekdays")
    return _any(*map(_week_day, re.split(r", | and ", words)))


def _week_day(words: str) -> Claim:
    if words in ("weekdays", "weekends"):
        return _week_days(words)
    if found := re.fullmatch(r"the (last|\d)\w* (\w+) of the month", words):
        which, day = found[1], WEEKDAYS.index(found[2])
        return lambda moment: moment.weekday() == day and _is_nth(moment, which)
    first, _, last = words.partition(" to ")
    low, high = (WEEKDAYS.index(name.removesuffix("s")) for name in (first, last or first))
    return lambda moment: low <= moment.weekday() <= high


def _months(words: str) -> Claim:
    for number, name in enumerate(MONTHS, 1):
        words = words.replace(name, str(number))
    numbers = _numbers(words)
    return lambda moment: moment.month in numbers


def _clocks(words: str) -> Claim:
    clocks = re.findall(r"\d\d:\d\d", words)
    return lambda moment: f"{moment:%H:%M}" in clocks


def _numbers(words: str) -> set[int]:
    """`1–5, 8 and 10`"""
    found: set[int] = set()
    for item in re.split(r", | and ", words):
        first, _, last = item.partition("–")
        found.update(range(int(first), int(last or first) + 1))
    return found


def _is_nth(moment: datetime, which: str) -> bool:
    if which == "last":
        return moment.day + 7 > _last_day(moment)
    return (moment.day - 1) // 7 + 1 == int(which)


def _last_day(moment: datetime) -> int:
    return calendar.monthrange(moment.year, moment.month)[1]


def _last_weekday(moment: datetime) -> int:
    last = _last_day(moment)
    return last - max(0, moment.replace(day=last).weekday() - 4)


def _take(words: str, pattern: str, read: Callable[[str], Claim]) -> tuple[str, Claim]:
    found = re.search(pattern, words)
    return (words[: found.start()], read(found[1])) if found else (words, lambda moment: True)


def _all(*claims: Claim) -> Claim:
    return lambda moment: all(claim(moment) for claim in claims)


def _any(*claims: Claim) -> Claim:
    return lambda moment: any(claim(moment) for claim in claims)


def _minute_of_day(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:])


def _now(moment: datetime) -> int:
    return moment.hour * 60 + moment.minute
