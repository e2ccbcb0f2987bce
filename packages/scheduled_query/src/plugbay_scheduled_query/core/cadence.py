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
