"""When a query is due: five-field cron in a time zone, by the rules of cronsim."""

import re
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import NamedTuple

from cronsim import CronSim, CronSimError

from plugbay_scheduled_query.core.characters import quoted
from plugbay_scheduled_query.core.times import as_utc
from plugbay_scheduled_query.core.timezones import zone

MAX_LENGTH = 128  # characters; a list of 20,000 items would take 100 ms to read
SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}

_FIELD = re.compile(r"[0-9A-Za-z*,/#-]+")
_SOME_DAY = datetime(2024, 1, 1, tzinfo=UTC)  # any will do: the calendar repeats within cronsim's 50 years


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


def parse(expression: str) -> Schedule:
    """Reads a cron expression, or says in a sentence what is wrong with it."""
    found = _read(expression)
    if isinstance(found, str):
        raise BadCron(found)
    return found


def next_run(cron_schedule: str, timezone: str, after: datetime) -> datetime:
    """The first time of a stored schedule later than `after`, in UTC."""
    return parse(cron_schedule).next_after(after, zone(timezone))


@lru_cache(maxsize=4096)
def _read(expression: str) -> Schedule | str:
    if len(expression) > MAX_LENGTH:
        return f"a cron expression has at most {MAX_LENGTH} characters; this one has {len(expression)}"
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
