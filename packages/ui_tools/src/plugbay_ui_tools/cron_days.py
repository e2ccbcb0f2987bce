"""The days and months of a cron expression in words."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from cronsim import CronSim

from plugbay_ui_tools.listing import join_words, list_numbers, ordinal, step_of

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
GROUPS = {(0, 1, 2, 3, 4): "weekdays", (5, 6): "weekends"}
SPECIAL_DAYS = {CronSim.LAST: "the last day", CronSim.LAST_WEEKDAY: "the last weekday"}

WeekdayItem = int | tuple[int, int]


@dataclass(frozen=True)
class Days:
    """The days of a schedule: all of them, or which."""

    of_month: str = ""
    of_week: str = ""
    both_needed: bool = False
    is_plain_week: bool = False
    """Whether `of_week` stands well in front: `Mondays at 06:00`."""
    only_day: str = ""
    """`day 1` or `the last day`, when each month has just this one."""

    def __str__(self) -> str:
        if self.of_month and self.of_week:
            if self.both_needed:
                return f"{self.of_week} that fall on {self.of_month}"
            return f"{self.of_month} and on {self.of_week}"
        return self.of_month or self.of_week


def read_days(days: AbstractSet[int], weekdays: AbstractSet[WeekdayItem], both_needed: bool) -> Days:
    """Debian's rule: both must fit if one of the fields begins with a star, else either will do."""
    all_month = set(range(1, 32)) <= days
    all_week = set(range(7)) <= {_from_sunday(item) for item in weekdays}
    if (all_month and all_week) or (not both_needed and (all_month or all_week)):
        return Days()
    only = "" if len(days) > 1 or not all_week else SPECIAL_DAYS.get(min(days), f"day {min(days)}")
    return Days(
        of_month="" if all_month else _of_month(days),
        of_week="" if all_week else _of_week(weekdays),
        both_needed=both_needed,
        is_plain_week=all_month and all(isinstance(item, int) for item in weekdays),
        only_day=only,
    )


def read_months(months: AbstractSet[int]) -> str:
    """`January and July`; nothing for all of them."""
    return "" if len(months) == 12 else list_numbers(sorted(months), _month)


def _of_month(days: AbstractSet[int]) -> str:
    numbers = sorted(day for day in days if day > 0)
    words = [SPECIAL_DAYS[day] for day in sorted(days, reverse=True) if day < 0]
    if numbers:
        words.insert(0, _day_numbers(numbers))
    return f"{join_words(words)} of the month"


def _day_numbers(numbers: list[int]) -> str:
    step = step_of(numbers, 31) if len(numbers) > 4 else None
    if step and step > 1:
        return f"every {ordinal(step)} day" + (f" from day {numbers[0]}" if numbers[0] > 1 else "")
    return f"day{'s' if len(numbers) > 1 else ''} {list_numbers(numbers)}"


def _of_week(weekdays: AbstractSet[WeekdayItem]) -> str:
    plain = sorted({(item - 1) % 7 for item in weekdays if isinstance(item, int)})
    counted = sorted({((item[0] - 1) % 7, item[1]) for item in weekdays if not isinstance(item, int)})
    words = [_plain_weekdays(plain)] if plain else []
    words += [f"the {_which(nth)} {WEEKDAYS[day]} of the month" for day, nth in counted if day not in plain]
    return join_words(words)


def _plain_weekdays(numbers: list[int]) -> str:
    return GROUPS.get(tuple(numbers)) or list_numbers(numbers, _weekday, to=" to ")


def _weekday(number: int) -> str:
    return f"{WEEKDAYS[number]}s"


def _which(nth: int) -> str:
    return "last" if nth == CronSim.LAST else ordinal(nth)


def _from_sunday(item: WeekdayItem) -> int:
    return item % 7 if isinstance(item, int) else -1


def _month(number: int) -> str:
    return MONTHS[number - 1]
