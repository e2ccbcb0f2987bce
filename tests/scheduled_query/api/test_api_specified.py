"""Each row of the specification's tables about the three JSON and redirect endpoints."""

import json
import re
from typing import Any

import pytest

TIME = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}")


@pytest.fixture(scope="module")
def service(service_on_both):
    return service_on_both


@pytest.fixture(scope="module")
def query(service) -> dict[str, Any]:
    """A query with a gauge that succeeded twice and failed once, thrice over in time."""
    made = service.create(
        "SELECT region, COUNT(*) AS n FROM orders GROUP BY region",
        name="Orders by region",
        monitor_metric_config={"metric_name": "spec_orders", "labels": {"region": "all"}},
    )
    service.run(made["id"])
    service.clock.advance(60)
    service.record(made["id"], "failed")
    service.clock.advance(60)
    service.record(made["id"], "timeout")
    service.clock.advance(60)
    service.run(made["id"])
    return made


@pytest.fixture(scope="module")
def history(service, query) -> dict[str, Any]:
    return service.viewer.get(f"/api/execution-history/{query['id']}").json()


def test_get_run_now_executes_at_once_and_answers_303_to_the_list(service):
    made = service.create()
    answer = service.editor.get(f"/api/run-now/{made['id']}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/scheduled_query/")
    found = service.viewer.get(f"/api/execution-history/{made['id']}").json()
    assert found["pagination"]["total_count"] == 1
    assert found["data"][0]["trigger"] == "manual"


@pytest.mark.parametrize("path", ["run-now", "execution-history", "scheduled-queries"])
@pytest.mark.parametrize(
    "query_id", ["abc", "1.0", "1e3", "0x1", " 1", "+1", "１", "-1", "0", "9" * 5000, str(2**63)]
)
def test_query_id_is_an_int_on_all_three(service, path, query_id):
    answer = service.editor.get(f"/api/{path}/{query_id}")
    assert answer.status_code == 422
    problem = answer.json()["detail"][0]
    assert problem["loc"] == ["path", "query_id"]
    assert {"loc", "msg", "type", "input"} <= problem.keys()


@pytest.mark.parametrize("path", ["run-now", "execution-history", "scheduled-queries"])
@pytest.mark.parametrize("query_id", [999_999, 2**31 - 1, 2**31, 2**63 - 1])
def test_an_unknown_query_id_is_404(service, path, query_id):
    answer = service.editor.get(f"/api/{path}/{query_id}")
    assert (answer.status_code, answer.json()) == (404, {"detail": "There is no such query."})


# query parameters of the history


def test_history_parameter_page_is_1_by_default(history):
    assert history["pagination"]["page"] == 1


def test_history_parameter_limit_is_50_by_default(history):
    assert history["pagination"]["limit"] == 50


def test_history_parameter_limit_has_the_maximum_200(service, query):
    assert service.viewer.get(f"/api/execution-history/{query['id']}?limit=200").status_code == 200
    assert service.viewer.get(f"/api/execution-history/{query['id']}?limit=201").status_code == 422


@pytest.mark.parametrize(
    "params",
    [
        {"page": "0"},
        {"page": "-1"},
        {"page": "1.0"},
        {"page": "one"},
        {"page": ""},
        {"page": str(2**63)},
        {"limit": "0"},
        {"limit": "-5"},
        {"limit": "1.0"},
        {"limit": "many"},
        {"status_filter": "unknown"},
        {"status_filter": "SUCCESS"},
        {"status_filter": ""},
    ],
)
def test_a_bad_history_parameter_is_422_in_fastapis_shape(service, query, params):
    answer = service.viewer.get(f"/api/execution-history/{query['id']}", params=params)
    assert answer.status_code == 422
    problem = answer.json()["detail"][0]
    assert problem["loc"] == ["query", *params]
    assert {"loc", "msg", "type", "input"} <= problem.keys()


@pytest.mark.parametrize(("word", "statuses"), [
    ("all", {"success", "failed", "timeout"}),
    ("success", {"success"}),
    ("failed", {"failed"}),
    ("timeout", {"timeout"}),
])  # fmt: skip
def test_history_parameter_status_filter_takes_its_four_words(service, query, word, statuses):
    answer = service.viewer.get(f"/api/execution-history/{query['id']}", params={"status_filter": word})
    assert {item["status"] for item in answer.json()["data"]} == statuses


def test_history_parameter_status_filter_is_all_by_default(history):
    assert {item["status"] for item in history["data"]} == {"success", "failed", "timeout"}


# the response of the history


