"""ScheduledQueryResultHistory: its fields."""

from datetime import datetime
from typing import Any

import pytest
from plugbay_scheduled_query.core.model import Execution
from plugbay_scheduled_query.repository.history import HistoryFilter
from plugbay_scheduled_query.tables import history as table
from specification.asking import history

FIELDS = [
    ("id", int),
    ("scheduled_query_id", int),
    ("executed_at", datetime),
    ("duration_ms", int),
    ("result", str),
    ("result_key", tuple),
    ("status", str),
    ("error_message", str | None),
    ("monitor_metrics_snapshot", dict | None),
]
METRIC = {"metric_name": "history_record", "labels": {"region": "all"}}


@pytest.fixture(scope="module")
def query(service) -> dict[str, Any]:
    """A query that succeeded, then failed, then took too long."""
    made = service.create("SELECT region, COUNT(*) AS n FROM orders", monitor_metric_config=METRIC)
    service.run(made["id"])
    for status in ("failed", "timeout"):
        service.clock.advance(60)
        service.record(made["id"], status)
    return made


@pytest.fixture(scope="module")
def records(service, query) -> list[Execution]:
    """Its history as it is stored, oldest first."""
    found, _ = service.parts.histories.page(query["id"], HistoryFilter(), 1, 50)
    return found[::-1]


@pytest.mark.parametrize(("field", "kinds"), FIELDS, ids=[row[0] for row in FIELDS])
def test_field_has_its_name_and_type(records, field, kinds):
    success = records[0]
    assert isinstance(getattr(success, field), kinds)


def test_id_is_the_primary_key(records):
    assert [column.name for column in table.primary_key] == ["id"]
    assert len({record.id for record in records}) == 3


def test_scheduled_query_id_refers_to_the_query(records, query):
    assert {record.scheduled_query_id for record in records} == {query["id"]}


def test_executed_at_is_the_time_of_the_execution(service, records):
    assert records[-1].executed_at == service.clock.now()


def test_duration_ms_is_in_milliseconds(records):
    assert [record.duration_ms for record in records[1:]] == [5, 5]


def test_result_is_text_and_result_key_lists_its_columns(records):
    assert records[0].result == '[["eu",3]]'
    assert list(records[0].result_key) == ["region", "n"]


def test_status_is_success_failed_or_timeout(records):
    assert [record.status for record in records] == ["success", "failed", "timeout"]


def test_error_message_is_set_when_the_execution_failed_and_else_null(records):
    assert [record.error_message for record in records] == [None, "it broke", "it broke"]


def test_monitor_metrics_snapshot_is_the_gauge_or_null(records):
    shot = {"metric_name": "history_record", "labels": {"region": "all"}, "value": 3.0}
    assert [record.monitor_metrics_snapshot for record in records] == [shot, None, None]


@pytest.mark.parametrize(
    ("sql", "fields", "status"),
    [
        pytest.param("SELECT 1", {}, "success", id="success"),
        pytest.param("SELECT * FROM nowhere", {}, "failed", id="failed"),
        pytest.param("SELECT COUNT(*) FROM n", {"timeout": 1}, "timeout", id="timeout"),
    ],
)
def test_each_status_is_what_an_execution_leads_to(service, sql, fields, status):
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e15) "
    made = service.create(endless + sql if status == "timeout" else sql, **fields)
    service.run(made["id"])
    (item,) = history(service, made["id"])
    assert item["status"] == status
    assert (item["error_message"] is None) is (status == "success")
