"""When a query runs: time zones, cron expressions, the next time and the times passed over.

Where clocks change, cronsim decides: a schedule with a star in minute or hour goes by elapsed time, any other
by the clock on the wall, so that what falls into a gap runs right after it and what comes twice runs once.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from datetime import timezone as fixed_offset
from difflib import get_close_matches
from functools import lru_cache
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from plugbay_scheduled_query.core.text import as_utc, quoted

LONGEST_ZONE_NAME = 64  # the longest name in use has 32 characters
LONGEST_CRON = 128  # characters; a list of 20,000 items would take 100 ms to read
SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}

_FIELD = re.compile(r"[0-9A-Za-z*,/#-]+")
_SOME_DAY = datetime(2024, 1, 1, tzinfo=UTC)  # any will do: the calendar repeats within cronsim's 50 years
_FOUR_YEARS = [date.fromordinal(_SOME_DAY.toordinal() + n) for n in range(4 * 365 + 1)]
_A_YEAR = _FOUR_YEARS[:366]  # a leap year
_ONE_DAY = timedelta(days=1)
_ONE_HOUR = timedelta(hours=1)
_JUST_BEFORE = timedelta(seconds=1)


class UnknownTimezone(ValueError):
    """No time zone has this name."""


class BadCron(ValueError):
    """A cron expression that cannot be used, and why."""


class Schedule(NamedTuple):
    """A cron expression that is known to be good and to fire."""

    expression: str
    fields: str

    def next_after(self, after: datetime, timezone: tzinfo = UTC) -> datetime:
        """The first time later than `after`, in UTC."""
        after = as_utc(after)
        due = _next(self.fields, timezone, after.replace(second=0, microsecond=0))
        while due <= after:  # only in zones that once were not whole minutes from UTC
            due = _next(self.fields, timezone, due)
        return due

    def next_times(self, after: datetime, timezone: tzinfo = UTC, count: int = 5) -> list[datetime]:
        """The first `count` times later than `after`, in UTC."""
        times: list[datetime] = []
        for _ in range(count):
            after = self.next_after(after, timezone)
            times.append(after)
        return times


class Advance(NamedTuple):
    """What claiming a due time leads to: the next one, and how many were passed over on the way."""

    next_run_at: datetime
    missed: int


class DayPlan:
    """The times of an ordinary day, one on which no clock is changed."""

    def __init__(self, fields: str) -> None:
        self._cron = CronSim(fields, _SOME_DAY)
        self.hours = frozenset(self._cron.hours)
        self.minutes = frozenset(self._cron.minutes)
        self.is_daily = len(self._cron.months) == 12 and all(map(self._cron.match_day, _A_YEAR))
        has_star = any(word.startswith("*") for word in fields.split()[:2])
        # cronsim keeps to the clock on the wall only where neither minute nor hour begins with a star
        self.goes_by_elapsed_hours = has_star and self.is_daily and len(self.hours) == 24

    def __len__(self) -> int:
        return len(self.hours) * len(self.minutes)

    def is_on(self, day: date) -> bool:
        """Whether the expression fires on that day."""
        return self.is_daily or (day.month in self._cron.months and self._cron.match_day(day))

    def count_until(self, clock: time) -> int:
        """How many of the day's times are not later than `clock`."""
        whole_hours = sum(hour < clock.hour for hour in self.hours)
        in_this_hour = sum(minute <= clock.minute for minute in self.minutes)
        return whole_hours * len(self.minutes) + (in_this_hour if clock.hour in self.hours else 0)

    def share_of_days(self) -> float:
        """On which part of all days it fires, over four years."""
        return 1.0 if self.is_daily else sum(map(self.is_on, _FOUR_YEARS)) / len(_FOUR_YEARS)


