"""The shapes of alerts and channels in the documentation of the API."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from plugbay_scheduled_query.web.api.schemas import TIME, Pagination

CONDITION: dict[str, Any] = {"kind": "value", "op": ">", "value": 100, "column": None, "rows": "first"}
CONDITION_WORDS = (
    "By kind: value (op, value, column, rows: first, any or all), rows (op, value), "
    "change (of: value, rows or result; column, by, percent), no_data, failing (times), stale (minutes)."
)

Severity = Literal["info", "warning", "critical"]
State = Literal["unknown", "ok", "pending", "firing"]


class AlertAnswer(BaseModel):
    """A rule on a query, and where it stands."""

    id: int = Field(examples=[1])
    query_id: int = Field(examples=[1])
    name: str = Field(examples=["Too many orders wait"])
    enabled: bool
    severity: Severity
    condition: dict[str, Any] = Field(description=CONDITION_WORDS, examples=[CONDITION])
    for_runs: int = Field(description="How often in a row it must be true to fire.", examples=[1])
    recover_runs: int = Field(description="How often in a row it must be false to be over.", examples=[1])
    repeat_minutes: int | None = Field(description="Tell again after so long, while it fires.")
    channels: list[str] = Field(description="Names; empty: the default ones.", examples=[["ops"]])
    message: str
    with_rows: bool = Field(description="Whether messages show the first ten rows.")
    muted_until: str | None = Field(description="9999-01-01 00:00:00: until it is resolved.", examples=[TIME])
    state: State
    state_since: str | None = Field(examples=[TIME])
    last_value: float | None
    last_evaluated: str | None = Field(examples=[TIME])
    last_notified: str | None = Field(examples=[TIME])
    problem: str | None = Field(description="Why it could not be judged last time.")
    version: int = Field(description="Counts the edits.", examples=[1])


class AlertPage(BaseModel):
    """A page of alerts, firing ones first."""

    data: list[AlertAnswer]
    pagination: Pagination


class NewAlert(BaseModel):
    """What an alert is made of; only the first two are needed."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query_id": 1, "condition": CONDITION, "name": "Too many orders wait"}]
        }
    )

    query_id: int
    condition: dict[str, Any] = Field(description=CONDITION_WORDS)
    name: str | None = None
    enabled: bool = True
    severity: Severity = "warning"
    for_runs: int = Field(1, ge=1, le=1000)
    recover_runs: int = Field(1, ge=1, le=1000)
    repeat_minutes: int | None = Field(None, ge=1, le=43_200)
    channels: list[str] = []
    message: str = ""
    with_rows: bool = False


class AlertEdit(BaseModel):
    """The fields to change; all others stay as they are."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"severity": "critical", "version": 1}]})

    name: str | None = None
    condition: dict[str, Any] | None = Field(None, description=CONDITION_WORDS)
    enabled: bool | None = None
    severity: Severity | None = None
    for_runs: int | None = None
    recover_runs: int | None = None
    repeat_minutes: int | None = None
    channels: list[str] | None = None
    message: str | None = None
    with_rows: bool | None = None
    version: int | None = Field(None, description="The version that was edited; 409 if it is not the newest.")


class MuteRequest(BaseModel):
    """For how long nothing is sent."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"minutes": 60}]})

    minutes: int | None = Field(None, ge=0, le=525_600, description="0 ends it.")
    until_resolved: bool = Field(False, description="Instead of minutes.")


class DeliveryAnswer(BaseModel):
    """What became of a message."""

    channel: str = Field(examples=["ops"])
    status: Literal["waiting", "sent", "failed"]
    attempts: int = Field(examples=[1])
    error: str | None


class AlertEventAnswer(BaseModel):
    """An alert fired, still does, or is resolved."""

    id: int = Field(examples=[17])
    alert_id: int = Field(examples=[1])
    query_id: int = Field(examples=[1])
    kind: Literal["fired", "resolved", "repeated"]
    at: str = Field(examples=[TIME])
    value: float | None
    execution_id: int | None
    message: str
    deliveries: list[DeliveryAnswer]


class AlertEventPage(BaseModel):
    """A page of alert events, newest first."""

    data: list[AlertEventAnswer]
    pagination: Pagination


class BacktestRequest(BaseModel):
    """A rule to play against the past."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query_id": 1, "condition": CONDITION, "days": 30}]}
    )

    query_id: int
    condition: dict[str, Any] = Field(description=CONDITION_WORDS)
    for_runs: int = 1
    recover_runs: int = 1
    days: int = Field(30, ge=1, le=3650)


class PeriodAnswer(BaseModel):
    """A time in which it would have fired."""

    since: str = Field(alias="from", examples=[TIME])
    to: str | None = Field(description="Null: it would still fire.", examples=[TIME])
    runs: int = Field(description="Executions from the firing one up to the resolving one.", examples=[3])
    value: float | None = Field(description="That of the firing one.")


class BacktestAnswer(BaseModel):
    """When it would have fired."""

    executions: int = Field(description="Those that were judged.", examples=[2880])
    periods: list[PeriodAnswer]


class ChannelAnswer(BaseModel):
    """A way to somebody."""

    id: int = Field(examples=[1])
    name: str = Field(examples=["ops"])
    url: str = Field(description="Masked.", examples=["slack://***"])
    is_default: bool


class ChannelList(BaseModel):
    """All channels, by name."""

    data: list[ChannelAnswer]


class NewChannel(BaseModel):
    """A way to somebody."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "ops", "url": "slack://…", "is_default": True}]}
    )

    name: str
    url: str = Field(description="Apprise's, or alertmanager://HOST:PORT.")
    is_default: bool = False


class ChannelEdit(BaseModel):
    """The fields to change; a masked URL keeps the stored one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"is_default": True}]})

    name: str | None = None
    url: str | None = None
    is_default: bool | None = None


class ChannelTestAnswer(BaseModel):
    """Whether the test message was taken."""

    ok: bool
    error: str | None
