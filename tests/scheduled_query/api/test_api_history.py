"""Pages, filters and dates of a history, and single executions."""

import json
import tracemalloc
from datetime import UTC, datetime, timedelta

import pytest

ITEM = {
    "id",
    "executed_at",
    "duration_ms",
    "result",
    "result_key",
    "status",
    "error_message",
    "monitor_metrics_snapshot",
    "due_at",
    "missed",
    "attempt",
    "trigger",
    "triggered_by",
    "truncated",
}


def history(service, query_id, **params):
    answer = service.viewer.get(f"/api/execution-history/{query_id}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture(scope="module")
def long_history(service):
    """Thirty executions, one an hour from 2026-11-01 00:00:00 on; each third failed."""
    made = service.create()
    start = datetime(2026, 11, 1, tzinfo=UTC)
    for hour in range(30):
        status = "failed" if hour % 3 == 2 else "success"
        service.record(made["id"], status, executed_at=start + timedelta(hours=hour), duration_ms=hour)
    return made["id"]


def test_items_have_the_specified_and_the_added_fields(service, long_history):
    item = history(service, long_history)["data"][0]
    assert item.keys() == ITEM
    assert (item["trigger"], item["triggered_by"], item["due_at"]) == ("manual", "editor", None)
    assert (item["missed"], item["attempt"], item["truncated"]) == (0, 1, False)


def test_history_is_newest_first(service, long_history):
    assert [item["duration_ms"] for item in history(service, long_history)["data"]] == list(range(29, -1, -1))


@pytest.mark.parametrize(
    ("page", "expected", "has_next", "has_prev"),
    [(1, list(range(29, 17, -1)), True, False), (2, list(range(17, 5, -1)), True, True),
     (3, list(range(5, -1, -1)), False, True), (4, [], False, True), (2**62, [], False, True)],
)  # fmt: skip
def test_pages(service, long_history, page, expected, has_next, has_prev):
    found = history(service, long_history, page=page, limit=12)
    assert [item["duration_ms"] for item in found["data"]] == expected
    assert found["pagination"] == {
        "page": page,
        "limit": 12,
        "total_count": 30,
        "total_pages": 3,
        "has_next": has_next,
        "has_prev": has_prev,
    }


def test_a_status_has_pages_of_its_own(service, long_history):
    found = history(service, long_history, status_filter="failed", limit=4, page=2)
    assert [item["duration_ms"] for item in found["data"]] == [17, 14, 11, 8]
    assert found["pagination"]["total_count"] == 10


@pytest.mark.parametrize(
    ("params", "first", "last"),
    [
        ({"date_from": "2026-11-02"}, 29, 24),
        ({"date_to": "2026-11-01"}, 23, 0),
        ({"date_from": "2026-11-01", "date_to": "2026-11-01"}, 23, 0),
        ({"date_from": "2026-11-01 10:00:00", "date_to": "2026-11-01 12:00:00"}, 12, 10),
        ({"date_from": "2026-11-01 10:00:01"}, 29, 11),
        ({"date_from": "", "date_to": ""}, 29, 0),
        ({"date_from": "0001-01-01", "date_to": "9999-12-31"}, 29, 0),
    ],
)
def test_dates_include_both_ends(service, long_history, params, first, last):
    found = history(service, long_history, **params)
    durations = [item["duration_ms"] for item in found["data"]]
    assert (durations[0], durations[-1]) == (first, last)
    assert found["pagination"]["total_count"] == len(durations) == first - last + 1


def test_dates_and_status_go_together(service, long_history):
    found = history(service, long_history, status_filter="failed", date_from="2026-11-02", limit=1)
    assert [item["duration_ms"] for item in found["data"]] == [29]
    assert found["pagination"]["total_count"] == 2


def test_a_time_without_executions_is_empty(service, long_history):
    found = history(service, long_history, date_from="2030-01-01")
    assert (found["data"], found["pagination"]["total_pages"]) == ([], 0)


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"date_from": "2026-13-01"}, "date_from"),
        ({"date_from": "yesterday"}, "date_from"),
        ({"date_from": "2026-11-01T00:00:00"}, "date_from"),
        ({"date_to": "2026-11-01 25:00:00"}, "date_to"),
        ({"date_to": "２０２６-11-01"}, "date_to"),
        ({"date_to": "2026-02-30"}, "date_to"),
        ({"date_from": "2026-11-02", "date_to": "2026-11-01"}, "date_from"),
        ({"date_from": "\0"}, "date_from"),
    ],
)
def test_a_bad_date_is_422(service, long_history, params, field):
    answer = service.viewer.get(f"/api/execution-history/{long_history}", params=params)
    assert answer.status_code == 422
    [problem] = answer.json()["detail"]
    assert (problem["loc"], problem["input"]) == (["query", field], params[field])


