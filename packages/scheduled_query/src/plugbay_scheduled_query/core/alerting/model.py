"""The words of alerts: an alert watches a query, its standing changes, and an alert event tells of it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from plugbay_scheduled_query.core.alerting.conditions import Condition
from plugbay_scheduled_query.core.model import Number

UNTIL_RESOLVED = datetime(9999, 1, 1, tzinfo=UTC)
"""The end of a mute that lasts as long as the alert fires."""


class Severity(StrEnum):
    """How bad it is; later ones are worse."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class State(StrEnum):
    """Where an alert stands."""

    UNKNOWN = "unknown"
    OK = "ok"
    PENDING = "pending"
    FIRING = "firing"


class EventKind(StrEnum):
    """What an alert event tells."""

    FIRED = "fired"
    RESOLVED = "resolved"
    REPEATED = "repeated"


class DeliveryStatus(StrEnum):
    """How far a message to one channel has come; the last two are final."""

    WAITING = "waiting"
    SENT = "sent"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of an alert, with how often in a row its condition was true, or false while it fires."""

    state: State = State.UNKNOWN
    trues: int = 0
    falses: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertDraft:
    """The fields of an alert that a person writes, all of them good."""

    name: str
    condition: Condition
    enabled: bool = True
    severity: Severity = Severity.WARNING
    for_runs: int = 1
    recover_runs: int = 1
    repeat_minutes: int | None = None
    channels: tuple[str, ...] = ()  # names; none are the default ones
    message: str = ""
    with_rows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert as it is stored; times are UTC."""

    id: int
    query_id: int
    query_name: str
    draft: AlertDraft
    standing: Standing = Standing()
    state_since: datetime | None = None
    muted_until: datetime | None = None
    last_value: Number | None = None
    last_evaluated: datetime | None = None
    last_notified: datetime | None = None
    problem: str | None = None
    version: int = 1

    @property
    def state(self) -> State:
        return self.standing.state

    def is_muted(self, now: datetime) -> bool:
        """Whether nothing is told of it now."""
        return self.muted_until is not None and self.muted_until > now

    @property
    def is_muted_until_resolved(self) -> bool:
        return self.muted_until == UNTIL_RESOLVED


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of an alert event in one channel."""

    channel: str
    status: DeliveryStatus
    attempts: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertEvent:
    """Firing, resolving or still firing, with all that a message needs, whatever is edited afterwards."""

    id: int
    alert_id: int
    query_id: int
    alert_name: str
    query_name: str
    severity: Severity
    kind: EventKind
    at: datetime
    started_at: datetime
    value: Number | None = None
    execution_id: int | None = None
    message: str = ""
    rows: str | None = None
    labels: tuple[tuple[str, str], ...] = ()  # the fixed ones of the query's first metric
    deliveries: tuple[Delivery, ...] = ()
