"""What the service does: rules 1 to 7."""

import json
import logging

import pytest
from scheduled_query.pages.reading import read
from specification.asking import details, history, samples

TASK = "collect_execute_scheduled_query"

pytestmark = pytest.mark.usefixtures("clean")


def test_rule_1_it_stores_name_sql_cron_enabled_flag_and_render_type(service):
    given = {
        "name": "Orders",
        "query": "SELECT COUNT(*) FROM orders",
        "cron_schedule": "*/5 * * * *",
        "enabled": False,
        "render_type": "counter",
    }
    made = service.create(**given)
    stored = details(service, made["id"])
    assert {field: stored[field] for field in given} == given


def test_rule_2_the_background_task_has_its_name_and_runs_every_60_seconds(service):
    tasks = {task.name: task for task in service.host.get_module("task_worker").engine.stats().tasks}
    assert (tasks[TASK].owner, tasks[TASK].seconds) == ("scheduled_query", 60)


def test_rule_2_it_executes_the_enabled_queries_that_are_due(service, next_minute):
    with service.settings(interval=0):
        due = service.create(cron_schedule="* * * * *")
        later = service.create(cron_schedule="0 0 1 1 *")
        disabled = service.create(cron_schedule="* * * * *", enabled=False)
        next_minute()
    assert [len(history(service, query["id"])) for query in (due, later, disabled)] == [1, 0, 0]


def test_rule_3_result_columns_and_status_are_on_the_record_and_in_the_history(service, next_minute):
    made = service.create("SELECT region, total FROM orders", cron_schedule="* * * * *")
    next_minute()
    record, (item,) = details(service, made["id"]), history(service, made["id"])
    assert json.loads(record["last_result"]) == [["eu", 1.5], ["eu", 2.5], ["us", 4.25]]
    assert record["last_result"] == item["result"]
    assert record["last_result_key"] == item["result_key"] == ["region", "total"]
    assert record["last_status"] == item["status"] == "success"
    assert record["last_duration_ms"] == item["duration_ms"]


def test_rule_3_without_history_only_the_record_is_written(service, next_minute):
    made = service.create(cron_schedule="* * * * *")
    with service.settings(enable_history=False):
        next_minute()
    assert details(service, made["id"])["last_result"] == "[[1]]"
    assert history(service, made["id"]) == []


def test_rule_4_run_now_bypasses_the_schedule(service):
    made = service.create(cron_schedule="0 0 1 1 *")
    service.editor.get(f"/api/run-now/{made['id']}")
    assert history(service, made["id"])[0]["status"] == "success"


def test_rule_5_the_first_numeric_value_is_published_as_a_gauge_at_metrics(service):
    config = {"metric_name": "does_orders", "labels": {"region": "eu"}}
    made = service.create("SELECT 'eu', 1204, 7", monitor_metric_config=config)
    service.run(made["id"])
    assert samples(service, "does_orders")[-1] == 'does_orders{region="eu"} 1204.0'


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        pytest.param("/scheduled_query/dashboard", "4,815,162", id="dashboard"),
        pytest.param("/scheduled_query/results-widgets", "4,815,162", id="widget_page"),
        pytest.param("/scheduled_query/", "success", id="list_page"),
    ],
)
def test_rule_6_results_are_shown_in_the_three_pages(service, path, shown):
    made = service.create("SELECT 4815162 AS answer", name="Numbers", render_type="counter")
    service.run(made["id"])
    page = read(service.viewer.get(path).text)
    assert "Numbers" in page.text
    assert shown in page.text


@pytest.mark.parametrize("word", ["auto", "table", "counter", "metric", "raw"])
def test_rule_6_render_type(service, word):
    assert details(service, service.create(render_type=word)["id"])["render_type"] == word


@pytest.mark.parametrize("text", ["DROP TABLE orders", "select 'dRoP'"], ids=["upper_case", "mixed_case"])
def test_rule_7_a_forbidden_keyword_is_rejected_and_the_reason_is_logged(service, caplog, text):
    given = {"name": "Bad", "query": text, "cron_schedule": "* * * * *"}
    with caplog.at_level(logging.INFO):
        answer = service.editor.post("/api/scheduled-queries", json=given)
    assert answer.status_code == 422
    (line,) = [record.getMessage() for record in caplog.records if "rejected" in record.getMessage()]
    assert line.startswith("rejected query=Bad rule=keyword keyword=")
    assert line.partition("keyword=")[2].partition(" ")[2].startswith('reason="The word “')
