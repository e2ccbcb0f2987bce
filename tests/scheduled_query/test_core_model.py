"""The words and fields of the specification."""

from dataclasses import FrozenInstanceError, fields
from datetime import UTC, datetime

import pytest
from plugbay_scheduled_query.core.model import (
    Execution,
    MetricConfig,
    Query,
    RenderType,
    Run,
    Status,
    Trigger,
)

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def names(kind: type) -> set[str]:
    return {field.name for field in fields(kind)}


def test_the_specified_words() -> None:
    assert list(RenderType) == ["auto", "table", "counter", "metric", "raw"]
    assert list(Status) == ["success", "failed", "timeout"]
    assert list(Trigger) == ["schedule", "manual"]


def test_a_query_has_every_specified_field() -> None:
    assert {
        *("id", "name", "query", "cron_schedule", "last_executed", "enabled"),
        *("last_result", "last_result_key", "render_type"),
    } <= names(Query)
    assert Query.monitor_metric_config


def test_a_query_has_every_field_that_was_decided_beside_them() -> None:
    assert {
        *(
            "last_status",
            "last_error",
            "last_duration_ms",
            "running",
            "next_run_at",
            "data_source",
            "timezone",
        ),
        *("timeout", "description", "tags", "version", "created_by", "updated_by", "updated_at"),
    } <= names(Query)


def test_an_execution_has_every_field_of_a_history_record() -> None:
    assert {
        *("id", "scheduled_query_id", "executed_at", "duration_ms", "result", "result_key", "status"),
        *("error_message", "monitor_metrics_snapshot"),
        *("due_at", "missed", "attempt", "trigger", "triggered_by", "truncated"),
    } <= names(Execution)


def test_a_run_says_who_may_record_it() -> None:
    run = Run(id=1, query_id=7, query_name="sales", source_id=3, sql="SELECT 1", trigger=Trigger.MANUAL)
    assert (run.attempt, run.due_at, run.missed) == (1, None, 0)


def test_values_do_not_change_once_made() -> None:
    run = Run(id=1, query_id=7, query_name="sales", source_id=3, sql="SELECT 1", trigger=Trigger.SCHEDULE)
    with pytest.raises(FrozenInstanceError):
        run.attempt = 2  # type: ignore[misc]


def test_a_metric_configuration_is_the_specified_object() -> None:
    assert MetricConfig("orders", {"region": "eu"}).as_json() == {
        "metric_name": "orders",
        "labels": {"region": "eu"},
    }
