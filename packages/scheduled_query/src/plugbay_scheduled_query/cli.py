"""The commands that the service adds to `plugbay`."""

from datetime import UTC, datetime, tzinfo

import click

from plugbay_scheduled_query.core.schedule import BadCron, Schedule, parse
from plugbay_scheduled_query.core.timezones import UnknownTimezone, zone

MAX_COUNT = 1000


def _read_cron(ctx: click.Context, param: click.Parameter, value: str) -> Schedule:
    try:
        return parse(value)
    except BadCron as error:
        raise click.BadParameter(str(error)) from None


def _read_zone(ctx: click.Context, param: click.Parameter, value: str) -> tzinfo:
    try:
        return zone(value)
    except UnknownTimezone as error:
        raise click.BadParameter(str(error)) from None


def _read_time(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    try:
        return None if value is None else datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter("not a time such as 2026-03-29T01:00:00 or 2026-03-29T00:00:00Z") from None


@click.command()
@click.argument("schedule", metavar="EXPR", callback=_read_cron)
@click.option(
    "--timezone",
    metavar="TZ",
    callback=_read_zone,
    default="UTC",
    envvar="SCHEDULED_QUERY_TIMEZONE",
    show_default=True,
    show_envvar=True,
    help="The time zone of the schedule, such as Europe/Berlin.",
)
@click.option(
    "--after",
    metavar="ISO-TIME",
    callback=_read_time,
    help="Begin after this time instead of now; without an offset it is a time of the time zone.",
)
@click.option("--count", metavar="N", type=click.IntRange(1, MAX_COUNT), default=5, show_default=True)
@click.option(
    "--data-dir", hidden=True, expose_value=False, help="Every command takes it; this one opens no store."
)
def cron(schedule: Schedule, timezone: tzinfo, after: datetime | None, count: int) -> None:
    """Prints the next times of a cron expression, one a line, in its time zone.

    EXPR has five fields (minute, hour, day of month, month, day of week) or is @hourly, @daily, @weekly,
    @monthly or @yearly. Quote it, so that the shell leaves its stars alone.
    """
    begin = datetime.now(UTC) if after is None else after
    if begin.tzinfo is None:
        begin = begin.replace(tzinfo=timezone)
    try:
        times = schedule.next_times(begin, timezone, count)
    except (BadCron, OverflowError):
        raise click.UsageError("the calendar ends before that many times") from None
    for moment in times:
        click.echo(moment.astimezone(timezone).isoformat())
