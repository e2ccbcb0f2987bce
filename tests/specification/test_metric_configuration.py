"""Metric configuration (monitor_metric_config): its fields, and rules 1 to 3."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from specification.asking import details, samples


def publish(service, sql: str, name: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
    """A query with a gauge, run once."""
    config = {"metric_name": name, "labels": labels or {}}
    made = service.create(sql, monitor_metric_config=config)
    service.run(made["id"])
    return made


def refusal(service, config: Any) -> list[str]:
    """Where a configuration is refused."""
    given = {"name": "Odd", "query": "SELECT 1", "cron_schedule": "0 0 1 1 *"}
    answer = service.editor.post(
        "/api/scheduled-queries", json={**given, "monitor_metric_config": config}
    ).json()
    return answer["detail"][0]["loc"]


def test_field_metric_name_is_the_name_of_the_gauge(service):
    publish(service, "SELECT 1", "config_named")
    assert samples(service, "config_named")[-1].startswith("config_named ")


def test_field_metric_name_is_a_str(service):
    assert refusal(service, {"metric_name": 7, "labels": {}}) == ["body", "monitor_metric_config"]


def test_field_labels_are_names_and_values_attached_to_the_metric(service):
    labels = {"region": "eu", "team": "sales & more"}
    made = publish(service, "SELECT 1", "config_labelled", labels)
    assert details(service, made["id"])["monitor_metric_config"]["labels"] == labels
    line = 'config_labelled{region="eu",team="sales & more"} 1.0'
    assert samples(service, "config_labelled")[-1] == line


@pytest.mark.parametrize("labels", [{"a": 1}, ["a"], "a"], ids=["number_as_value", "array", "text"])
def test_field_labels_is_an_object_str_to_str(service, labels):
    assert refusal(service, {"metric_name": "odd", "labels": labels}) == ["body", "monitor_metric_config"]


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        pytest.param("SELECT 7", "7.0", id="integer"),
        pytest.param("SELECT 2.5", "2.5", id="float"),
        pytest.param("SELECT 'eu', 3, 4", "3.0", id="after_a_text"),
        pytest.param("SELECT NULL, 'x' UNION ALL SELECT 'y', 9", "9.0", id="in_a_later_row"),
        pytest.param("SELECT '12.5'", "12.5", id="number_as_text"),
        pytest.param("SELECT -1e300", "-1e+300", id="large_and_negative"),
    ],
)
def test_rule_1_the_first_numeric_value_is_extracted(service, sql, value, request):
    name = f"config_first_{request.node.callspec.id}"
    publish(service, sql, name)
    assert samples(service, name)[-1] == f"{name} {value}"


def test_rule_1_the_query_must_return_a_numeric_value(service):
    publish(service, "SELECT 'many'", "config_without_number")
    assert samples(service, "config_without_number") == []


def test_rule_2_the_metric_is_updated_after_each_successful_execution(service):
    made = publish(service, "SELECT COUNT(*) FROM orders", "config_updated")
    for expected in (4, 5):
        with closing(sqlite3.connect(service.shop)) as connection, connection:
            connection.execute("INSERT INTO orders VALUES ('eu', 1, NULL)")
        service.run(made["id"])
        assert samples(service, "config_updated")[-1] == f"config_updated {expected}.0"


@pytest.mark.parametrize("status", ["failed", "timeout"])
def test_rule_2_the_metric_keeps_its_value_after_any_other_execution(service, status):
    name = f"config_kept_{status}"
    made = publish(service, "SELECT 7", name)
    service.record(made["id"], status)
    assert samples(service, name)[-1] == f"{name} 7.0"


def test_rule_3_the_exposition_has_a_help_line_a_type_line_and_a_sample_line(service):
    publish(service, "SELECT 12", "config_exposed", {"region": "eu", "shop": "a"})
    assert samples(service, "config_exposed") == [
        "# HELP config_exposed metric for query SELECT 12",
        "# TYPE config_exposed gauge",
        'config_exposed{region="eu",shop="a"} 12.0',
    ]
