"""Execution flow per cycle: steps 1 to 7."""

import pytest
from service_world import FOREVER, until
from specification.asking import details, history, samples

MINUTELY = "* * * * *"

pytestmark = pytest.mark.usefixtures("clean")


def statuses(service, query) -> list[str]:
    return [item["status"] for item in history(service, query["id"])]


def test_step_1_the_task_runs_every_60_seconds(service, next_minute, wait_s):
    made = service.create(cron_schedule=MINUTELY)
    next_minute()
    wait_s(59)
    assert statuses(service, made) == ["success"]
    wait_s(1)
    assert statuses(service, made) == ["success", "success"]
    due = [item["due_at"] for item in history(service, made["id"])]
    assert [time[-2:] for time in due] == ["00", "00"]


def test_step_2_all_enabled_queries_are_fetched_and_no_other(service, next_minute):
    with service.settings(interval=0):
        enabled = [service.create(cron_schedule=MINUTELY) for _ in range(12)]
        disabled = [service.create(cron_schedule=MINUTELY, enabled=False) for _ in range(3)]
        next_minute()
    assert [statuses(service, query) for query in enabled] == [["success"]] * 12
    assert [statuses(service, query) for query in disabled] == [[]] * 3


def test_step_3_the_text_is_checked_against_the_forbidden_keywords(service, next_minute):
    made = service.create("SELECT COUNT(*) FROM orders", cron_schedule=MINUTELY)
    with service.settings(forbidden_keywords="count"):
        next_minute()
    (item,) = history(service, made["id"])
    assert item["status"] == "failed"
    assert item["error_message"].startswith("rejected: ")
    assert details(service, made["id"])["last_result"] is None


def test_step_4_the_query_is_executed_and_its_duration_measured(service):
    made = service.create(FOREVER, timeout=300)
    service.editor.post(f"/api/run-now/{made['id']}?wait=0")
    until(lambda: any(runner.is_busy for runner in service.parts.executor.runners()))
    service.clock.advance(1.234)
    service.editor.post(f"/api/cancel/{made['id']}")
    until(lambda: history(service, made["id"]))
    assert history(service, made["id"])[0]["duration_ms"] == 1234


def test_step_5_the_result_is_saved_on_the_record_and_in_the_history(service, next_minute):
    made = service.create("SELECT 42 AS answer", cron_schedule=MINUTELY)
    next_minute()
    record, (item,) = details(service, made["id"]), history(service, made["id"])
    assert record["last_result"] == item["result"] == "[[42]]"
    assert record["last_executed"] == item["executed_at"]


def test_step_5_it_is_not_saved_in_the_history_if_history_is_disabled(service, next_minute):
    made = service.create("SELECT 42 AS answer", cron_schedule=MINUTELY)
    with service.settings(enable_history=False):
        next_minute()
    assert details(service, made["id"])["last_result"] == "[[42]]"
    assert history(service, made["id"]) == []


@pytest.mark.parametrize(
    ("has_config", "is_enabled", "lines"),
    [
        pytest.param(True, True, 3, id="configured_and_enabled"),
        pytest.param(True, False, 0, id="configured_but_metrics_disabled"),
        pytest.param(False, True, 0, id="without_configuration"),
    ],
)
def test_step_6_the_gauge_is_updated(service, next_minute, has_config, is_enabled, lines):
    config = {"metric_name": "flow_answer", "labels": {}} if has_config else None
    service.create("SELECT 42", cron_schedule=MINUTELY, monitor_metric_config=config)
    with service.settings(metrics_enabled=is_enabled):
        next_minute()
        assert len(samples(service, "flow_answer")) == lines


def test_step_7_the_task_waits_for_the_interval_before_the_next_query(service, next_minute, wait_s):
    both = [service.create(cron_schedule=MINUTELY) for _ in range(2)]

    def executed() -> int:
        return sum(len(history(service, query["id"])) for query in both)

    next_minute()
    assert executed() == 1
    wait_s(29)
    assert executed() == 1
    wait_s(1)
    assert executed() == 2