@pytest.mark.parametrize(("field", "kind"), [("data", list), ("pagination", dict), ("query_info", dict)])
def test_history_response_field(history, field, kind):
    assert isinstance(history[field], kind)


@pytest.mark.parametrize(
    ("field", "kinds"),
    [
        ("id", int),
        ("executed_at", str),
        ("duration_ms", int),
        ("result", str),
        ("result_key", list),
        ("status", str),
        ("error_message", (str, type(None))),
        ("monitor_metrics_snapshot", (dict, type(None))),
    ],
)
def test_history_item_field(history, field, kinds):
    assert len(history["data"]) == 4
    for item in history["data"]:
        assert isinstance(item[field], kinds), item
        assert not isinstance(item[field], bool)


def test_history_item_executed_at_has_the_specified_format(history):
    assert all(TIME.fullmatch(item["executed_at"]) for item in history["data"])


def test_history_item_result_is_text_that_holds_rows_also_when_there_are_none(history):
    newest, timeout, failed, oldest = history["data"]
    assert json.loads(newest["result"]) == json.loads(oldest["result"]) == [["eu", 2], ["us", 1]]
    assert newest["result_key"] == ["region", "n"]
    assert [json.loads(item["result"]) for item in (timeout, failed)] == [[], []]
    assert [item["result_key"] for item in (timeout, failed)] == [[], []]


def test_history_item_error_message_is_set_when_the_execution_failed(history):
    assert [item["error_message"] for item in history["data"]] == [None, "it broke", "it broke", None]


def test_history_item_monitor_metrics_snapshot_tells_the_gauge(history):
    shot = {"metric_name": "spec_orders", "labels": {"region": "all"}, "value": 2.0}
    assert history["data"][0]["monitor_metrics_snapshot"] == shot
    assert history["data"][1]["monitor_metrics_snapshot"] is None


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("page", int),
        ("limit", int),
        ("total_count", int),
        ("total_pages", int),
        ("has_next", bool),
        ("has_prev", bool),
    ],
)
def test_pagination_field(history, field, kind):
    assert type(history["pagination"][field]) is kind


def test_query_info_has_id_and_name(history, query):
    assert history["query_info"] == {"id": query["id"], "name": "Orders by region"}


# the response of the details


@pytest.mark.parametrize(
    ("field", "kinds"),
    [
        ("id", int),
        ("name", str),
        ("query", str),
        ("cron_schedule", str),
        ("last_executed", str),
        ("enabled", bool),
        ("monitor_metric_config", dict),
    ],
)
def test_details_field(service, query, field, kinds):
    details = service.viewer.get(f"/api/scheduled-queries/{query['id']}").json()
    assert isinstance(details[field], kinds)


def test_details_last_executed_has_the_specified_format_and_is_null_before_the_first_run(service, query):
    details = service.viewer.get(f"/api/scheduled-queries/{query['id']}").json()
    assert TIME.fullmatch(details["last_executed"])
    fresh = service.create()
    assert service.viewer.get(f"/api/scheduled-queries/{fresh['id']}").json()["last_executed"] is None


def test_details_monitor_metric_config_is_an_object_or_null(service, query):
    details = service.viewer.get(f"/api/scheduled-queries/{query['id']}").json()
    assert details["monitor_metric_config"] == {"metric_name": "spec_orders", "labels": {"region": "all"}}
    fresh = service.create()
    assert service.viewer.get(f"/api/scheduled-queries/{fresh['id']}").json()["monitor_metric_config"] is None


@pytest.mark.parametrize("method", ["put", "post", "delete", "patch", "head"])
def test_another_method_on_a_specified_path_is_405(service, query, method):
    assert getattr(service.admin, method)(f"/api/execution-history/{query['id']}").status_code == 405


@pytest.mark.parametrize("path", ["run-now", "execution-history", "scheduled-queries"])
def test_every_endpoint_requires_authentication(service, query, path):
    answer = service.client().get(f"/api/{path}/{query['id']}")
    assert answer.status_code == 401
    assert "Bearer" in answer.headers["www-authenticate"]
    assert answer.json() == {"detail": "Authentication is required."}


def test_the_gauge_is_on_metrics_at_once_after_run_now(service):
    made = service.create(
        "SELECT SUM(total) FROM orders",
        monitor_metric_config={"metric_name": "spec_total", "labels": {"a": "b"}},
    )
    service.run(made["id"])
    text = service.viewer.get("/metrics").text
    assert "# HELP spec_total metric for query SELECT SUM(total) FROM orders\n" in text
    assert "# TYPE spec_total gauge\n" in text
    assert 'spec_total{a="b"} 8.25\n' in text
