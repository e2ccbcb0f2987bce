"""The service's own health on /metrics, beside the gauges of the queries."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from plugbay import Clock, Store

from plugbay_scheduled_query.metrics.gauges import family_header, sample_line
from plugbay_scheduled_query.runs.telling import Notifications, Reports
from plugbay_scheduled_query.settings import Settings
from plugbay_scheduled_query.tables import data_sources, lanes, queries

PREFIX = "plugbay_scheduled_query"
STATUSES = ("success", "failed", "timeout", "rejected")

_BACKLOG = (
    sa.select(data_sources.c.name, sa.func.count(), sa.func.min(queries.c.next_run_at))
    .select_from(queries.join(data_sources, data_sources.c.id == queries.c.source_id))
    .where(queries.c.next_run_at <= sa.bindparam("now"))
    .group_by(data_sources.c.name)
)
_LANES = sa.select(data_sources.c.name, lanes.c.run_id, lanes.c.ended_at).select_from(
    lanes.join(data_sources, data_sources.c.id == lanes.c.source_id)
)


@dataclass(frozen=True, slots=True)
class Slots:
    """The runs that this process has at work, and how many scheduled ones it would have at most."""

    busy: int
    most: int


class HealthMetrics:
    """Counters of this process, and the state of the lanes that all processes share."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        settings: Callable[[], Settings],
        reports: Reports,
        notifications: Notifications,
        slots: Callable[[], Slots],
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._reports = reports
        self._notifications = notifications
        self._slots = slots

    def text(self) -> str:
        return "".join([*self._counters(), *self._lanes(), *self._slot_gauges()])

    def _counters(self) -> list[str]:
        reports, sent, failed = self._reports, self._notifications.sent, self._notifications.failed
        by_status = {status: float(reports.executions[status]) for status in STATUSES}
        return [
            _family("executions_total", "counter", "Executions by how they ended.", "status", by_status),
            _single("execution_seconds_total", "counter", "Time spent executing.", reports.seconds),
            _single("starts_total", "counter", "Scheduled starts.", reports.starts),
            _single("start_lateness_seconds_total", "counter", "How late they were.", reports.lateness_s),
            _single("missed_total", "counter", "Cron times that were passed over.", reports.missed),
            _single("notifications_sent_total", "counter", "Notifications sent.", sent),
            _single("notifications_failed_total", "counter", "Notifications that failed.", failed),
        ]

    def _lanes(self) -> list[str]:
        now, pause = self._clock.now(), timedelta(seconds=self._settings().interval)
        with self._store.connect() as connection:
            due = {name: rest for name, *rest in connection.execute(_BACKLOG, {"now": now})}
            busy = {row.name: _is_busy(row, now - pause) for row in connection.execute(_LANES)}
        waiting = {name: float(due[name][0]) if name in due else 0.0 for name in busy}
        oldest = {name: _age(due[name][1], now) if name in due else 0.0 for name in busy}
        return [
            _family("backlog", "gauge", "Queries that are due and have not started.", "source", waiting),
            _family("oldest_due_seconds", "gauge", "How long the oldest of them is due.", "source", oldest),
            _family("lane_busy", "gauge", "Whether the source's lane runs or rests (1).", "source", busy),
        ]

    def _slot_gauges(self) -> list[str]:
        slots = self._slots()
        return [
            _single("slots", "gauge", "Scheduled runs that this process has at work at most.", slots.most),
            _single("slots_busy", "gauge", "Runs that this process has at work.", slots.busy),
        ]


def _is_busy(lane: Any, rested: datetime) -> float:
    return float(lane.run_id is not None or (lane.ended_at is not None and lane.ended_at > rested))


def _age(moment: datetime, now: datetime) -> float:
    return max(0.0, (now - moment).total_seconds())


def _single(name: str, kind: str, help_text: str, value: float) -> str:
    full = f"{PREFIX}_{name}"
    return family_header(full, kind, help_text) + sample_line(full, {}, value)


def _family(name: str, kind: str, help_text: str, label: str, values: Mapping[str, float]) -> str:
    full = f"{PREFIX}_{name}"
    lines = [sample_line(full, {label: key}, value) for key, value in values.items()]
    return family_header(full, kind, help_text) + "".join(lines) if lines else ""
