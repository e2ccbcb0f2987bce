"""Explaining a schedule, trying a query, taking a result away."""

import csv
import io
import json
import threading

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query.tables import history, results, runs

FOREVER = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e15) SELECT COUNT(*) FROM n"
)


# cron


def test_cron_tells_the_schedule_in_words_and_its_next_times(service):
    params = {"expression": "0  6 * * MON", "timezone": "Europe/Berlin", "count": 2}
    answer = service.viewer.get("/api/cron", params=params)
    assert answer.json() == {
        "expression": "0 6 * * MON",
        "timezone": "Europe/Berlin",
        "words": "Mondays at 06:00",
        "next_times": ["2026-11-16 05:00:00", "2026-11-23 05:00:00"],
    }


def test_cron_takes_the_services_time_zone_and_five_times_by_default(service):
    with service.settings(timezone="Asia/Tokyo"):
        answer = service.viewer.get("/api/cron", params={"expression": "@daily"}).json()
    assert (answer["timezone"], len(answer["next_times"])) == ("Asia/Tokyo", 5)
    assert all(moment.endswith("15:00:00") for moment in answer["next_times"])


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "expression"),
        ({"expression": ""}, "expression"),
        ({"expression": "* * * * * *"}, "expression"),
        ({"expression": "0 0 30 2 *"}, "expression"),
        ({"expression": "\0 * * * *"}, "expression"),
        ({"expression": "1," * 10_000}, "expression"),
        ({"expression": "@daily", "timezone": "Nowhere"}, "timezone"),
        ({"expression": "@daily", "timezone": "../../etc/passwd"}, "timezone"),
        ({"expression": "@daily", "count": "0"}, "count"),
        ({"expression": "@daily", "count": "101"}, "count"),
        ({"expression": "@daily", "count": "2.0"}, "count"),
    ],
)
def test_a_bad_cron_parameter_is_422(service, params, field):
    answer = service.viewer.get("/api/cron", params=params)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", field]


# try


def kept(service):
    with service.host.store.connect() as connection:
        return [
            connection.scalar(sa.select(sa.func.count()).select_from(t)) for t in (history, results, runs)
        ]


def test_try_answers_with_the_result_and_stores_nothing(service):
    before = kept(service)
    answer = service.editor.post("/api/try", json={"query": "SELECT region, total FROM orders LIMIT 1"})
    assert answer.status_code == 200
    found = answer.json()
    assert found.pop("duration_ms") >= 0
    assert found == {
        "status": "success",
        "result": '[["eu",1.5]]',
        "result_key": ["region", "total"],
        "row_count": 1,
        "truncated": False,
        "error_message": None,
    }
    assert kept(service) == before


def test_try_has_the_same_guard(service, caplog):
    told = []
    service.host.events.on("scheduled_query.rejected", told.append, owner="test")
    answer = service.editor.post("/api/try", json={"query": "SELECT 'drop'"})
    service.host.events.remove_owner("test")
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "query"]
    assert "rejected query=" in caplog.text
    assert "rule=keyword keyword=drop" in caplog.text
    assert "at=try" in caplog.text
    assert [event.data["at"] for event in told] == ["try"]


def test_try_has_the_same_limits(service):
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) SELECT i FROM n"
    with service.settings(max_rows=10):
        found = service.editor.post("/api/try", json={"query": numbers}).json()
    assert (found["row_count"], found["truncated"]) == (10, True)
    found = service.editor.post("/api/try", json={"query": FOREVER, "timeout": 1}).json()
    assert (found["status"], found["error_message"]) == ("timeout", "the time limit of 1 s was reached")


