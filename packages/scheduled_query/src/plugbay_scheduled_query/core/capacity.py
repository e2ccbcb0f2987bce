"""How full a source is: the starts that its schedules need, and those that its pace allows."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from plugbay_scheduled_query.core.schedule import Schedule, day_plan, parse, zone

HOURS = 24

_DAY_MINUTES = HOURS * 60
_HOUR_S = 3600
_SHORTEST_S = 0.001  # an unmeasured query: nothing is done in no time


@dataclass(frozen=True, slots=True)
class Load:
    """What one enabled query asks of its source; the duration is measured, or None before the first run."""

    cron_schedule: str
    timezone: str
    duration_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """How runs are let in: one by one with a pause of `interval_s`, or several at a time without one."""

    interval_s: int
    max_parallel: int

    def starts_per_hour(self, duration_s: float) -> float:
        """How many runs of that duration an hour can hold."""
        if self.is_paced:
            return _HOUR_S / (self.interval_s + duration_s)
        return self.max_parallel * _HOUR_S / max(duration_s, _SHORTEST_S)

    @property
    def is_paced(self) -> bool:
        """Whether runs go one by one."""
        return self.interval_s > 0

    def with_own(self, pace_s: int | None, max_parallel: int | None) -> "Pace":
        """The pace of a source that has values of its own, or some of them."""
        return Pace(
            self.interval_s if pace_s is None else pace_s,
            self.max_parallel if max_parallel is None else max_parallel,
        )

    @property
    def words(self) -> str:
        """How runs are let in, in words."""
        if self.is_paced:
            return f"one at a time, {self.interval_s} s apart"
        return f"{self.max_parallel} at a time"


@dataclass(frozen=True, slots=True)
class Capacity:
    """Starts an hour, needed and possible; the busiest hour is one of UTC's day."""

    needed: float
    possible: float
    busiest_hour: int
    needed_then: float

    @property
    def fill(self) -> float:
        """How full the source is over a day; above 1, runs pile up and cron times are missed."""
        return self.needed / self.possible

    @property
    def fill_then(self) -> float:
        """How full it is in its busiest hour; above 1, runs start late."""
        return self.needed_then / self.possible

    def as_json(self) -> dict[str, float | int]:
        return {
            "needed_per_hour": round(self.needed, 2),
            "possible_per_hour": round(self.possible, 2),
            "fill": round(self.fill, 4),
            "busiest_hour": self.busiest_hour,
            "busiest_hour_fill": round(self.fill_then, 4),
        }


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


def measure(loads: Iterable[Load], pace: Pace, at: datetime) -> Capacity:
    """What the queries of one source need, and what its pace allows for runs as long as theirs.

    A `Counter` of loads, which says how many queries ask each, is measured without being written out.
    """
    hours = [0.0] * HOURS
    busy_s = 0.0
    for load, count in Counter(loads).items():
        starts = _starts(load, at)
        hours = [total + count * n for total, n in zip(hours, starts, strict=True)]
        busy_s += count * sum(starts) * (load.duration_ms or 0) / 1000
    total = sum(hours)
    busiest = max(range(HOURS), key=hours.__getitem__)
    possible = pace.starts_per_hour(busy_s / total if total else 0.0)
    return Capacity(total / HOURS, possible, busiest, hours[busiest])


def warning(data_source: str, capacity: Capacity, pace: Pace) -> str | None:
    """The sentence to show at save when the source cannot keep up, or will run late."""
    possible = f"{_rate(capacity.possible)} are possible ({pace.words})"
    if capacity.fill > 1:
        need = f"its queries need {_rate(capacity.needed)} starts an hour and {possible}"
        return f"The data source “{data_source}” cannot keep up: {need}. {_remedy(data_source, pace)}"
    if capacity.fill_then > 1:
        hour = f"between {capacity.busiest_hour:02d}:00 and {(capacity.busiest_hour + 1) % HOURS:02d}:00 UTC"
        need = f"{hour} {_rate(capacity.needed_then)} starts are due and {possible}"
        return f"The data source “{data_source}” will run late: {need}. {_remedy(data_source, pace)}"
    return None


def _starts(load: Load, at: datetime) -> tuple[float, ...]:
    try:
        return starts_by_hour(load.cron_schedule, load.timezone, at)
    except ValueError:  # a zone that left the machine: such a query does not run
        return (0.0,) * HOURS


@lru_cache(maxsize=2048)
def _starts_by_hour(fields: str, offset_minutes: int) -> tuple[float, ...]:
    plan = day_plan(fields)
    share = plan.share_of_days()
    starts = [0.0] * HOURS
    for hour in plan.hours:
        for minute in plan.minutes:
            starts[(hour * 60 + minute - offset_minutes) % _DAY_MINUTES // 60] += share
    return tuple(starts)


def _rate(starts: float) -> str:
    return f"{starts:,.0f}" if starts >= 10 else f"{starts:,.1f}"


def _remedy(data_source: str, pace: Pace) -> str:
    knob = f"set the pace of {data_source} to 0" if pace.is_paced else f"raise max_parallel of {data_source}"
    return f"Run some of them less often or at other hours, {knob}, or use another data source."