@lru_cache(maxsize=1024)
def zone(name: str) -> tzinfo:
    """The time zone of that name; UTC is there even on a machine without a zone database."""
    if name == "UTC":
        return UTC
    # only listed names reach the file system, so that no name can be a path to somewhere else
    if name not in zone_names():
        raise UnknownTimezone(f"no time zone is called {quoted(name)}{_suggestion(name)}")
    return ZoneInfo(name)


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Every name that can be chosen, and means the same on every machine."""
    return (frozenset(available_timezones()) | {"UTC"}) - {"localtime", "Factory"}


def parse(expression: str) -> Schedule:
    """Reads a cron expression, or says in a sentence what is wrong with it."""
    found = _read(expression)
    if isinstance(found, str):
        raise BadCron(found)
    return found


def next_run(cron_schedule: str, timezone: str, after: datetime) -> datetime:
    """The first time of a stored schedule later than `after`, in UTC."""
    return parse(cron_schedule).next_after(after, zone(timezone))


def advance(cron_schedule: str, timezone: str, due_at: datetime, now: datetime) -> Advance:
    """The first time after both `due_at` and `now`, and the number of times strictly between."""
    schedule, tz = parse(cron_schedule), zone(timezone)
    following = schedule.next_after(due_at, tz)
    if following > now:
        return Advance(following, 0)
    return Advance(schedule.next_after(now, tz), passed_over(schedule, tz, due_at, now))


def passed_over(schedule: Schedule, timezone: tzinfo, due_at: datetime, now: datetime) -> int:
    """How many times of the schedule lie after `due_at` and not after `now`, exactly."""
    due_at, now = as_utc(due_at), as_utc(now)
    return _passed_over(schedule.fields, timezone, due_at, now) if due_at < now else 0


@lru_cache(maxsize=2048)
def day_plan(fields: str) -> DayPlan:
    """The plan of a known good five-field expression."""
    return DayPlan(fields)


def _suggestion(name: str) -> str:
    by_folded = {known.casefold(): known for known in zone_names()}
    asked = name[:LONGEST_ZONE_NAME].strip().replace(" ", "_").casefold()
    close = get_close_matches(asked, by_folded, n=1, cutoff=0.8)
    return f"; did you mean {by_folded[close[0]]}?" if close else "; use a name such as Europe/Berlin or UTC"


@lru_cache(maxsize=4096)
def _read(expression: str) -> Schedule | str:
    if len(expression) > LONGEST_CRON:
        return f"a cron expression has at most {LONGEST_CRON} characters; this one has {len(expression)}"
    words = expression.split()
    if not words:
        return "a cron expression is needed, such as */5 * * * *"
    if len(words) == 1 and words[0].startswith("@"):
        return _read_shorthand(words[0].lower())
    return _read_fields(words)


def _read_shorthand(word: str) -> Schedule | str:
    if word not in SHORTHANDS:
        return f"{quoted(word)} is not known; there are {', '.join(SHORTHANDS)}, or five fields"
    return Schedule(word, SHORTHANDS[word])


def _read_fields(words: list[str]) -> Schedule | str:
    if len(words) != 5:
        return (
            "a cron expression has five fields (minute, hour, day of month, month, day of week); "
            f"this one has {len(words)}"
        )
    for word in words:
        if not _FIELD.fullmatch(word):
            return f"{quoted(word)} has a character that no cron field can have"
    return _read_times(" ".join(words))


def _read_times(fields: str) -> Schedule | str:
    try:
        next(CronSim(fields, _SOME_DAY))
    except CronSimError as error:
        return _explain(fields, str(error))
    except StopIteration:
        return f"“{fields}” never fires: there is no such day"
    return Schedule(fields, fields)


def _explain(fields: str, complaint: str) -> str:
    """cronsim's complaint as a sentence with the field's own text and what it may hold."""
    name = complaint.removeprefix("Bad ")
    position = ("minute", "hour", "day-of-month", "month", "day-of-week").index(name)
    word = fields.split()[position]
    allowed = ("0 to 59", "0 to 23", "1 to 31", "1 to 12 or JAN to DEC", "0 to 7 or SUN to SAT")[position]
    if name == "day-of-month" and _reads_alone(word):
        return f"“{fields}” never fires: no chosen month has such a day"
    return (
        f"the {name.replace('-', ' ')} “{word}” is not valid: it takes {allowed}, in lists, ranges or steps"
    )


def _reads_alone(day: str) -> bool:
    try:
        CronSim(f"0 0 {day} * *", _SOME_DAY)
    except CronSimError:
        return False
    return True


@lru_cache(maxsize=8192)
def _next(fields: str, timezone: tzinfo, after: datetime) -> datetime:
    # cached, because queries that share a schedule are due together and ask the same question
    times = CronSim(fields, after.astimezone(timezone))
    for due in times:
        # asked within the repeated hour, cronsim first answers with its first pass, which is over
        if (moment := due.astimezone(UTC)) > after:
            return moment
    raise BadCron(f"“{fields}” does not fire within the next 50 years")


@lru_cache(maxsize=1024)
def _passed_over(fields: str, timezone: tzinfo, after: datetime, until: datetime) -> int:
    after, until = after.astimezone(timezone), until.astimezone(timezone)
    offsets = _offsets(after, until)
    if day_plan(fields).goes_by_elapsed_hours and _differ_by_hours(offsets.values()):
        # such a schedule does not notice when whole hours are put in or taken out
        steady = fixed_offset(offsets[after.date()])
        after, until = after.astimezone(steady), until.astimezone(steady)
        return _count_by_day(fields, _days(after, until), after, until)
    return sum(
        _count_by_day(fields, days, after, until)
        if is_settled
        else _count_around_change(fields, timezone, days, after, until)
        for is_settled, days in _stretches(offsets)
    )


def _days(after: datetime, until: datetime) -> list[date]:
    first, last = after.toordinal(), until.toordinal()
    return [date.fromordinal(day) for day in range(first, last + 1)]


def _offsets(after: datetime, until: datetime) -> dict[date, timedelta]:
    """The distance from UTC at each local midnight, from the day before to the day after."""
    assert after.tzinfo is not None
    days = _days(after - _ONE_DAY, until + _ONE_DAY)
    return {day: _local_midnight(day, after.tzinfo).utcoffset() or timedelta(0) for day in days}


def _differ_by_hours(offsets: Iterable[timedelta]) -> bool:
    return len({offset % _ONE_HOUR for offset in offsets}) == 1


def _stretches(offsets: dict[date, timedelta]) -> Iterator[tuple[bool, list[date]]]:
    """The days in between, those around a clock change apart from the others."""
    # the day after a change counts as unsettled too: a time in a gap before midnight runs after it
    changes = [before != later for before, later in pairwise(offsets.values())]
    settled = [not (today or yesterday) for yesterday, today in pairwise(changes)]
    days = list(offsets)[1:-1]
    for is_settled, group in groupby(zip(settled, days, strict=True), key=itemgetter(0)):
        yield is_settled, [day for _, day in group]


def _local_midnight(day: date, timezone: tzinfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=timezone)


def _count_by_day(fields: str, days: list[date], after: datetime, until: datetime) -> int:
    plan = day_plan(fields)
    total = len(plan) * sum(map(plan.is_on, days))
    if days[0] == after.date() and plan.is_on(days[0]):
        total -= plan.count_until(after.time())
    if days[-1] == until.date() and plan.is_on(days[-1]):
        total -= len(plan) - plan.count_until(until.time())
    return total


def _count_around_change(
    fields: str, timezone: tzinfo, days: list[date], after: datetime, until: datetime
) -> int:
    start = _local_midnight(days[0], timezone).astimezone(UTC) - _JUST_BEFORE
    end = _local_midnight(days[-1] + _ONE_DAY, timezone).astimezone(UTC) - _JUST_BEFORE
    return _count_one_by_one(
        fields, timezone, max(after, start).astimezone(UTC), min(until, end).astimezone(UTC)
    )


@lru_cache(maxsize=1024)
def _count_one_by_one(fields: str, timezone: tzinfo, after: datetime, until: datetime) -> int:
    total = 0
    for due in CronSim(fields, after.astimezone(timezone)):
        moment = due.astimezone(UTC)
        if moment > until:
            break
        total += moment > after
    return total
