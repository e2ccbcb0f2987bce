"""Rows as the values of the model, and the one clock that all nodes go by."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from plugbay import Clock, UTCDateTime

from plugbay_scheduled_query.core.model import (
    ChartConfig,
    Execution,
    MetricConfig,
    MetricType,
    OnFailure,
    Query,
    RenderType,
    Run,
    Status,
    Trigger,
)
from plugbay_scheduled_query.tables import queries, states

Row = Any  # SQLAlchemy's own type would name each column's

TICK = timedelta(microseconds=1)  # the least that two changes of a query are apart
DEFINITION_OF_RUN = (queries.c.name, queries.c.query, queries.c.timeout, queries.c.metric_config)

_OF_QUERY = states.c.query_id == sa.bindparam("b_query")
_CHANGED_AT = sa.select(states.c.changed_at).where(_OF_QUERY).with_for_update()
_TOUCH = sa.update(states).where(_OF_QUERY)
_NOW = sa.select(sa.func.clock_timestamp(type_=UTCDateTime))


def store_now(connection: sa.Connection, clock: Clock) -> datetime:
    """Now, for claims, leases, lanes and next times: PostgreSQL's own, where nodes may be far apart."""
    if connection.dialect.name == "sqlite":
        return clock.now()
    return connection.execute(_NOW).scalar_one()


def moment_after(last: datetime, now: datetime) -> datetime:
    """Now, or right after the last change, whatever the clocks of nodes say."""
    return max(now, last + TICK)


def touch(connection: sa.Connection, query_id: int, now: datetime, **values: object) -> None:
    """Says that a query was edited, and with it these values of its state."""
    last = connection.execute(_CHANGED_AT, {"b_query": query_id}).scalar_one()
    changed = {"changed_at": moment_after(last, now), "changed_by": None}
    connection.execute(_TOUCH, {"b_query": query_id, **changed, **values})


@lru_cache(maxsize=4096)
def metrics_of(text: str | None) -> tuple[MetricConfig, ...]:
    """The metrics of a query; the same text gives the same objects, which are compared at no cost."""
    return tuple(_metric_of(given) for given in json.loads(text)) if text else ()


def first_metric_of(text: str | None) -> MetricConfig | None:
    """The first metric of a query, which is the one that has always been there."""
    return next(iter(metrics_of(text)), None)


def metrics_text(metrics: Sequence[MetricConfig]) -> str | None:
    return json.dumps([metric.as_json() for metric in metrics], ensure_ascii=False) if metrics else None


def _metric_of(given: Mapping[str, Any]) -> MetricConfig:
    kind, on_failure = given.get("type"), given.get("on_failure")
    return MetricConfig(
        given["metric_name"],
        given["labels"],
        tuple(given.get("label_columns", ())),
        given.get("value_column"),
        MetricType(kind) if kind else None,
        given.get("help", ""),
        OnFailure(on_failure) if on_failure else None,
    )


def chart_of(text: str | None) -> ChartConfig | None:
    if not text:
        return None
    found = json.loads(text)
    return ChartConfig(found["kind"], found["x"], tuple(found["y"]))


def chart_text(chart: ChartConfig | None) -> str | None:
    return json.dumps(chart.as_json(), ensure_ascii=False) if chart else None


def query_of(row: Row) -> Query:
    """A definition with its state; the result is there only if the row has it."""
    found: Mapping[str, Any] = row._mapping
    values, durations = json.loads(row.recent)
    return Query(
        id=row.id,
        name=row.name,
        query=row.query,
        cron_schedule=row.cron_schedule,
        enabled=row.enabled,
        render_type=RenderType(row.render_type),
        metrics=metrics_of(row.metric_config),
        chart=chart_of(row.chart),
        data_source=row.data_source,
        timezone=row.timezone,
        timeout=row.timeout,
        description=row.description,
        tags=tuple(json.loads(row.tags)),
        version=row.version,
        created_by=row.created_by,
        created_at=row.created_at,
        updated_by=row.updated_by,
        updated_at=row.updated_at,
        next_run_at=row.next_run_at,
        last_due_at=row.last_due_at,
        running=bool(row.running),
        last_executed=row.last_executed,
        last_status=Status(row.last_status) if row.last_status else None,
        last_error=row.last_error,
        last_duration_ms=row.last_duration_ms,
        last_result=found.get("last_result"),
        last_result_key=tuple(json.loads(found.get("last_result_key") or "[]")),
        metric_value=row.metric_value,
        metric_problem=row.metric_problem,
        recent_values=tuple(values),
        recent_durations_ms=tuple(durations),
    )


def run_of(definition: Row, run: Mapping[str, Any], problem: str | None = None) -> Run:
    """A run of a definition, from its row or from the values that were just inserted as one."""
    return Run(
        id=run["id"],
        query_id=run["query_id"],
        query_name=definition.name,
        source_id=run["source_id"],
        sql=definition.query,
        timeout=definition.timeout,
        metrics=metrics_of(definition.metric_config),
        trigger=Trigger(run["trigger"]),
        triggered_by=run["triggered_by"],
        due_at=run["due_at"],
        missed=run["missed"],
        attempt=run["attempt"],
        problem=problem,
    )


def execution_of(row: Row) -> Execution:
    """A history row; the result's text is there only if the row has it."""
    found: Mapping[str, Any] = row._mapping
    return Execution(
        id=row.id,
        scheduled_query_id=row.query_id,
        executed_at=row.executed_at,
        duration_ms=row.duration_ms,
        status=Status(row.status),
        error_message=row.error_message,
        result=found.get("result"),
        result_key=tuple(json.loads(found.get("result_key") or "[]")),
        row_count=found.get("row_count"),
        monitor_metrics_snapshot=json.loads(row.snapshot) if row.snapshot else None,
        due_at=row.due_at,
        missed=row.missed,
        attempt=row.attempt,
        trigger=Trigger(row.trigger),
        triggered_by=row.triggered_by,
        truncated=row.truncated,
    )
