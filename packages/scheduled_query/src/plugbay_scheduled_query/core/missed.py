"""What a cron expression says about one day: whether it runs then, and at which minutes."""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from datetime import timezone as fixed_offset
from functools import lru_cache
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

from cronsim import CronSim

from plugbay_scheduled_query.core.schedule import Schedule, parse, zone
from plugbay_scheduled_query.core.text import as_utc

_SOME_DAY = datetime(2024, 1, 1, tzinfo=UTC)
_FOUR_YEARS = [date.fromordinal(_SOME_DAY.toordinal() + n) for n in range(4 * 365 + 1)]
_A_YEAR = _FOUR_YEARS[:366]  # a leap year


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


@lru_cache(maxsize=2048)
def day_plan(fields: str) -> DayPlan:
    """The plan of a known good five-field expression."""
    return DayPlan(fields)


_ONE_DAY = timedelta(days=1)
_ONE_HOUR = timedelta(hours=1)
_JUST_BEFORE = timedelta(seconds=1)


class Advance(NamedTuple):
    """What claiming a due time leads to: the next one, and how many were passed over on the way."""

    next_run_at: datetime
    missed: int


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
