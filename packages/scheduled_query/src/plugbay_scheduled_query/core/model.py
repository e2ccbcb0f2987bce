"""The words of the service: a query has a run, of which comes an outcome, recorded as an execution."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NamedTuple

from plugbay_scheduled_query.core.guard import Rejection

if TYPE_CHECKING:
    from plugbay_scheduled_query.core.alerting.model import AlertEvent

Number = int | float | Decimal
ChartKind = Literal["bar", "line"]


class RenderType(StrEnum):
    """How a result is shown."""

    AUTO = "auto"
    TABLE = "table"
    COUNTER = "counter"
    METRIC = "metric"
    RAW = "raw"


class Status(StrEnum):
    """How an execution ended."""

    SUCCESS = "success"
    FAILED = "failed"
    TIMEOUT = "timeout"


class Trigger(StrEnum):
    """What started a run."""

    SCHEDULE = "schedule"
    MANUAL = "manual"


class MetricType(StrEnum):
    """What Prometheus is told of a metric."""

    GAUGE = "gauge"
    COUNTER = "counter"


class OnFailure(StrEnum):
    """What becomes of a metric's series when an execution fails."""

    KEEP = "keep"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class MetricConfig:
    """A metric that a query feeds: one sample, or with label columns one for each row of the result."""

    metric_name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    label_columns: tuple[str, ...] = ()
    value_column: str | None = None
    type: MetricType | None = None  # none is a gauge
    help: str = ""
    on_failure: OnFailure | None = None  # none is keep

    @property
    def kind(self) -> MetricType:
        """What Prometheus is told."""
        return self.type or MetricType.GAUGE

    @property
    def is_dropped_on_failure(self) -> bool:
        """Whether a failure takes its series away."""
        return self.on_failure is OnFailure.DROP

    @property
    def is_plain(self) -> bool:
        """Whether it takes the first number of the result, as specified, whatever its column."""
        return not self.label_columns and self.value_column is None

    def as_json(self) -> dict[str, object]:
        """The specified object, and of the rest what was set."""
        optional: dict[str, object] = {
            "label_columns": list(self.label_columns),
            "value_column": self.value_column,
            "type": self.type and self.type.value,
            "help": self.help,
            "on_failure": self.on_failure and self.on_failure.value,
        }
        specified: dict[str, object] = {"metric_name": self.metric_name, "labels": dict(self.labels)}
        return specified | {name: value for name, value in optional.items() if value}


class Part(NamedTuple):
    """Some lines of a metric, known by their digest: what has another digest is another part."""

    digest: str
    size: int  # lines, each a sample
    text: bytes


class Block(NamedTuple):
    """All lines of a metric of one query, ready to be sent."""

    size: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a result gave a metric with columns: a value for each combination of its column labels."""

    metric: MetricConfig
    values: Mapping[tuple[str, ...], float] | None  # none: the result lacks a column, all stays as it was
    parts: tuple[Part, ...] = ()  # the same as lines of /metrics


@dataclass(frozen=True, slots=True)
class ChartConfig:
    """The columns to draw: `x` along the axis, each of `y` as bars or a line."""

    kind: ChartKind
    x: str
    y: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """The field `chart`."""
        return {"kind": self.kind, "x": self.x, "y": list(self.y)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A definition with what its executions left behind; times are UTC."""

    id: int
    name: str
    query: str
    cron_schedule: str
    enabled: bool = True
    render_type: RenderType = RenderType.AUTO
    metrics: tuple[MetricConfig, ...] = ()
    chart: ChartConfig | None = None
    data_source: str
    timezone: str | None = None
    timeout: int | None = None
    description: str = ""
    tags: tuple[str, ...] = ()

    version: int = 1
    created_by: str | None = None
    created_at: datetime | None = None
    updated_by: str | None = None
    updated_at: datetime | None = None

    next_run_at: datetime | None = None
    last_due_at: datetime | None = None
    running: bool = False
    waiting_for: str | None = None  # why it has not started though it is due; only where somebody looked

    last_executed: datetime | None = None
    last_status: Status | None = None
    last_error: str | None = None
    last_duration_ms: int | None = None
    last_result: str | None = None
    last_result_key: tuple[str, ...] = ()
    metric_value: float | None = None  # of metrics without columns; none until there was a number
    metric_problem: str | None = None  # what the latest result did not give its metrics
    recent_values: tuple[float | None, ...] = ()
    recent_durations_ms: tuple[int, ...] = ()

    @property
    def monitor_metric_config(self) -> MetricConfig | None:
        """The specified one: the first of its metrics."""
        return self.metrics[0] if self.metrics else None

    @property
    def values_are(self) -> str:
        """What its recent values stand for, in words."""
        first = self.monitor_metric_config
        if first is None or first.is_plain:
            return "Values"
        return f"Sum of {first.metric_name}" if first.label_columns else f"Values of {first.metric_name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A claimed execution on its way, with all of the definition that it needs as of the claim."""

    id: int
    query_id: int
    query_name: str
    source_id: int
    sql: str
    timeout: int | None = None  # seconds; none is the service's own limit
    metrics: tuple[MetricConfig, ...] = ()
    trigger: Trigger
    triggered_by: str | None = None
    due_at: datetime | None = None  # none for Run Now
    missed: int = 0
    attempt: int = 1  # who has a newer one may record it, nobody else
    problem: str | None = None  # why it cannot be executed at all


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came back of a run; `result_json` is an array of rows, each an array in the order of `columns`."""

    status: Status
    columns: tuple[str, ...] = ()
    result_json: str | None = None
    row_count: int = 0
    truncated: bool = False
    duration_ms: int = 0
    error: str | None = None
    rejection: Rejection | None = None  # of a text that was never sent
    executed_at: datetime | None = None  # none for a trial, of which nothing is kept
    preview: str | None = None  # the beginning of the rows; none when they are short
    value: float | None = None  # the first number, for metrics without columns
    sampled: tuple[Sampled, ...] = ()  # for metrics with columns
    metric_problem: str | None = None  # what it did not give its metrics
    binary: frozenset[int] = frozenset()  # columns with bytes, whose digits are no numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """What a recorded execution changed on /metrics."""

    query_id: int
    version: int | None  # of the definition that was there when it was recorded; none if it is deleted
    changed_at: datetime
    has_metrics: bool
    value: float | None  # of metrics without columns
    blocks: Mapping[str, Block]  # of metrics with columns, by key; what is not here stays as it was
    is_up: bool
    last_success_at: datetime | None
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One finished run: a history record, or the same without a number where history is off."""

    id: int | None = None
    scheduled_query_id: int
    executed_at: datetime
    duration_ms: int
    status: Status
    error_message: str | None = None
    result: str | None = None
    result_key: tuple[str, ...] = ()
    row_count: int | None = None  # none where the result was not read
    monitor_metrics_snapshot: Mapping[str, object] | None = None
    due_at: datetime | None = None
    missed: int = 0
    attempt: int = 1
    trigger: Trigger = Trigger.SCHEDULE
    triggered_by: str | None = None
    truncated: bool = False
    feed: Feed | None = field(default=None, compare=False, repr=False)  # only on its way to be told
    alert_events: "tuple[AlertEvent, ...]" = ()  # what its alerts have to tell, just after it was recorded
