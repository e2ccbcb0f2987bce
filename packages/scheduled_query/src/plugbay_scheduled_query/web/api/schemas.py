"""The shapes of the API for its documentation; answers are written by hand, because that is faster."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

TIME = "2026-11-15 12:00:00"
RESULT = '[["eu",1204],["us",987]]'

Status = Literal["success", "failed", "timeout"]

# Texts that no pattern describes: their format says what they must be, also to who generates requests.
Line = Annotated[str, Field(json_schema_extra={"format": "line"}, description="One line, not blank.")]
Sql = Annotated[str, Field(json_schema_extra={"format": "sql"}, description="One statement that reads.")]
Cron = Annotated[str, Field(json_schema_extra={"format": "cron"}, description="Five fields, or @daily.")]
Moment = Annotated[str, Field(json_schema_extra={"format": "utc-moment"})]
LabelValue = Annotated[str, Field(json_schema_extra={"format": "line"}, max_length=1_024)]
Zone = Annotated[str, Field(json_schema_extra={"format": "time-zone"})]
SourceName = Annotated[
    str, Field(json_schema_extra={"format": "data-source"}, description="The name of one.")
]
Seconds = Annotated[int, Field(ge=1, le=300, description="Up to query_timeout_max, which is 300 unless set.")]
Tag = Annotated[str, Field(json_schema_extra={"format": "tag"}, max_length=50)]
Tags = Annotated[list[Tag], Field(max_length=20)]
Description = Annotated[str, Field(json_schema_extra={"format": "lines"}, max_length=2_000)]


def edit_of(example: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """What is not sent stays as it is, so that nothing has a default; and what an edit looks like."""

    def change(schema: dict[str, Any]) -> None:
        for field in schema["properties"].values():
            field.pop("default", None)
        schema["examples"] = [example]

    return change


class MetricConfig(BaseModel):
    """A metric that a query feeds; what stands after the labels is there only where it was set."""

    metric_name: str = Field(examples=["shop_orders"], json_schema_extra={"format": "metric-name"})
    labels: dict[str, str] = Field(examples=[{"region": "eu"}])
    label_columns: list[str] = Field([], description="One sample for each row, with these of its columns.")
    value_column: str | None = Field(None, description="The column with the value.")
    type: Literal["gauge", "counter"] = "gauge"
    help: str = Field("", description="Instead of the query's text.")
    on_failure: Literal["keep", "drop"] = Field("keep", description="Of its series when an execution fails.")


class NewMetric(MetricConfig):
    """The same as it may be sent: without labels there are none."""

    labels: dict[str, LabelValue] | None = Field(  # type: ignore[assignment]
        None,
        examples=[{"region": "eu"}],
        max_length=20,
        json_schema_extra={"propertyNames": {"format": "label-name"}},
    )


class ChartConfig(BaseModel):
    """How the rows of a table are drawn."""

    kind: Literal["bar", "line"]
    x: str = Field(description="The column along the axis.", examples=["region"])
    y: list[str] = Field(description="Columns with numbers, at most 8.", examples=[["n"]])


class QuerySummary(BaseModel):
    """A query without its result."""

    id: int = Field(examples=[1])
    name: str = Field(examples=["Orders by region"])
    query: str = Field(examples=["SELECT region, count(*) FROM orders GROUP BY region"])
    cron_schedule: str = Field(examples=["*/5 * * * *"])
    last_executed: str | None = Field(description="When the last execution began, in UTC.", examples=[TIME])
    enabled: bool
    monitor_metric_config: MetricConfig | None = Field(description="The first of `metrics`.")
    metrics: list[MetricConfig]
    metric_problem: str | None = Field(description="What the latest result did not give its metrics.")
    render_type: Literal["auto", "table", "counter", "metric", "raw"]
    chart: ChartConfig | None = Field(description="How a table is drawn; null is as a table.")
    data_source: str = Field(examples=["shop"])
    timezone: str | None = Field(examples=["Europe/Berlin"])
    timeout: int | None = Field(description="Seconds; null is the service's own limit.")
    description: str
    tags: list[str] = Field(examples=[["sales"]])
    next_run_at: str | None = Field(examples=[TIME])
    running: bool
    waiting_for: str | None = Field(
        description="Why it has not started though it is due, and what would help."
    )
    last_status: Status | None
    last_error: str | None
    last_duration_ms: int | None = Field(examples=[12])
    version: int = Field(description="Counts the edits of the definition.", examples=[1])
    created_by: str | None = Field(examples=["ada"])
    updated_by: str | None = Field(examples=["ada"])
    updated_at: str | None = Field(examples=[TIME])


class QueryDetails(QuerySummary):
    """A query with its latest result."""

    last_result_key: list[str] = Field(
        description="The column names of the result.", examples=[["region", "n"]]
    )
    last_result: str | None = Field(description="JSON text: an array of rows.", examples=[RESULT])


class SavedQuery(QueryDetails):
    """A query that was stored."""

    warnings: list[str] = Field(description="What its author should know, such as a source that is too full.")


class NewQuery(BaseModel):
    """What a query is made of; only the first three are needed."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "Orders by region",
                    "query": "SELECT region, count(*) AS n FROM orders GROUP BY region",
                    "cron_schedule": "*/5 * * * *",
                }
            ]
        }
    )

    name: Line = Field(min_length=1, max_length=200)
    query: Sql = Field(min_length=1, max_length=100_000)
    cron_schedule: Cron = Field(min_length=1, max_length=128)
    enabled: bool | None = True
    render_type: Literal["auto", "table", "counter", "metric", "raw"] | None = "auto"
    chart: ChartConfig | None = None
    monitor_metric_config: NewMetric | None = Field(None, description="The first of `metrics`.")
    metrics: list[NewMetric] | None = Field(None, max_length=20)
    data_source: SourceName | None = Field(None, description="A name; null is the usual one.")
    timezone: Zone | None = None
    timeout: Seconds | None = None
    description: Description | None = ""
    tags: Tags | None = []


