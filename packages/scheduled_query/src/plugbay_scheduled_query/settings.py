"""The service's settings: on its settings page, or as environment variables `SCHEDULED_QUERY_<SETTING>`."""

from typing import Annotated, Any

from plugbay import FormHint
from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator

from plugbay_scheduled_query.core.capacity import Pace
from plugbay_scheduled_query.core.errors import SourceError
from plugbay_scheduled_query.core.guard import Rules
from plugbay_scheduled_query.core.schedule import zone
from plugbay_scheduled_query.core.source import Source, sources_from_settings
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.runner.protocol import Caps

NO_LIMIT = {-1: "no limit"}


class SettingSource(BaseModel, extra="forbid"):
    """A data source of which more is said than its URL."""

    url: SecretStr
    accepts_unguarded: bool = False
    pace_s: int | None = None
    max_parallel: int | None = None


# a URL may hold a password: as a secret it is encrypted, and on no page
SettingSources = dict[str, SecretStr | SettingSource]


class Settings(BaseModel):
    """What an operator decides about all queries."""

    notification_on_run: Annotated[bool, FormHint("Notifications")] = Field(
        False, description="Send a notification when a query runs."
    )
    notification_urls: Annotated[
        SecretStr,
        FormHint("Notifications", button=("Send a test message", "/scheduled_query/notifications/test")),
    ] = Field(
        SecretStr(""),
        title="Notification addresses",
        description="Where notifications go: Apprise URLs, separated by spaces or line breaks.",
    )
    forbidden_keywords: Annotated[str, FormHint("What queries may say")] = Field(
        "drop,delete,truncate,alter", description="Comma-separated list of blocked SQL keywords."
    )
    allowed_functions: Annotated[str, FormHint("What queries may say")] = Field(
        "",
        description="Comma-separated list of SQL functions that the guard shall let through.",
    )
    interval: Annotated[int, FormHint("Pace", unit="seconds")] = Field(
        30,
        ge=0,
        le=86_400,
        description="Minimum interval between query executions of a source without a pace, in seconds.",
    )
    max_parallel: Annotated[int, FormHint("Pace", unit="queries")] = Field(
        8,
        ge=1,
        le=64,
        title="Queries at once",
        description="How many queries run at the same time in each process where the pace is 0.",
    )
    enable_history: Annotated[bool, FormHint("History")] = Field(
        True, description="Record execution history."
    )
    limit_history: Annotated[int, FormHint("History", unit="records", words=NO_LIMIT)] = Field(
        -1,
        ge=-1,
        le=10_000_000,
        title="Records kept",
        description="Maximum history records kept per query; -1 means unlimited.",
    )
    history_days: Annotated[int, FormHint("History", unit="days", words={-1: "for ever"})] = Field(
        -1,
        ge=-1,
        le=36_500,
        title="Days kept",
        description="How many days history records are kept; -1 means for ever.",
    )
    history_bytes: Annotated[int, FormHint("History", unit="bytes", words=NO_LIMIT)] = Field(
        100_000_000,
        ge=-1,
        le=1_000_000_000_000,
        title="Space for results",
        description="Bytes of results in the history of one query; the oldest go. -1 means unlimited.",
    )
    min_free_bytes: Annotated[
        int, FormHint("History", unit="bytes", words={0: "keep results whatever is free"})
    ] = Field(
        500_000_000,
        ge=0,
        le=1_000_000_000_000,
        title="Free disk space",
        description="With fewer free bytes on the disk of a SQLite store, results are not kept; 0: always.",
    )
    metrics_enabled: Annotated[bool, FormHint("Metrics")] = Field(True, description="Export metrics.")
    max_series: Annotated[int, FormHint("Metrics", unit="samples")] = Field(
        1_000,
        ge=1,
        le=100_000,
        title="Samples of a query",
        description="Samples of one query on /metrics, of all its metrics together.",
    )
    query_timeout: Annotated[int, FormHint("Time", unit="seconds")] = Field(
        30,
        ge=1,
        le=3_600,
        title="Time limit",
        description="Seconds that a query may take, unless it says otherwise itself.",
    )
    query_timeout_max: Annotated[int, FormHint("Time", unit="seconds")] = Field(
        300,
        ge=1,
        le=86_400,
        title="Longest time limit",
        description="The longest time limit that a query may ask for, in seconds.",
    )
    timezone: Annotated[str, FormHint("Time", choices="time_zones")] = Field(
        "UTC", title="Time zone", description="The time zone of schedules that name none of their own."
    )
    default_data_source: Annotated[str, FormHint("Data sources", choices="source_names")] = Field(
        "", max_length=100, description="The data source of queries that name none of their own."
    )
    sources: Annotated[SettingSources, FormHint("Data sources")] = Field(
        default_factory=dict, description='Data sources by name, such as {"shop": "postgresql://…"} (JSON).'
    )
    max_rows: Annotated[int, FormHint("Size of results", unit="rows")] = Field(
        10_000, ge=1, le=1_000_000, title="Rows", description="Rows of a result that are kept."
    )
    max_columns: Annotated[int, FormHint("Size of results", unit="columns")] = Field(
        1_000, ge=1, le=10_000, title="Columns", description="Columns of a result that are kept."
    )
    max_cell_bytes: Annotated[int, FormHint("Size of results", unit="bytes")] = Field(
        65_536, ge=64, le=10_000_000, title="Size of a cell", description="Bytes of a cell that are kept."
    )
    max_result_bytes: Annotated[int, FormHint("Size of results", unit="bytes")] = Field(
        10_000_000,
        ge=1_000,
        le=100_000_000,
        title="Size of a result",
        description="Bytes of a result that are kept.",
    )

    @field_validator("timezone")
    @classmethod
    def _exists(cls, value: str) -> str:
        zone(value)
        return value

    @field_validator("sources")
    @classmethod
    def _are_sources(cls, value: SettingSources) -> SettingSources:
        try:
            sources_from_settings(_plain(value))
        except SourceError as error:
            raise ValueError(str(error)) from None
        return value

    @model_validator(mode="after")
    def _limits_agree(self) -> "Settings":
        if self.query_timeout > self.query_timeout_max:
            raise ValueError("query_timeout must not be above query_timeout_max")
        return self

    @property
    def rules(self) -> Rules:
        """What the guard goes by."""
        return Rules.from_settings(self.forbidden_keywords, self.allowed_functions)

    @property
    def pace(self) -> Pace:
        """How runs are let in at a source that says nothing about it."""
        return Pace(self.interval, self.max_parallel)

    @property
    def caps(self) -> Caps:
        return Caps(self.max_rows, self.max_columns, self.max_cell_bytes, self.max_result_bytes)

    @property
    def keeping(self) -> Keeping:
        return Keeping(self.enable_history, self.limit_history, self.history_days, self.history_bytes)

    def named_sources(self) -> list[Source]:
        """The data sources of the setting, one by one."""
        return sources_from_settings(_plain(self.sources))

    def channels(self) -> list[str]:
        """The Apprise URLs, one by one."""
        return self.notification_urls.get_secret_value().split()


def _plain(sources: SettingSources) -> dict[str, Any]:
    return {
        name: given.model_dump() | {"url": given.url.get_secret_value()}
        if isinstance(given, SettingSource)
        else given.get_secret_value()
        for name, given in sources.items()
    }
