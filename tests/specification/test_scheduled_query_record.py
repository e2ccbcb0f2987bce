"""ScheduledQuery: its fields."""

from datetime import datetime
from typing import Any

import pytest
from plugbay_scheduled_query.tables import queries
from specification.asking import details

SQL = "SELECT region, COUNT(*) AS n FROM orders GROUP BY region"
METRIC = {"metric_name": "record_orders", "labels": {"region": "all"}}
FIELDS = [
    ("id", int, None),
    ("name", str, "Orders by region"),
    ("query", str, SQL),
    ("cron_schedule", str, "*/5 * * * *"),
    ("last_executed", str, "2026-11-15 12:00:00"),
    ("monitor_metric_config", dict, METRIC),
    ("enabled", bool, True),
    ("last_result", str, '[["eu",2],["us",1]]'),
    ("last_result_key", list, ["region", "n"]),
    ("render_type", str, "table"),
]


@pytest.fixture(scope="module")
def query(service) -> dict[str, Any]:
    """A query that has run."""
    given = {"name": "Orders by region", "cron_schedule": "*/5 * * * *", "render_type": "table"}
    made = service.create(SQL, monitor_metric_config=METRIC, **given)
    service.run(made["id"])
    return details(service, made["id"])


@pytest.mark.parametrize(("field", "kind", "value"), FIELDS, ids=[row[0] for row in FIELDS])
def test_field_has_its_name_type_and_meaning(query, field, kind, value):
    assert type(query[field]) is kind
    assert value in (None, query[field])


def test_id_is_the_primary_key():
    assert [column.name for column in queries.primary_key] == ["id"]


@pytest.mark.parametrize("expression", ["*/5 * * * *", "30 6 * * *"], ids=["every_five_minutes", "daily"])
def test_cron_schedule_has_five_fields(service, expression):
    assert service.create(cron_schedule=expression)["cron_schedule"] == expression


@pytest.mark.parametrize("expression", ["* * * *", "0 * * * * *"], ids=["four_fields", "six_fields"])
def test_cron_schedule_has_no_other_number_of_fields(service, expression):
    given = {"name": "Odd", "query": "SELECT 1", "cron_schedule": expression}
    problem = service.editor.post("/api/scheduled-queries", json=given).json()["detail"][0]
    assert problem["loc"] == ["body", "cron_schedule"]


def test_last_executed_is_a_datetime_in_the_store(service, query):
    stored = service.parts.definitions.get(query["id"])
    assert isinstance(stored.last_executed, datetime)
    assert stored.last_executed == service.clock.now()


def test_monitor_metric_config_may_be_null(service):
    assert service.create()["monitor_metric_config"] is None


@pytest.mark.parametrize("is_enabled", [True, False], ids=["true", "false"])
def test_enabled_says_whether_the_query_is_executed(service, is_enabled):
    made = service.create(enabled=is_enabled)
    assert (made["enabled"], made["next_run_at"] is not None) == (is_enabled, is_enabled)


def test_last_result_key_lists_the_columns_of_the_latest_result(service, query):
    service.editor.patch(f"/api/scheduled-queries/{query['id']}", json={"query": "SELECT 1 AS one, 2 AS one"})
    service.run(query["id"])
    assert details(service, query["id"])["last_result_key"] == ["one", "one"]


@pytest.mark.parametrize("word", ["auto", "table", "counter", "metric", "raw"])
def test_render_type_is_one_of_five(service, word):
    assert service.create(render_type=word)["render_type"] == word


def test_render_type_is_nothing_else(service):
    given = {"name": "Odd", "query": "SELECT 1", "cron_schedule": "0 0 1 1 *", "render_type": "chart"}
    problem = service.editor.post("/api/scheduled-queries", json=given).json()["detail"][0]
    assert problem["loc"] == ["body", "render_type"]
