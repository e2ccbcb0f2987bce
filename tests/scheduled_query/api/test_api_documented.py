"""OpenAPI and the docs say what the API does: every route, and the shape of real answers."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from plugbay_scheduled_query.web.api import schedule, schemas, source_schemas
from pydantic import BaseModel

DOCS = Path(__file__).parents[3] / "docs" / "api.md"


@pytest.fixture(scope="module")
def openapi(service) -> dict[str, Any]:
    return service.host.app.openapi()


@pytest.fixture(scope="module")
def operations(openapi) -> dict[str, dict[str, Any]]:
    return {
        f"{method.upper()} {path}": operation
        for path, methods in openapi["paths"].items()
        if path.startswith("/api/")
        for method, operation in methods.items()
    }


def test_every_endpoint_has_a_summary_a_description_a_tag_and_a_login(operations):
    assert len(operations) == 50
    for name, operation in operations.items():
        assert operation["summary"], name
        assert operation["description"], name
        assert operation["tags"], name
        assert operation["security"], name


def test_every_answer_is_documented(operations):
    for name, operation in operations.items():
        [good] = [code for code in operation["responses"] if code < "400"]
        content = operation["responses"][good].get("content")
        assert content or good in ("204", "303"), name
        assert {"401", "403"} <= operation["responses"].keys(), name
        if "{" in name:
            assert {"404", "422"} <= operation["responses"].keys(), name


def test_every_body_has_an_example(operations):
    for name, operation in operations.items():
        if "requestBody" in operation:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            assert schema["examples"], name
            assert schema["properties"], name


def matches(model: type[BaseModel], answer: dict[str, Any]) -> None:
    """The answer fits the model, and has no field that the model does not know."""
    model.model_validate(answer, strict=True)
    known = {field.alias or name for name, field in model.model_fields.items()}
    assert answer.keys() <= known


def test_real_answers_have_the_documented_shape(service):
    made = service.create(
        "SELECT 3 AS n", monitor_metric_config={"metric_name": "documented", "labels": {"a": "b"}}
    )
    matches(schemas.SavedQuery, made)
    ran = service.run(made["id"])
    matches(schemas.RunAnswer, ran)
    matches(schemas.HistoryItem, ran["execution"])
    viewer, path = service.viewer, f"/api/scheduled-queries/{made['id']}"
    matches(schemas.QueryDetails, viewer.get(path).json())
    matches(schemas.QueryPage, viewer.get("/api/scheduled-queries").json())
    matches(schemas.QuerySummary, viewer.get("/api/scheduled-queries").json()["data"][0])
    matches(schemas.HistoryPage, viewer.get(f"/api/execution-history/{made['id']}").json())
    matches(schemas.ExecutionDetails, viewer.get(f"/api/executions/{ran['execution']['id']}").json())
    matches(schemas.ResultAnswer, viewer.get(f"/api/results/{made['id']}.json").json())
    matches(schemas.CronAnswer, viewer.get("/api/cron", params={"expression": "@daily"}).json())
    matches(schemas.TryAnswer, service.editor.post("/api/try", json={"query": "SELECT 1"}).json())
    asked = {"at": "2026-11-15 12:00:00"}
    matches(schedule.WhyAnswer, viewer.get(f"{path}/why", params=asked).json())
    matches(schedule.ScheduleAnswer, viewer.get("/api/schedule").json())
    matches(source_schemas.SourceAnswer, service.admin.get("/api/data-sources/1").json())
    matches(source_schemas.SourceList, viewer.get("/api/data-sources").json())
    matches(source_schemas.TestAnswer, service.admin.post("/api/data-sources/1/test").json())
    matches(source_schemas.SchemaAnswer, service.editor.get("/api/data-sources/1/schema").json())
    matches(schemas.Problem, viewer.get("/api/scheduled-queries/999999").json())


CHANGING = ("duration_ms", "server")  # what is another each time
EXAMPLE = re.compile(r"```http\n([A-Z]+) (\S+)\n(.*?)```\n+```(json|csv) (\d+)\n(.*?)```", re.DOTALL)


def comparable(value: Any) -> Any:
    """An answer without what is another each time."""
    if isinstance(value, dict):
        return {name: comparable(item) for name, item in value.items() if name not in CHANGING}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    is_warning = isinstance(value, str) and value.startswith("it cannot be reached now: ")
    return "it cannot be reached now: …" if is_warning else value


def test_the_examples_of_the_docs_are_true(run_service, tmp_path):
    with run_service(tmp_path) as service:
        examples = EXAMPLE.findall(DOCS.read_text())
        assert len(examples) == 24
        for method, path, body, kind, status, told in examples:
            given = json.loads(body) if body else None
            answer = service.admin.request(method, path, json=given)
            assert answer.status_code == int(status), (method, path, answer.text)
            found = answer.text.replace(str(service.shop), "/srv/shop/orders.db")
            if kind == "json":
                assert comparable(json.loads(found)) == comparable(json.loads(told)), (method, path)
            else:
                assert found.splitlines() == told.splitlines()


def test_the_docs_tell_every_endpoint_and_no_other(operations):
    told = re.findall(r"^#+ `?([A-Z]+ /api/[^\s`]+)`?", DOCS.read_text(), re.MULTILINE)
    simple = {re.sub(r"\{[a-z_]+\}", "{id}", name) for name in operations}
    assert {re.sub(r"\{[a-z_]+\}", "{id}", name) for name in told} == simple