def test_a_query_that_fails_is_told_not_raised(service):
    found = service.editor.post("/api/try", json={"query": "SELECT missing FROM orders"}).json()
    assert (found["status"], found["result"], found["result_key"]) == ("failed", "[]", [])
    assert "missing" in found["error_message"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": None}, "query"),
        ({"query": 7}, "query"),
        ({"data_source": "nowhere"}, "data_source"),
        ({"data_source": 7}, "data_source"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": "long"}, "timeout"),
    ],
)
def test_a_bad_try_is_422_at_the_field(service, fields, field):
    answer = service.editor.post("/api/try", json={"query": "SELECT 1", **fields})
    assert answer.status_code == 422
    assert [problem["loc"] for problem in answer.json()["detail"]] == [["body", field]]


def test_many_trials_keep_nobody_else_waiting(service):
    def trial():
        service.editor.post("/api/try", json={"query": FOREVER, "timeout": 1})

    trials = [threading.Thread(target=trial) for _ in range(20)]
    for thread in trials:
        thread.start()
    assert service.viewer.get("/api/scheduled-queries").status_code == 200
    for thread in trials:
        thread.join()


# results


def result_of(service, rows, columns=("a", "b"), name=None):
    made = service.create(**({"name": name} if name else {}))
    text = json.dumps(rows, ensure_ascii=False)
    service.record(made["id"], columns=tuple(columns), result_json=text, row_count=len(rows))
    return made["id"]


def test_csv_has_a_header_line_and_every_row(service):
    query_id = result_of(service, [[1, "x"], [None, 'say "hi", twice'], [True, "a\nb"]])
    answer = service.viewer.get(f"/api/results/{query_id}.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert list(csv.reader(io.StringIO(answer.text))) == [
        ["a", "b"],
        ["1", "x"],
        ["", 'say "hi", twice'],
        ["true", "a\nb"],
    ]


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1"])
def test_csv_is_safe_against_formulas(service, cell):
    query_id = result_of(service, [[cell]], ["=cmd()"])
    header, row = csv.reader(io.StringIO(service.viewer.get(f"/api/results/{query_id}.csv").text, newline=""))
    assert (header[0][0], row[0][0]) == ("'", "'")


def test_json_keeps_columns_of_one_name_and_every_digit(service):
    query_id = result_of(service, [[1, 2], [12345678901234567890, 0.1]], ["n", "n"])
    answer = service.viewer.get(f"/api/results/{query_id}.json")
    assert answer.json() == {"columns": ["n", "n"], "rows": [[1, 2], [12345678901234567890, 0.1]]}


@pytest.mark.parametrize("extension", ["csv", "json"])
def test_a_file_is_named_after_its_query(service, extension):
    query_id = result_of(service, [[1, 2]], name='Größe / "Maß"; rm -rf')
    disposition = service.viewer.get(f"/api/results/{query_id}.{extension}").headers["content-disposition"]
    assert disposition.startswith(f'attachment; filename="Gr-e-Ma-rm--rf.{extension}"; ')
    assert "filename*=UTF-8''Gr%C3%B6%C3%9Fe%20-%20%22Ma%C3%9F%22%3B%20rm%20-rf" in disposition


@pytest.mark.parametrize("extension", ["csv", "json"])
def test_a_long_result_is_sent_whole(service, extension):
    query_id = result_of(service, [[number, "x" * 90] for number in range(10_000)])
    answer = service.viewer.get(f"/api/results/{query_id}.{extension}")
    rows = answer.json()["rows"] if extension == "json" else answer.text.splitlines()[1:]
    assert len(rows) == 10_000


@pytest.mark.parametrize("extension", ["csv", "json"])
def test_a_query_without_a_result_is_404(service, extension):
    made = service.create()
    answer = service.viewer.get(f"/api/results/{made['id']}.{extension}")
    assert (answer.status_code, answer.json()) == (404, {"detail": "This query has no result yet."})


@pytest.mark.parametrize("extension", ["csv", "json"])
@pytest.mark.parametrize(
    ("query_id", "code"), [("999999", 404), (2**31, 404), (2**63, 422), ("x", 422), ("1.0", 422)]
)
def test_the_result_of_an_unknown_or_impossible_query(service, query_id, code, extension):
    assert service.viewer.get(f"/api/results/{query_id}.{extension}").status_code == code
