"""What the editor shows around its fields: choices, next runs, the metric's line. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from plugbay_scheduled_query.core.draft_form import from_form
from plugbay_scheduled_query.core.exposition import family_header, gauge_help, sample_line
from plugbay_scheduled_query.core.metric import BadMetric, check_config
from plugbay_scheduled_query.core.schedule import BadCron, parse
from plugbay_scheduled_query.core.timezones import UnknownTimezone, zone

EXAMPLE_VALUE = 42.0
NOT_TYPED = ("csrf_token", "query_id", "version")
NEXT_RUNS = 5
SCHEDULES = (
    ("* * * * *", "every minute"),
    ("*/5 * * * *", "every 5 minutes"),
    ("*/15 * * * *", "every 15 minutes"),
    ("0 * * * *", "every hour"),
    ("0 */6 * * *", "every 6 hours"),
    ("30 2 * * *", "daily at 02:30"),
    ("0 8 * * 1-5", "weekdays at 08:00"),
    ("0 6 * * 1", "Mondays at 06:00"),
    ("0 4 1 * *", "on the first of each month at 04:00"),
)
NEW = {"cron_schedule": "*/15 * * * *", "render_type": "auto", "enabled": "on"}


@dataclass(frozen=True, slots=True)
class Upcoming:
    """The next runs of a schedule, each in its own zone beside the moment; or why there are none."""

    error: str = ""
    timezone: str = "UTC"
    times: tuple[tuple[datetime, str], ...] = ()


def upcoming(expression: str, timezone: str, now: datetime) -> Upcoming:
    """What a schedule that is being typed would do."""
    try:
        place = zone(timezone)
        times = parse(expression).next_times(now, place, NEXT_RUNS)
    except (BadCron, UnknownTimezone) as error:
        return Upcoming(error=str(error), timezone=timezone)
    return Upcoming("", timezone, tuple((at, f"{at.astimezone(place):%a %Y-%m-%d %H:%M}") for at in times))


def metric_preview(form: Mapping[str, str], value: float | None = None) -> dict[str, str]:
    """The exposition that a form's metric fields will produce, or what is wrong with them."""
    config = from_form({"metric_name": "", **form}).get("monitor_metric_config")
    if not config:
        return {}
    try:
        metric = check_config(config)
    except BadMetric as error:
        return {"error": str(error)}
    head = family_header(metric.metric_name, "gauge", gauge_help(form.get("query", "")))
    return {
        "text": head
        + sample_line(metric.metric_name, metric.labels, EXAMPLE_VALUE if value is None else value)
    }


def differences(typed: Mapping[str, str], stored: Mapping[str, str]) -> list[dict[str, Any]]:
    """Where what somebody typed is not what another one saved meanwhile."""
    names = [name for name in stored.keys() | typed.keys() if name not in NOT_TYPED]
    changed = [name for name in sorted(names) if _plain(typed.get(name)) != _plain(stored.get(name))]
    return [{"name": name, "mine": typed.get(name, ""), "theirs": stored.get(name, "")} for name in changed]


def _plain(text: str | None) -> str:
    return (text or "").replace("\r\n", "\n").strip()
