"""The words of the service: a query has a run, of which comes an outcome, recorded as an execution."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from plugbay_scheduled_query.core.guard import Rejection

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


@dataclass(frozen=True, slots=True)
class MetricConfig:
    """The gauge that a query feeds."""

    metric_name: str
    labels: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """The specified object, `monitor_metric_config`."""
        return {"metric_name": self.metric_name, "labels": dict(self.labels)}


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
    monitor_metric_config: MetricConfig | None = None
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

    last_executed: datetime | None = None
    last_status: Status | None = None
    last_error: str | None = None
    last_duration_ms: int | None = None
    last_result: str | None = None
    last_result_key: tuple[str, ...] = ()
    metric_value: float | None = None  # of the gauge; none until an execution brought a number
    recent_values: tuple[float | None, ...] = ()
    recent_durations_ms: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A claimed execution on its way, with all of the definition that it needs as of the claim."""

    id: int
    query_id: int
    query_name: str
    source_id: int
    sql: str
    timeout: int | None = None  # seconds; none is the service's own limit
    metric: MetricConfig | None = None
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
    value: float | None = None  # the first number, for the gauge
    binary: frozenset[int] = frozenset()  # columns with bytes, whose digits are no numbers


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The gauge of one query: its latest value and how fresh that is."""

    query_id: int
    query_name: str
    query_text: str
    metric_name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    value: float | None = None  # none until an execution brought a number
    is_up: bool | None = None  # whether the last execution succeeded; none until there was one
    last_success_at: datetime | None = None
