"""The history of a query: parameters, response, history item, pagination and query_info."""

import json
import re
from typing import Any

import pytest
from specification.asking import history

TIME = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}")
ITEM = [
    ("id", int),
    ("executed_at", str),
    ("duration_ms", int),
    ("result", str),
    ("result_key", list),
    ("status", str),
    ("error_message", str | None),
    ("monitor_metrics_snapshot", dict | None),
]
ADDED = {"due_at", "missed", "attempt", "trigger", "triggered_by", "truncated"}  # documented in docs/api.md
PAGINATION = [
    ("page", int),
    ("limit", int),
    ("total_count", int),
    ("total_pages", int),
    ("has_next", bool),
    ("has_prev", bool),
]


@pytest.fixture(scope="module")
def service(service_on_both):
    """Pages are read by each database in its own way."""
    return service_on_both


@pytest.fixture(scope="module")
def query(service) -> dict[str, Any]:
    """A query with a gauge that succeeded, failed, timed out and succeeded again."""
    made = service.create(
        "SELECT region, COUNT(*) AS n FROM orders GROUP BY region",
        name="Orders by region",
        monitor_metric_config={"metric_name": "spec_orders", "labels": {"region": "all"}},
    )
    service.run(made["id"])
    for status in ("failed", "timeout"):
        service.clock.advance(60)
        service.record(made["id"], status)
    service.clock.advance(60)
    service.run(made["id"])
    return made


@pytest.fixture(scope="module")
def response(service, query) -> dict[str, Any]:
    return service.viewer.get(f"/api/execution-history/{query['id']}").json()


# query parameters


@pytest.mark.parametrize(
    ("name", "kind", "default"),
    [("page", "integer", 1), ("limit", "integer", 50), ("status_filter", "string", "all")],
    ids=["page", "limit", "status_filter"],
)
def test_parameter_has_its_type_and_default_and_is_not_required(service, name, kind, default):
    operation = service.host.app.openapi()["paths"]["/api/execution-history/{query_id}"]["get"]
    (parameter,) = [one for one in operation["parameters"] if one["name"] == name]
    assert (parameter["in"], parameter["required"]) == ("query", False)
    assert (parameter["schema"]["type"], parameter["schema"]["default"]) == (kind, default)


def test_parameter_page_is_1_by_default(response):
    assert response["pagination"]["page"] == 1


def test_parameter_limit_is_50_by_default(response):
    assert response["pagination"]["limit"] == 50


def test_parameter_limit_has_the_maximum_200(service, query):
    path = f"/api/execution-history/{query['id']}"
    assert [service.viewer.get(f"{path}?limit={limit}").status_code for limit in (200, 201)] == [200, 422]


@pytest.mark.parametrize(
    ("word", "statuses"),
    [
        ("all", ["success", "timeout", "failed", "success"]),
        ("success", ["success", "success"]),
        ("failed", ["failed"]),
        ("timeout", ["timeout"]),
    ],
    ids=["all", "success", "failed", "timeout"],
)
def test_parameter_status_filter_takes_its_four_words(service, query, word, statuses):
    assert [item["status"] for item in history(service, query["id"], status_filter=word)] == statuses


def test_parameter_status_filter_is_all_by_default(service, query):
    assert history(service, query["id"]) == history(service, query["id"], status_filter="all")


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
    ids=lambda params: "_is_".join(*params.items()),
)
def test_a_bad_parameter_is_422(service, query, params):
    answer = service.viewer.get(f"/api/execution-history/{query['id']}", params=params)
    assert answer.status_code == 422
    problem = answer.json()["detail"][0]
    assert problem["loc"] == ["query", *params]
    assert {"loc", "msg", "type", "input"} <= problem.keys()


# the response


@pytest.mark.parametrize(("field", "kind"), [("data", list), ("pagination", dict), ("query_info", dict)])
def test_response_field(response, field, kind):
    assert type(response[field]) is kind


def test_response_has_no_other_field(response):
    assert set(response) == {"data", "pagination", "query_info"}


# a history item


@pytest.mark.parametrize(("field", "kinds"), ITEM, ids=[row[0] for row in ITEM])
def test_history_item_field(response, field, kinds):
    assert len(response["data"]) == 4
    for item in response["data"]:
        assert isinstance(item[field], kinds), item
        assert not isinstance(item[field], bool)


def test_history_item_has_no_fields_but_the_specified_and_the_added_ones(response):
    for item in response["data"]:
        assert set(item) == {row[0] for row in ITEM} | ADDED


def test_history_item_executed_at_has_the_specified_format(service, response):
    assert all(TIME.fullmatch(item["executed_at"]) for item in response["data"])
    assert response["data"][0]["executed_at"] == f"{service.clock.now():%Y-%m-%d %H:%M:%S}"


def test_history_item_result_is_text_that_holds_rows_also_when_there_are_none(response):
    newest, timeout, failed, oldest = response["data"]
    assert json.loads(newest["result"]) == json.loads(oldest["result"]) == [["eu", 2], ["us", 1]]
    assert [json.loads(item["result"]) for item in (timeout, failed)] == [[], []]


def test_history_item_result_key_is_an_array_of_the_columns(response):
    assert [item["result_key"] for item in response["data"]] == [["region", "n"], [], [], ["region", "n"]]


def test_history_item_status_is_one_of_three_words(response):
    assert {item["status"] for item in response["data"]} == {"success", "failed", "timeout"}


def test_history_item_error_message_is_set_when_the_execution_failed(response):
    assert [item["error_message"] for item in response["data"]] == [None, "it broke", "it broke", None]


def test_history_item_monitor_metrics_snapshot_is_an_object_or_null(response):
    shot = {"metric_name": "spec_orders", "labels": {"region": "all"}, "value": 2.0}
    assert [item["monitor_metrics_snapshot"] for item in response["data"]] == [shot, None, None, shot]


# pagination and query_info


@pytest.mark.parametrize(("field", "kind"), PAGINATION, ids=[row[0] for row in PAGINATION])
def test_pagination_field(response, field, kind):
    assert type(response["pagination"][field]) is kind


@pytest.mark.parametrize(
    ("number", "has_next", "has_prev"),
    [(1, True, False), (2, False, True), (3, False, True)],
    ids=["first_page", "last_page", "page_past_the_end"],
)
def test_pagination_says_where_the_page_lies(service, query, number, has_next, has_prev):
    answer = service.viewer.get(f"/api/execution-history/{query['id']}", params={"page": number, "limit": 2})
    assert answer.json()["pagination"] == {
        "page": number,
        "limit": 2,
        "total_count": 4,
        "total_pages": 2,
        "has_next": has_next,
        "has_prev": has_prev,
    }


def test_query_info_has_id_and_name(response, query):
    assert response["query_info"] == {"id": query["id"], "name": "Orders by region"}
