"""Moments as people read them: how long ago, and exactly when; `times.js` repeats these rules."""

from datetime import UTC, datetime

from plugbay_ui_tools.numbers import NONE

JUST_NOW_S = 45
# up to which age in seconds, in which unit, of how many seconds
UNITS = (
    (59.5 * 60, "min", 60),
    (23.5 * 3600, "h", 3600),
    (29.5 * 86400, "d", 86400),
    (364.5 * 86400, "mo", 30.44 * 86400),
)
YEAR_S = 365.25 * 86400

Moment = datetime | str | float | None


def as_utc(moment: Moment) -> datetime | None:
    """A datetime, an ISO text or Unix seconds as UTC; what carries no time zone is UTC already."""
    if moment is None or moment == "":
        return None
    if isinstance(moment, int | float):
        return datetime.fromtimestamp(moment, UTC)
    parsed = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)


def relative_words(moment: Moment, now: datetime) -> str:
    """`2 min ago`, `in 4 h`, `just now`."""
    then = as_utc(moment)
    if then is None:
        return "never"
    seconds = (now - then).total_seconds()
    if abs(seconds) < JUST_NOW_S:
        return "just now" if seconds >= 0 else "in a moment"
    amount = _amount(abs(seconds))
    return f"{amount} ago" if seconds > 0 else f"in {amount}"


def utc_text(moment: Moment) -> str:
    """`2026-11-15 12:00:00 UTC`."""
    then = as_utc(moment)
    return f"{then:%Y-%m-%d %H:%M:%S} UTC" if then else NONE


def iso_text(moment: Moment) -> str:
    """What the `datetime` attribute of a `<time>` takes."""
    then = as_utc(moment)
    return f"{then:%Y-%m-%dT%H:%M:%SZ}" if then else ""


def _amount(seconds: float) -> str:
    for limit, unit, size in UNITS:
        if seconds < limit:
            return f"{max(1, round(seconds / size))} {unit}"
    return f"{max(1, round(seconds / YEAR_S))} y"
