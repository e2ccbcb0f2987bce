"""The shapes of data sources in the API, for its documentation."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from plugbay_scheduled_query.web.api.schemas import TIME, edit_of

SOURCE_NAME = r"^\s*[A-Za-z0-9][A-Za-z0-9 ._-]{0,62}\s*$"  # space around it is taken away
SourceUrl = Annotated[str, Field(json_schema_extra={"format": "source-url"})]
PaceSeconds = Annotated[int, Field(ge=0, le=86_400, description="Seconds between two runs; null: interval.")]
Parallel = Annotated[int, Field(ge=1, le=64, description="Runs at a time where the pace is 0.")]


class CapacityAnswer(BaseModel):
    """The starts that the queries of a source need against those that are possible."""

    needed_per_hour: float = Field(examples=[12.0])
    possible_per_hour: float = Field(examples=[119.5])
    fill: float = Field(description="Above 1, cron times are missed.", examples=[0.1004])
    busiest_hour: int = Field(description="Of the day, in UTC.", examples=[0])
    busiest_hour_fill: float = Field(examples=[0.1004])


class PauseAnswer(BaseModel):
    """Since when nothing starts at a data source, and why."""

    since: str = Field(examples=[TIME])
    reason: str


class SourceAnswer(BaseModel):
    """A data source; the fields after `paused` are for admins."""

    id: int = Field(examples=[1])
    name: str = Field(examples=["shop"])
    dialect: str = Field(examples=["postgresql"])
    origin: Literal["settings", "admin", "sample", "removed"]
    locked: bool = Field(description="Whether it comes from the setting `sources`.")
    query_count: int = Field(examples=[3])
    pace_s: int | None = Field(description="Seconds between two runs; null is the setting `interval`.")
    max_parallel: int | None = Field(description="Runs at a time where the pace is 0; null is the setting.")
    capacity: CapacityAnswer | None
    paused: PauseAnswer | None = Field(
        description="Not null while a session there does not end: nothing starts until it does."
    )
    url: str | None = Field(None, examples=["postgresql://reader:***@db/shop"])
    accepts_unguarded: bool = False
    problem: str | None = Field(None, description="Why it cannot be used now.")
    updated_at: str | None = Field(None, examples=[TIME])


class SourceList(BaseModel):
    """All data sources, by name."""

    data: list[SourceAnswer]


class SavedSourceAnswer(SourceAnswer):
    """A data source that was stored, and what its self-test found."""

    warnings: list[str] = Field(examples=[["this account can write (public.orders): use a SELECT-only role"]])
    statements: list[str] = Field(description="SQL that makes a better account.")


class NewSource(BaseModel):
    """A database to ask."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "warehouse", "url": "sqlite:////srv/warehouse.db"}]}
    )

    name: str = Field(pattern=SOURCE_NAME)
    url: SourceUrl = Field(description="May hold env:NAME or file:PATH in place of a password.")
    accepts_unguarded: bool = Field(False, description="For a database that there is no proven guard for.")
    pace_s: PaceSeconds | None = None
    max_parallel: Parallel | None = None


class SourceEdit(BaseModel):
    """The fields to change; a masked URL keeps the stored password."""

    model_config = ConfigDict(json_schema_extra=edit_of({"accepts_unguarded": False}))

    name: str = Field("", pattern=SOURCE_NAME)
    url: SourceUrl = ""
    accepts_unguarded: bool = Field(False, examples=[False])
    pace_s: PaceSeconds | None = Field(None, examples=[0])
    max_parallel: Parallel | None = None


class TestAnswer(BaseModel):
    """What a test of a data source found."""

    ok: bool
    error: str | None
    server: str | None = Field(examples=["PostgreSQL 16.4"])
    warnings: list[str]
    statements: list[str]


class ColumnAnswer(BaseModel):
    name: str = Field(examples=["region"])
    type: str = Field(examples=["text"])


class TableAnswer(BaseModel):
    """A table or view."""

    schema_name: str = Field(alias="schema", examples=["public"])
    name: str = Field(examples=["orders"])
    columns: list[ColumnAnswer]


class SchemaAnswer(BaseModel):
    """The tables and columns of a data source."""

    tables: list[TableAnswer]
    read_at: str = Field(examples=[TIME])
