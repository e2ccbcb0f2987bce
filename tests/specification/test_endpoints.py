"""Scheduled-query JSON and redirect endpoints: the three, and what they have in common."""

import pytest
from specification.asking import details, history

PATHS = [
    pytest.param("/api/run-now/{query_id}", id="run_now"),
    pytest.param("/api/execution-history/{query_id}", id="execution_history"),
    pytest.param("/api/scheduled-queries/{query_id}", id="scheduled_queries"),
]
each_endpoint = pytest.mark.parametrize("path", PATHS)


@pytest.fixture(scope="module")
def service(service_on_both):
    """Both databases have their own idea of a large number."""
    return service_on_both


def test_get_run_now_executes_at_once_and_answers_303_to_the_list(service):
    made = service.create()
    answer = service.editor.get(f"/api/run-now/{made['id']}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/scheduled_query/")
    (item,) = history(service, made["id"])
    assert (item["status"], item["trigger"]) == ("success", "manual")


def test_get_execution_history_is_the_paginated_history_of_one_query(service):
    mine, other = service.create(), service.create()
    for query in (mine, mine, mine, other):
        service.record(query["id"])
    first, second = (history(service, mine["id"], page=page, limit=2) for page in (1, 2))
    assert (len(first), len(second)) == (2, 1)
    assert [item["id"] for item in first + second] == sorted(
        {item["id"] for item in first + second}, reverse=True
    )


def test_get_scheduled_queries_is_the_details_of_one_query(service):
    made = service.create("SELECT 2", name="One of them")
    assert (details(service, made["id"])["name"], details(service, made["id"])["query"]) == (
        "One of them",
        "SELECT 2",
    )


@each_endpoint
def test_every_endpoint_requires_authentication(service, path):
    answer = service.client().get(path.format(query_id=service.create()["id"]))
    assert answer.status_code == 401
    assert "Bearer" in answer.headers["www-authenticate"]
    assert answer.json() == {"detail": "Authentication is required."}


@each_endpoint
@pytest.mark.parametrize("base_url", ["", "/tools/monitor"], ids=["at_the_root", "below_a_base_url"])
def test_path_is_relative_to_the_base_url(service, path, base_url):
    query_id = service.create()["id"]
    client = service.client(service.editor.headers["authorization"].split()[1], root_path=base_url)
    answer = client.get(base_url + path.format(query_id=query_id))
    assert answer.status_code in (200, 303)
    assert answer.headers.get("location", "").startswith(base_url if answer.status_code == 303 else "")


@each_endpoint
def test_path_parameter_query_id_is_documented_as_an_int(service, path):
    (parameter,) = [
        one for one in service.host.app.openapi()["paths"][path]["get"]["parameters"] if one["in"] == "path"
    ]
    assert (parameter["name"], parameter["required"]) == ("query_id", True)
    assert parameter["schema"]["type"] == "integer"


@each_endpoint
@pytest.mark.parametrize(
    "query_id",
    ["abc", "1.0", "1e3", "0x1", " 1", "+1", "１", "-1", "0", "9" * 5000, str(2**63)],
    ids=["word", "point", "e", "hex", "space", "plus", "wide", "minus", "zero", "endless", "two_to_63"],
)
def test_path_parameter_query_id_is_an_int(service, path, query_id):
    answer = service.editor.get(path.format(query_id=query_id))
    assert answer.status_code == 422
    problem = answer.json()["detail"][0]
    assert problem["loc"] == ["path", "query_id"]
    assert {"loc", "msg", "type", "input"} <= problem.keys()


@each_endpoint
@pytest.mark.parametrize("query_id", [999_999, 2**31 - 1, 2**31, 2**63 - 1])
def test_an_unknown_query_id_is_404(service, path, query_id):
    answer = service.editor.get(path.format(query_id=query_id))
    assert (answer.status_code, answer.json()) == (404, {"detail": "There is no such query."})


@pytest.mark.parametrize("method", ["put", "post", "delete", "patch", "head"])
def test_another_method_on_a_specified_path_is_405(service, method):
    path = f"/api/execution-history/{service.create()['id']}"
    assert getattr(service.admin, method)(path).status_code == 405
