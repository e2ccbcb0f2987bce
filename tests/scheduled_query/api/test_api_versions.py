"""Versions over HTTP: every way to save leaves one, and each can be brought back."""

import json
from typing import Any

import pytest
from plugbay_scheduled_query.core.draft import FIELDS, FIRST_METRIC
from plugbay_scheduled_query.queries.alert_transfer import AlertTransfer
from plugbay_scheduled_query.queries.transfer import Import
from plugbay_scheduled_query.web.api.versions import VersionPage


def path(query: dict[str, Any], end: str = "versions") -> str:
    return f"/api/scheduled-queries/{query['id']}/{end}"


def versions_of(service, query: dict[str, Any], **params: Any) -> list[dict[str, Any]]:
    answer = service.viewer.get(path(query), params=params)
    assert answer.status_code == 200, answer.text
    VersionPage.model_validate(answer.json())
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


def edit(service, made: dict[str, Any], **fields: Any) -> dict[str, Any]:
    answer = service.editor.patch(path(made, "")[:-1], json=fields)
    assert answer.status_code == 200, answer.text
    edited: dict[str, Any] = answer.json()
    return edited


def restore(service, query: dict[str, Any], version: Any) -> Any:
    return service.editor.post(path(query, "restore"), json={"version": version})


def test_an_edit_over_http_is_a_version(service_on_both):
    service = service_on_both
    made = service.create("SELECT 1 AS one", tags=["a"])
    edit(service, made, query="SELECT 2 AS two", description="Two")
    new, old = versions_of(service, made)
    assert (new["version"], new["by"], new["changed"]) == (2, "editor", ["query", "description"])
    assert (old["version"], old["by"], old["changed"]) == (1, "editor", [])
    assert set(new["definition"]) == {*FIELDS, FIRST_METRIC}
    assert old["definition"]["query"] == "SELECT 1 AS one"
    assert new["at"] == service.viewer.get(path(made, "")[:-1]).json()["updated_at"]


def test_a_page_past_the_end_is_empty_and_the_total_is_told(service):
    made = service.create()
    answer = service.viewer.get(path(made), params={"page": 2, "limit": 1}).json()
    assert answer["data"] == []
    assert answer["pagination"]["total_count"] == 1
    far = service.viewer.get(path(made), params={"page": 2**63 - 1, "limit": 200})
    assert (far.status_code, far.json()["data"]) == (200, [])


def test_saving_what_is_there_makes_no_version(service):
    made = service.create()
    edit(service, made, name=made["name"])
    assert [one["version"] for one in versions_of(service, made)] == [1]


def test_switching_and_importing_are_versions_too(service):
    made = service.create()
    service.editor.post(f"/scheduled_query/toggle/{made['id']}")
    parts = service.parts
    transfer = AlertTransfer(parts.alerts.alerts, parts.alerts.editing)
    given = {"name": made["name"], "description": "brought in"}
    Import(parts.editing, parts.definitions, transfer).run([given], "command line")
    found = [(one["by"], one["changed"]) for one in versions_of(service, made)]
    assert found == [("command line", ["description"]), ("editor", ["enabled"]), ("editor", [])]


def test_restoring_makes_a_new_version_with_that_definition(service_on_both):
    service = service_on_both
    metric = {"metric_name": service.unique("restored").replace(" ", "_").lower(), "labels": {"a": "b"}}
    made = service.create("SELECT 1 AS one", tags=["a"], monitor_metric_config=metric, timeout=7)
    chart = {"kind": "bar", "x": "two", "y": ["one"]}
    fields = {"query": "SELECT 2 AS two", "tags": [], "metrics": [], "timeout": None, "chart": chart}
    edit(service, made, enabled=False, **fields)
    answer = restore(service, made, 1)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["version"], answer.json()["query"]) == (3, "SELECT 1 AS one")
    newest, _, oldest = versions_of(service, made)
    assert newest["definition"] == oldest["definition"]
    assert newest["by"] == "editor"
    assert set(newest["changed"]) == {"query", "tags", "metrics", "timeout", "chart", "enabled"}


def test_restoring_what_is_in_force_changes_nothing(service):
    made = service.create()
    answer = restore(service, made, 1)
    assert (answer.status_code, answer.json()["version"]) == (200, 1)


@pytest.mark.parametrize("number", [2, 99, 2**31 - 1, 2**31, 2**70])
def test_a_version_that_is_not_there_is_404(service, number):
    answer = restore(service, service.create(), number)
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith("There is no such version.")


@pytest.mark.parametrize("number", [None, "1", 1.5, True, 0, -1, [1], {}])
def test_what_is_no_number_of_a_version_is_422(service, number):
    answer = restore(service, service.create(), number)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "version"]


@pytest.mark.parametrize("query_id", ["999999", str(2**31), str(2**63 - 1)])
def test_versions_of_no_query_are_404(service, query_id):
    assert service.viewer.get(path({"id": query_id})).status_code == 404
    assert restore(service, {"id": query_id}, 1).status_code == 404


def test_the_checks_of_a_save_are_those_of_restoring(service):
    made = service.create("SELECT 1 AS truncated")
    edit(service, made, query="SELECT 2 AS two")
    with service.settings(forbidden_keywords="truncated"):
        answer = restore(service, made, 1)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "query"]
    assert len(versions_of(service, made)) == 2


def test_a_metric_that_another_query_took_meanwhile_is_refused(service):
    metric = {"metric_name": "taken_meanwhile", "labels": {}}
    made = service.create(monitor_metric_config=metric)
    edit(service, made, monitor_metric_config=None)
    service.create(monitor_metric_config=metric)
    answer = restore(service, made, 1)
    assert answer.status_code == 422
    assert "metric" in answer.json()["detail"][0]["loc"][1]


def test_viewers_read_versions_and_restore_none(service):
    made = service.create()
    assert service.viewer.get(path(made)).status_code == 200
    assert service.viewer.post(path(made, "restore"), json={"version": 1}).status_code == 403
    assert service.client().get(path(made)).status_code == 401


def test_no_address_of_a_source_stands_in_a_definition(service):
    made = service.create()
    edit(service, made, name=service.unique())
    text = json.dumps(versions_of(service, made))
    assert str(service.shop) not in text
    assert "sqlite:" not in text


def test_long_definitions_come_in_pieces_and_whole(service):
    made = service.create("SELECT 1 AS one -- " + "é" * 40_000)
    for n in range(3):
        edit(service, made, description=f"{n}")
    found = versions_of(service, made)
    assert [one["definition"]["query"] for one in found] == [made["query"]] * 4
