"""Time zones by name, as the machine's zone database knows them."""

import re
from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from plugbay_scheduled_query.core.text import as_utc, quoted

LONGEST_ZONE_NAME = 64  # the longest name in use has 32 characters


class UnknownTimezone(ValueError):
    """No time zone has this name."""


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


def _suggestion(name: str) -> str:
    by_folded = {known.casefold(): known for known in zone_names()}
    asked = name[:LONGEST_ZONE_NAME].strip().replace(" ", "_").casefold()
    close = get_close_matches(asked, by_folded, n=1, cutoff=0.8)
    return f"; did you mean {by_folded[close[0]]}?" if close else "; use a name such as Europe/Berlin or UTC"


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
