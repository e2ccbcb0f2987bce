"""A cron expression in words, from what it means: expressions that fire alike read alike."""

from datetime import UTC, datetime

from cronsim import CronSim, CronSimError

from plugbay_ui_tools.cron_clock import fixed_times, repeated_times
from plugbay_ui_tools.cron_days import Days, read_days, read_months

NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_ANY_DAY = datetime(2024, 1, 1, tzinfo=UTC)


def describe_cron(expression: str) -> str:
    """`*/5 * * * *` → `every 5 minutes`, by the rules of Debian's cron; `ValueError` for a bad expression."""
    fields = NICKNAMES.get(expression.strip().lower(), expression)
    if len(fields.split()) != 5:
        raise ValueError(f"not a cron expression of five fields: {expression!r}")
    try:
        cron = CronSim(fields, _ANY_DAY)
    except CronSimError as error:
        raise ValueError(f"{error} in {expression!r}") from error
    minutes, hours = sorted(cron.minutes), sorted(cron.hours)
    days = read_days(cron.days, cron.weekdays, cron.day_and)
    months = read_months(cron.months)
    if times := fixed_times(minutes, hours):
        return _at(times, days, months, single_month=len(cron.months) == 1)
    return repeated_times(minutes, hours) + _on(days) + _in(months)


def cron_words(expression: str) -> str:
    """The words or, where there are none, the expression itself: what a page shows."""
    try:
        return describe_cron(expression)
    except ValueError:
        return expression


def _at(times: str, days: Days, months: str, single_month: bool) -> str:
    if not str(days):
        return f"daily at {times}{_in(months)}"
    if days.is_plain_week:
        return f"{days} at {times}{_in(months)}"
    if days.only_day and not months:
        return f"monthly on {days.only_day} at {times}"
    if days.only_day.startswith("day") and single_month:
        return f"yearly on {days.only_day.removeprefix('day ')} {months} at {times}"
    return f"at {times}{_on(days)}{_in(months)}"


def _on(days: Days) -> str:
    return f" on {days}" if str(days) else ""


def _in(months: str) -> str:
    return f" in {months}" if months else ""
