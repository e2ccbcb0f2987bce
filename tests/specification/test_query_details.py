"""Response of query details: its fields."""

import re
from typing import Any

import pytest
from specification.asking import details

TIME = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}")
METRIC = {"metric_name": "details_orders", "labels": {"region": "all"}}
FIELDS = [
    ("id", int),
    ("name", str),
    ("query", str),
    ("cron_schedule", str),
    ("last_executed", str),
    ("enabled", bool),
    ("monitor_metric_config", dict),
]
ADDED = {  # beyond the specified ones, and documented in docs/api.md
    *("render_type", "data_source", "timezone", "timeout", "description", "tags", "chart", "next_run_at"),
    *("running", "waiting_for"),
    *("last_status", "last_error", "last_duration_ms", "last_result_key", "last_result"),
    *("version", "created_by", "updated_by", "updated_at", "metrics", "metric_problem"),
}


@pytest.fixture(scope="module")
def service(service_on_both):
    """Times and flags come from each database in its own way."""
    return service_on_both


@pytest.fixture(scope="module")
def response(service) -> dict[str, Any]:
    """The details of a query that ran."""
    made = service.create("SELECT 3 AS n", monitor_metric_config=METRIC)
    service.run(made["id"])
    return details(service, made["id"])


@pytest.mark.parametrize(("field", "kind"), FIELDS, ids=[row[0] for row in FIELDS])
def test_field_has_its_name_and_type(response, field, kind):
    assert type(response[field]) is kind


def test_there_are_no_fields_but_the_specified_and_the_added_ones(response):
    assert set(response) == {row[0] for row in FIELDS} | ADDED


def test_last_executed_has_the_specified_format(service, response):
    assert TIME.fullmatch(response["last_executed"])
    assert response["last_executed"] == f"{service.clock.now():%Y-%m-%d %H:%M:%S}"


def test_last_executed_is_null_before_the_first_run(service):
    assert details(service, service.create()["id"])["last_executed"] is None


@pytest.mark.parametrize("is_enabled", [True, False], ids=["true", "false"])
def test_enabled_is_a_bool(service, is_enabled):
    assert details(service, service.create(enabled=is_enabled)["id"])["enabled"] is is_enabled


def test_monitor_metric_config_is_an_object_or_null(service, response):
    assert response["monitor_metric_config"] == METRIC
    assert details(service, service.create()["id"])["monitor_metric_config"] is None
