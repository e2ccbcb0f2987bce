"""Limits: the value of each."""

from typing import Any

import pytest
from specification.asking import history, settings_of


def test_scheduler_cycle_is_60_seconds(service):
    tasks = service.host.get_module("task_worker").engine.stats().tasks
    assert [task.seconds for task in tasks if task.name == "collect_execute_scheduled_query"] == [60]


def test_interval_is_by_default_30_seconds_between_query_executions(service, next_minute, wait_s):
    assert settings_of(service).interval == 30
    both = [service.create(cron_schedule="* * * * *") for _ in range(2)]
    next_minute()
    wait_s(29)
    wait_s(1)
    starts = sorted(history(service, query["id"])[0]["executed_at"][-2:] for query in both)
    assert starts == ["00", "30"]


@pytest.fixture(scope="module")
def query(service) -> dict[str, Any]:
    """A query with more executions than fit on one page."""
    made = service.create()
    for _ in range(201):
        service.record(made["id"])
    return made


def test_limit_history_is_by_default_unlimited(service, query):
    assert settings_of(service).limit_history == -1
    answer = service.viewer.get(f"/api/execution-history/{query['id']}").json()
    assert answer["pagination"]["total_count"] == 201


@pytest.mark.parametrize(
    ("given", "size"), [({}, 50), ({"limit": 200}, 200)], ids=["by_default_50", "at_most_200"]
)
def test_history_page_size(service, query, given, size):
    assert len(history(service, query["id"], **given)) == size


def test_history_page_size_above_200_is_refused(service):
    path = f"/api/execution-history/{service.create()['id']}"
    assert service.viewer.get(path, params={"limit": 201}).status_code == 422


@pytest.mark.parametrize("word", ["drop", "delete", "truncate", "alter"])
def test_forbidden_keywords_apply_by_default_to_the_query_text(service, word):
    assert word in settings_of(service).forbidden_keywords.split(",")
    given = {"name": "Bad", "query": f"SELECT 1 -- {word} it", "cron_schedule": "* * * * *"}
    answer = service.editor.post("/api/scheduled-queries", json=given)
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "query"])
