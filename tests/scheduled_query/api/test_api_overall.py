"""The history over all queries, and what changed between two executions."""

import pytest
from scheduled_query.api.conftest import Service


def executed(service: Service, rows: str, **fields: object) -> dict:
    """A query with one execution; its newest history item."""
    made = fields.pop("query", None) or service.create()
    service.record(made["id"], result={"columns": ("id", "n"), "result_json": rows, "row_count": 2})
    service.clock.advance(1)
    item = service.viewer.get(f"/api/execution-history/{made['id']}").json()["data"][0]
    return {"query": made, **item}


def test_all_executions_newest_first_without_their_results(service_on_both: Service):
    service = service_on_both
    first, second = executed(service, "[[1,1]]"), executed(service, "[[1,2]]")
    service.record(second["query"]["id"], "failed")
    answer = service.viewer.get("/api/executions", params={"limit": 3}).json()
    assert [one["status"] for one in answer["data"]] == ["failed", "success", "success"]
    assert answer["data"][2]["query_info"] == {"id": first["query"]["id"], "name": first["query"]["name"]}
    assert "result" not in answer["data"][0]
    assert answer["pagination"]["limit"] == 3
    failed = service.viewer.get("/api/executions", params={"status_filter": "failed"}).json()
    assert {one["status"] for one in failed["data"]} == {"failed"}
    named = service.viewer.get("/api/executions", params={"query": first["query"]["name"]}).json()
    assert first["id"] in [one["id"] for one in named["data"]]
    assert service.viewer.get("/api/executions", params={"page": 999_999}).json()["data"] == []


@pytest.mark.parametrize(
    "parameters", [{"page": 0}, {"limit": 201}, {"status_filter": "x"}, {"date_from": "x"}]
)
def test_bad_parameters_are_refused(service: Service, parameters: dict):
    assert service.viewer.get("/api/executions", params=parameters).status_code == 422


def test_a_difference_is_told_from_the_older_to_the_newer_and_exactly(service: Service):
    before = executed(service, '[["eu",1.10],["us",5]]')
    after = executed(service, '[["eu",1.20],["asia",12345678901234567890.125]]', query=before["query"])
    answer = service.viewer.get("/api/executions/diff", params={"before": after["id"], "after": before["id"]})
    told = answer.json()
    assert (told["before"], told["after"]) == (before["id"], after["id"])
    assert told["rows"]["changed"] == [
        {"key": "eu", "cells": [{"column": "n", "before": 1.1, "after": 1.2}], "more": 0}
    ]
    assert told["rows"]["removed"] == [["us", 5]]
    assert '"added":[["asia",12345678901234567890.125]]' in answer.text


def test_what_cannot_be_compared_is_404_with_a_sentence(service: Service):
    one, other = executed(service, "[[1,1]]"), executed(service, "[[1,1]]")
    service.record(one["query"]["id"], "failed")
    failed = service.viewer.get(f"/api/execution-history/{one['query']['id']}").json()["data"][0]

    def reason(before: int, after: int) -> str:
        answer = service.viewer.get("/api/executions/diff", params={"before": before, "after": after})
        assert answer.status_code == 404
        return answer.json()["detail"]

    assert reason(one["id"], other["id"]) == "These executions are of two different queries."
    assert reason(one["id"], failed["id"]) == f"The execution {failed['id']} has no result."
    assert reason(one["id"], 999_999) == "There is no such execution."
    assert service.viewer.get("/api/executions/diff").status_code == 422
