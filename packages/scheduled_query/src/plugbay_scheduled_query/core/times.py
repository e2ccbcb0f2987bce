"""Times as the API writes and reads them: UTC, to the second."""

from datetime import UTC, datetime
from typing import overload


@overload
def format_utc(moment: datetime) -> str: ...
@overload
def format_utc(moment: None) -> None: ...
def format_utc(moment: datetime | None) -> str | None:
    """`YYYY-MM-DD HH:MM:SS` in UTC; what has not happened yet stays None."""
    # isoformat rather than strftime, which writes the year 999 without its zero
    return None if moment is None else as_utc(moment).replace(tzinfo=None).isoformat(" ", "seconds")


def as_utc(moment: datetime) -> datetime:
    """The same moment in UTC; one without a zone comes from the store and is UTC already."""
    if moment.tzinfo is UTC:
        return moment
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
