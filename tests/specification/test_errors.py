"""Errors: rules 1 to 4."""

import logging
import sqlite3
from contextlib import closing

import pytest
from plugbay_scheduled_query.metrics.board import GaugeBoard
from service_world import FOREVER
from specification.asking import history, samples


@pytest.fixture(autouse=True)
def lines(caplog):
    """What the log says during a test."""
    caplog.set_level(logging.INFO, logger="plugbay")
    return lambda word: [line for line in caplog.messages if line.startswith(word)]


def counted(service, status: str) -> float:
    """How many executions ended so, by the service's own metrics."""
    beginning = f'plugbay_scheduled_query_executions_total{{status="{status}"}} '
    lines = service.viewer.get("/metrics").text.splitlines()
    return float(next(line for line in lines if line.startswith(beginning)).removeprefix(beginning))


@pytest.mark.parametrize("word", ["drop", "DROP", "DeLeTe", "truncate", "ALTER"])
def test_rule_1_a_query_with_a_forbidden_keyword_is_rejected_and_the_reason_is_logged(service, lines, word):
    given = {"name": "Bad", "query": f"{word} orders", "cron_schedule": "* * * * *"}
    answer = service.editor.post("/api/scheduled-queries", json=given)
    assert answer.status_code == 422
    (line,) = lines("rejected")
    assert line.startswith(f'rejected query=Bad rule=keyword keyword={word} reason="The word “{word}”')


def test_rule_1_it_is_rejected_and_logged_also_at_its_execution(service, lines):
    made = service.create("SELECT COUNT(*) FROM orders", name="Late")
    with service.settings(forbidden_keywords="count"):
        ran = service.run(made["id"])
    assert ran["status"] == "failed"
    assert ran["execution"]["error_message"].startswith("rejected: The word “COUNT”")
    (line,) = lines("rejected")
    assert line.startswith('rejected query=Late rule=keyword keyword=COUNT reason="The word “COUNT”')


def test_rule_2_an_execution_that_fails_is_failed_with_its_error_message(service):
    made = service.create("SELECT * FROM nowhere")
    service.run(made["id"])
    (item,) = history(service, made["id"])
    assert (item["status"], item["error_message"]) == ("failed", "no such table: nowhere")


def test_rule_2_an_execution_that_times_out_is_timeout(service):
    made = service.create(FOREVER, timeout=1)
    service.run(made["id"])
    (item,) = history(service, made["id"])
    assert (item["status"], bool(item["error_message"])) == ("timeout", True)


@pytest.mark.parametrize("status", ["failed", "timeout"])
def test_rule_3_errors_are_tracked_and_logged(service, lines, status):
    made = service.create("SELECT * FROM nowhere" if status == "failed" else FOREVER, name="Odd", timeout=1)
    before = counted(service, status)
    service.run(made["id"])
    (line,) = lines(f"{status} ")
    assert line.startswith(f"{status} query=Odd id={made['id']}")
    assert "error=" in line
    assert counted(service, status) == before + 1


def test_rule_3_a_failing_metric_update_is_logged_and_the_execution_is_still_told(
    service, lines, monkeypatch
):
    made = service.create("SELECT 7", monitor_metric_config={"metric_name": "errors_late", "labels": {}})
    heard = []
    service.host.events.on("scheduled_query.executed", heard.append)

    def away(*args):
        raise OSError("there is no memory for it")

    with monkeypatch.context() as patch:
        patch.setattr(GaugeBoard, "feed", away)
        service.run(made["id"])
    assert len(lines(f"metric_not_updated id={made['id']}")) == 1
    assert len(lines("executed ")) == 1
    assert service.host.events.wait_told(60)
    assert [event.data["query_id"] for event in heard] == [made["id"]]
    assert samples(service, "errors_late")[-1] == "errors_late 7.0"


def test_rule_4_the_metric_is_not_updated_without_a_numeric_value(service, lines):
    config = {"metric_name": "errors_words", "labels": {}}
    with closing(sqlite3.connect(service.shop)) as connection, connection:
        connection.execute("CREATE TABLE notes AS SELECT 7 AS note")
    made = service.create("SELECT note FROM notes", name="Notes", monitor_metric_config=config)
    service.run(made["id"])
    with closing(sqlite3.connect(service.shop)) as connection, connection:
        connection.execute("UPDATE notes SET note = 'many'")
    assert service.run(made["id"])["status"] == "success"
    assert samples(service, "errors_words")[-1] == "errors_words 7.0"
    reason = 'reason="the result has no numeric value"'
    assert lines("metric_not_updated") == [f"metric_not_updated query=Notes {reason}"]