def test_a_query_that_never_ran_has_an_empty_history(service):
    made = service.create()
    found = history(service, made["id"])
    assert found["data"] == []
    assert found["pagination"]["total_count"] == 0
    assert found["query_info"] == {"id": made["id"], "name": made["name"]}


def big(service, count: int = 1) -> tuple[int, str]:
    """A query with so many results of ten megabytes."""
    rows = [[number, "x" * 988] for number in range(10_000)]
    text = json.dumps(rows, separators=(",", ":"))
    result = {"columns": ("n", "t"), "result_json": text, "row_count": len(rows), "truncated": True}
    made = service.create()
    for _ in range(count):
        service.record(made["id"], result=result, preview="[[0]]")
    return made["id"], text


def test_long_results_come_whole_beside_short_ones(service):
    query_id, text = big(service)
    service.record(query_id)
    service.record(query_id, "failed")
    failed, short, long = history(service, query_id)["data"]
    assert (failed["result"], short["result"]) == ("[]", "[[1]]")
    assert long["result"] == text
    assert long["truncated"] is True
    assert long["result_key"] == ["n", "t"]


def test_a_page_of_long_results_never_stands_in_memory(service):
    query_id, text = big(service, count=6)
    with service.viewer.stream("GET", f"/api/execution-history/{query_id}") as answer:
        # TestClient keeps the body: the writer itself is measured below
        assert answer.status_code == 200
    from plugbay_scheduled_query.repository.history import HistoryFilter
    from plugbay_scheduled_query.web.api.history import page_pieces

    reader = service.parts.histories
    tracemalloc.start()
    found = reader.stored_page(query_id, HistoryFilter(), 1, 50)
    size = sum(len(piece) for piece in page_pieces(found, '{"a":1}', reader.text))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 6 * len(text)
    assert peak < 2.5 * len(text)  # one result as bytes from the store and as text, not six


def test_the_details_of_a_long_result_are_not_copied(service):
    from plugbay_scheduled_query.web.api.json_text import query_pieces

    query_id, text = big(service)
    query = service.parts.definitions.get(query_id, with_result=True)
    tracemalloc.start()
    size = sum(len(piece.encode()) for piece in query_pieces(query))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > len(text)
    assert peak < 0.1 * len(text)


# single executions


def test_one_execution_by_its_id(service):
    made = service.create("SELECT region FROM orders LIMIT 1")
    execution = service.run(made["id"])["execution"]
    answer = service.viewer.get(f"/api/executions/{execution['id']}")
    assert answer.json() == {**execution, "query_info": {"id": made["id"], "name": made["name"]}}


def test_the_result_of_one_execution_as_a_file(service):
    made = service.create("SELECT region, total FROM orders WHERE total > 4")
    execution = service.run(made["id"])["execution"]
    csv = service.viewer.get(f"/api/executions/{execution['id']}/result.csv")
    assert csv.text == "region,total\r\nus,4.25\r\n"
    found = service.viewer.get(f"/api/executions/{execution['id']}/result.json")
    assert found.json() == {"columns": ["region", "total"], "rows": [["us", 4.25]]}
    assert f"execution-{execution['id']}.json" in found.headers["content-disposition"]


def test_the_result_of_a_failed_execution_is_empty(service):
    made = service.create()
    service.record(made["id"], "failed")
    [item] = history(service, made["id"])["data"]
    found = service.viewer.get(f"/api/executions/{item['id']}/result.json")
    assert found.json() == {"columns": [], "rows": []}


@pytest.mark.parametrize("tail", ["", "/result.csv", "/result.json"])
@pytest.mark.parametrize(
    ("execution_id", "code"), [(999_999, 404), (2**31, 404), (2**63, 422), ("x", 422), ("0", 422)]
)
def test_an_unknown_or_impossible_execution(service, execution_id, code, tail):
    assert service.viewer.get(f"/api/executions/{execution_id}{tail}").status_code == code


def test_the_execution_of_a_deleted_query_is_gone(service):
    made = service.create()
    execution = service.run(made["id"])["execution"]
    service.editor.delete(f"/api/scheduled-queries/{made['id']}")
    assert service.viewer.get(f"/api/executions/{execution['id']}").status_code == 404