class QueryEdit(BaseModel):
    """The fields to change; all others stay as they are."""

    model_config = ConfigDict(json_schema_extra=edit_of({"enabled": False, "version": 1}))

    name: Line = Field("", min_length=1, max_length=200)
    query: Sql = Field("", min_length=1, max_length=100_000)
    cron_schedule: Cron = Field("", min_length=1, max_length=128)
    enabled: bool = Field(True, examples=[False])
    render_type: Literal["auto", "table", "counter", "metric", "raw"] = "auto"
    chart: ChartConfig | None = None
    monitor_metric_config: NewMetric | None = Field(
        None, description="Replaces the first metric; null takes all away."
    )
    metrics: list[NewMetric] | None = Field(None, max_length=20)
    data_source: SourceName = ""
    timezone: Zone | None = None
    timeout: Seconds | None = None
    description: Description | None = None
    tags: Tags | None = None
    version: int | None = Field(None, description="The version that was edited; 409 if it is not the newest.")


class Pagination(BaseModel):
    """Where a page lies among all."""

    page: int = Field(examples=[1])
    limit: int = Field(examples=[50])
    total_count: int = Field(examples=[1])
    total_pages: int = Field(examples=[1])
    has_next: bool
    has_prev: bool


class QueryPage(BaseModel):
    """A page of queries, by name."""

    data: list[QuerySummary]
    pagination: Pagination


class SampleAnswer(BaseModel):
    """One sample of a metric."""

    labels: dict[str, str] = Field(examples=[{"region": "eu"}])
    value: float = Field(examples=[1204.0])


class SnapshotPart(BaseModel):
    """A metric as one execution left it."""

    metric_name: str = Field(examples=["shop_orders"])
    labels: dict[str, str] = Field(examples=[{"region": "eu"}])
    value: float | None = Field(description="Of the first sample.", examples=[1204.0])
    samples: list[SampleAnswer] = Field([], description="The first 100, unless there is one in all.")
    series: int = Field(0, description="How many samples there were.")


class Snapshot(SnapshotPart):
    """The first metric as one execution left it; a single sample stands alone, with its value."""

    more: list[SnapshotPart] = Field([], description="The further metrics.")


class HistoryFacts(BaseModel):
    """One execution without its result."""

    id: int | None = Field(description="Null only where history is off.", examples=[17])
    executed_at: str = Field(examples=[TIME])
    duration_ms: int = Field(examples=[12])
    result_key: list[str] = Field(examples=[["region", "n"]])
    status: Status
    error_message: str | None
    monitor_metrics_snapshot: Snapshot | None
    due_at: str | None = Field(description="The time of the schedule; null for Run Now.", examples=[TIME])
    missed: int = Field(
        description="Cron times that this execution stands for, beside its own.", examples=[0]
    )
    attempt: int = Field(examples=[1])
    trigger: Literal["schedule", "manual"]
    triggered_by: str | None
    truncated: bool


class HistoryItem(HistoryFacts):
    """One execution."""

    result: str = Field(description="JSON text: an array of rows.", examples=[RESULT])


class QueryInfo(BaseModel):
    """Whose history it is."""

    id: int = Field(examples=[1])
    name: str = Field(examples=["Orders by region"])


class HistoryPage(BaseModel):
    """A page of history, newest first."""

    data: list[HistoryItem]
    pagination: Pagination
    query_info: QueryInfo


class ExecutionDetails(HistoryItem):
    """One execution, and of what."""

    query_info: QueryInfo


class RunAnswer(BaseModel):
    """How the run ended, or that it goes on."""

    status: Literal["success", "failed", "timeout", "running"]
    execution: HistoryItem | None


class CancelAnswer(BaseModel):
    """The run was told to stop."""

    status: Literal["cancelling"]


class TryRequest(BaseModel):
    """A query to run once."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"query": "SELECT 1 AS one"}]})

    query: Sql = Field(min_length=1, max_length=100_000)
    data_source: SourceName | None = None
    timeout: Seconds | None = None


class TryAnswer(BaseModel):
    """What the query brought; nothing of it is stored."""

    status: Status
    duration_ms: int = Field(examples=[3])
    result: str = Field(examples=["[[1]]"])
    result_key: list[str] = Field(examples=[["one"]])
    row_count: int = Field(examples=[1])
    truncated: bool
    error_message: str | None


class CronAnswer(BaseModel):
    """A schedule, explained."""

    expression: str = Field(examples=["*/5 * * * *"])
    timezone: str = Field(examples=["UTC"])
    words: str = Field(examples=["every 5 minutes"])
    next_times: list[str] = Field(description="In UTC.", examples=[[TIME]])


class ResultAnswer(BaseModel):
    """A result with its columns."""

    columns: list[str] = Field(examples=[["region", "n"]])
    rows: list[list[Any]] = Field(examples=[[["eu", 1204], ["us", 987]]])


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str
