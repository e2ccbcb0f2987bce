"""How often a schedule starts a run, on average, and at which hours."""

from datetime import datetime
from functools import lru_cache

from plugbay_scheduled_query.core.day_plan import day_plan
from plugbay_scheduled_query.core.schedule import Schedule, parse
from plugbay_scheduled_query.core.timezones import zone

HOURS = 24
_DAY_MINUTES = HOURS * 60


def starts_per_day(schedule: Schedule) -> float:
    """How many runs a day brings, averaged over the days on which there are none."""
    plan = day_plan(schedule.fields)
    return len(plan) * plan.share_of_days()


def starts_per_hour(schedule: Schedule) -> float:
    """How many runs an hour brings, averaged over day and night."""
    return starts_per_day(schedule) / HOURS


def starts_by_hour(cron_schedule: str, timezone: str, at: datetime) -> tuple[float, ...]:
    """The runs of an average day, by hour of UTC, with the zone's clock as it is at the moment `at`."""
    offset = at.astimezone(zone(timezone)).utcoffset()
    minutes = int(offset.total_seconds() // 60) if offset else 0
    return _starts_by_hour(parse(cron_schedule).fields, minutes)


@lru_cache(maxsize=2048)
def _starts_by_hour(fields: str, offset_minutes: int) -> tuple[float, ...]:
    plan = day_plan(fields)
    share = plan.share_of_days()
    starts = [0.0] * HOURS
    for hour in plan.hours:
        for minute in plan.minutes:
            starts[(hour * 60 + minute - offset_minutes) % _DAY_MINUTES // 60] += share
    return tuple(starts)


def staggered(every_minutes: int, position: int) -> str:
    """A schedule every so many minutes that stands aside from those at other positions.

    Periods divide the hour, or are whole hours that divide the day: only these are evenly spaced in cron.
    """
    if every_minutes == 1:
        return "* * * * *"
    if 60 % every_minutes == 0 and every_minutes < 60:
        first = position % every_minutes
        return f"{first}-59/{every_minutes} * * * *" if first else f"*/{every_minutes} * * * *"
    if every_minutes % 60 or _DAY_MINUTES % every_minutes:
        raise ValueError(f"no cron expression runs evenly every {every_minutes} minutes")
    return _staggered_hours(every_minutes // 60, position % every_minutes)


def _staggered_hours(every_hours: int, position: int) -> str:
    hour, minute = divmod(position, 60)
    if every_hours == 1:
        return f"{minute} * * * *"
    if every_hours == HOURS:
        return f"{minute} {hour} * * *"
    return f"{minute} {hour}-23/{every_hours} * * *" if hour else f"{minute} */{every_hours} * * *"
