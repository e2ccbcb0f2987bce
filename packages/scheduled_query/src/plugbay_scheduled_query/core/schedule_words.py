"""A schedule in words: the usual ones briefly, all others as cronsim tells them."""

import re
from datetime import UTC, datetime

from cronsim import CronSim

from plugbay_scheduled_query.core.schedule import Schedule

DAYS = ("Sundays", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
MONTHS = (
    *("", "January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
GROUPS = {
    **dict.fromkeys(("1-5", "MON-FRI"), "weekdays"),
    **dict.fromkeys(("0,6", "6,0", "6,7", "SAT,SUN", "SUN,SAT"), "weekends"),
}

_NUMBER = re.compile(r"[0-9]{1,2}")
_STEP = re.compile(r"(?:\*|(?P<first>[0-9]{1,2})(?:-59)?)/(?P<step>[0-9]{1,2})")
_TH = re.compile(r"\b([0-9]*)(?<!1)([123])th\b")
_SOME_DAY = datetime(2024, 1, 1, tzinfo=UTC)


def in_words(schedule: Schedule) -> str:
    """What the schedule means, to be read in a table: `every 5 minutes`, `Mondays at 06:00`."""
    minute, hour, day, month, weekday = schedule.fields.upper().split()
    when = _within_the_day(minute, hour)
    if when and (day, month, weekday) == ("*", "*", "*"):
        return when
    if _NUMBER.fullmatch(minute) and _NUMBER.fullmatch(hour) and (days := _which_days(day, month, weekday)):
        return f"{days} at {_clock(hour, minute)}"
    return _told_by_cronsim(schedule.fields)


def _within_the_day(minute: str, hour: str) -> str | None:
    if hour == "*":
        return _within_the_hour(minute)
    if not _NUMBER.fullmatch(minute):
        return None
    if _NUMBER.fullmatch(hour):
        return f"daily at {_clock(hour, minute)}"
    step = _even_step(hour, 24)
    return f"every {step} hours{_at_minute(minute)}" if step and hour.startswith("*") else None


def _within_the_hour(minute: str) -> str | None:
    if minute == "*":
        return "every minute"
    if _NUMBER.fullmatch(minute):
        return f"hourly{_at_minute(minute)}"
    step = _even_step(minute, 60)
    return f"every {step} minutes{_from_minute(minute)}" if step else None


def _even_step(field: str, whole: int) -> int | None:
    """The step of a field whose runs are equally far apart, past the end of the hour or day too."""
    found = _STEP.fullmatch(field)
    if not found or (step := int(found["step"])) < 2 or whole % step:
        return None
    return step if int(found["first"] or 0) < step else None


def _at_minute(minute: str) -> str:
    return f" at :{int(minute):02d}" if int(minute) else ""


def _from_minute(minute: str) -> str:
    found = _STEP.fullmatch(minute)
    first = int(found["first"] or 0) if found else 0
    return f" from :{first:02d}" if first else ""


def _which_days(day: str, month: str, weekday: str) -> str | None:
    if weekday != "*":
        return _weekdays(weekday) if (day, month) == ("*", "*") else None
    if not _NUMBER.fullmatch(day):
        return None
    if month == "*":
        return f"monthly on day {int(day)}"
    return f"yearly on {int(day)} {MONTHS[int(month)]}" if _NUMBER.fullmatch(month) else None


def _weekdays(field: str) -> str | None:
    if field in GROUPS:
        return GROUPS[field]
    names = [_weekday(term) for term in field.split(",")]
    if None in names:
        return None
    *others, last = [name for name in names if name]
    return f"{', '.join(others)} and {last}" if others else last


def _weekday(term: str) -> str | None:
    if _NUMBER.fullmatch(term):
        return DAYS[int(term)]
    return next((name for name in DAYS if name[:3].upper() == term), None)


def _clock(hour: str, minute: str) -> str:
    return f"{int(hour):02d}:{int(minute):02d}"


def _told_by_cronsim(fields: str) -> str:
    text = CronSim(fields, _SOME_DAY).explain()
    # it says 22th and 31th
    text = _TH.sub(lambda found: f"{found[1]}{found[2]}{ {'1': 'st', '2': 'nd', '3': 'rd'}[found[2]] }", text)
    return text[0].lower() + text[1:]
