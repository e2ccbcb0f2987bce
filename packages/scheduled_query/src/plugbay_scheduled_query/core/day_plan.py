"""What a cron expression says about one day: whether it runs then, and at which minutes."""

from datetime import UTC, date, datetime, time
from functools import lru_cache

from cronsim import CronSim

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
