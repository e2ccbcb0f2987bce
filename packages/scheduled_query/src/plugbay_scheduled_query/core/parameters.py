"""Request parameters, read strictly: plain integers and dates."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MAX_ID = 2**63 - 1  # what an integer column of either store can hold

_INTEGER = re.compile(r"-?[0-9]{1,20}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SECOND = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")


class BadParameter(ValueError):
    """A parameter that the request should not have had, and why."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name} {message}")
        self.name = name
        self.message = message


def plain_integer(name: str, text: str, minimum: int = 1, maximum: int = MAX_ID) -> int:
    """The integer that the text plainly is; `1.0`, `+1`, ` 1` and `１` are none."""
    if not _INTEGER.fullmatch(text):
        raise BadParameter(name, "must be a plain integer")
    number = int(text)
    if number < minimum:
        raise BadParameter(name, f"must be at least {minimum}")
    if number > maximum:
        raise BadParameter(name, f"must be at most {maximum}")
    return number


@dataclass(frozen=True, slots=True)
class Period:
    """From a moment up to, not including, another; None leaves that end open."""

    since: datetime | None = None
    until: datetime | None = None


def period(date_from: str | None, date_to: str | None) -> Period:
    """The time between two dates; both days, or both seconds, belong to it."""
    since = _start("date_from", date_from) if date_from else None
    until = _end("date_to", date_to) if date_to else None
    if since and until and since >= until:
        raise BadParameter("date_from", "must not be later than date_to")
    return Period(since, until)


def _start(name: str, text: str) -> datetime:
    if not (_DAY.fullmatch(text) or _SECOND.fullmatch(text)):
        raise BadParameter(name, "must be YYYY-MM-DD or YYYY-MM-DD HH:MM:SS, in UTC")
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        raise BadParameter(name, "is not a date of the calendar") from None


def _end(name: str, text: str) -> datetime:
    inclusive = timedelta(days=1) if _DAY.fullmatch(text) else timedelta(seconds=1)
    try:
        return _start(name, text) + inclusive
    except OverflowError:  # the last day there is
        return datetime.max.replace(tzinfo=UTC)
