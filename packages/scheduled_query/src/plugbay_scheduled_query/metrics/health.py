"""The service's own health on /metrics, beside the gauges of the queries."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from plugbay import Clock, Store, UntilChanged, metric_header, metric_sample

from plugbay_scheduled_query.repository.claims import Lane, lanes_of
from plugbay_scheduled_query.repository.pauses import paused_sources
from plugbay_scheduled_query.repository.standstills import all_are_paused
from plugbay_scheduled_query.runs.disk import DiskRoom
from plugbay_scheduled_query.runs.telling import Notifications, Reports
from plugbay_scheduled_query.settings import Settings

PREFIX = "plugbay_scheduled_query"
PAUSED = "plugbay_source_paused"
ALL_PAUSED = "plugbay_schedule_paused"
LANES_FRESH_S = 1.0  # no scraper that counts on it looks more often
STATUSES = ("success", "failed", "timeout", "rejected")


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
        disk: DiskRoom,
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._reports = reports
        self._notifications = notifications
        self._slots = slots
        self._disk = disk
        self._lanes_read: tuple[float, list[Lane]] | None = None
        self._paused = UntilChanged(store, lambda: _paused_text(store))

    def text(self) -> str:
        return "".join(
            [*self._counters(), *self._lanes(), *self._slot_gauges(), self._paused(), self._room()]
        )

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
        now, interval = self._clock.now(), self._settings().interval
        lanes = self._known_lanes(now)
        busy = {lane.source: float(lane.is_busy(now, interval)) for lane in lanes}
        waiting = {lane.source: float(lane.waiting) for lane in lanes}
        oldest = {lane.source: _age(lane.oldest, now) for lane in lanes}
        return [
            _family("backlog", "gauge", "Queries that are due and have not started.", "source", waiting),
            _family("oldest_due_seconds", "gauge", "How long the oldest of them is due.", "source", oldest),
            _family("lane_busy", "gauge", "Whether the source's lane runs or rests (1).", "source", busy),
        ]

    def _room(self) -> str:
        free = self._disk.free_bytes()
        return "" if free is None else _single("free_bytes", "gauge", "Room on the disk of the store.", free)

    def _known_lanes(self, now: datetime) -> list[Lane]:
        """As they are, or were a moment ago: whoever scrapes in a hurry asks the store once."""
        asked_at = self._clock.monotonic()
        if self._lanes_read is None or asked_at - self._lanes_read[0] >= LANES_FRESH_S:
            self._lanes_read = asked_at, lanes_of(self._store, now)
        return self._lanes_read[1]

    def _slot_gauges(self) -> list[str]:
        slots = self._slots()
        return [
            _single("slots", "gauge", "Scheduled runs that this process has at work at most.", slots.most),
            _single("slots_busy", "gauge", "Runs that this process has at work.", slots.busy),
        ]


def _paused_text(store: Store) -> str:
    values = paused_sources(store)
    lines = [metric_sample(PAUSED, {"source": name}, float(paused)) for name, paused in values.items()]
    text = "Whether nothing starts at the source because a session there does not end (1)."
    of_sources = metric_header(PAUSED, text, "gauge") + "".join(lines) if lines else ""
    is_held = metric_sample(ALL_PAUSED, {}, float(all_are_paused(store)))
    return (
        of_sources + metric_header(ALL_PAUSED, "Whether an admin paused all queries (1).", "gauge") + is_held
    )


def _age(moment: datetime | None, now: datetime) -> float:
    return max(0.0, (now - moment).total_seconds()) if moment else 0.0


def _single(name: str, kind: str, help_text: str, value: float) -> str:
    full = f"{PREFIX}_{name}"
    return metric_header(full, help_text, kind) + metric_sample(full, {}, float(value))


def _family(name: str, kind: str, help_text: str, label: str, values: Mapping[str, float]) -> str:
    full = f"{PREFIX}_{name}"
    lines = [metric_sample(full, {label: key}, value) for key, value in values.items()]
    return metric_header(full, help_text, kind) + "".join(lines) if lines else ""
