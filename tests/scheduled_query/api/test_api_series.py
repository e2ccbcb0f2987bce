"""Metrics from rows over HTTP: what may be written, what stands on /metrics, and what is kept of it."""

import sqlite3
from contextlib import closing

import pytest
from prometheus_client.parser import text_string_to_metric_families

ROWS = "VALUES ('de', 7), ('fr', 5)"


@pytest.fixture
def shop(service):
    """Runs a statement on the source, where queries read."""

    def write(sql: str) -> None:
        with closing(sqlite3.connect(service.shop)) as connection, connection:
            connection.executescript(sql)

    return write


@pytest.fixture
def metric_name(service):
    return service.unique("orders").replace(" ", "_")


@pytest.fixture
def scrape(service):
    """The samples of a name on /metrics, by the values of their labels in the order of the names."""

    def read(name: str) -> dict[tuple[str, ...], float]:
        text = service.viewer.get("/metrics").text
        families = text_string_to_metric_families(text)
        return {
            tuple(value for _, value in sorted(sample.labels.items())): sample.value
            for family in families
            for sample in family.samples
            if sample.name == name
        }

    return read


def of_query(service, scrape, name: str, query_id: int) -> float | None:
    return {labels[1]: value for labels, value in scrape(name).items()}.get(str(query_id))


def patch(service, made, **fields):
    return service.editor.patch(f"/api/scheduled-queries/{made['id']}", json=fields)


def read(service, made):
    return service.viewer.get(f"/api/scheduled-queries/{made['id']}").json()


def table(name: str) -> str:
    return f"SELECT country, n FROM {name} ORDER BY n DESC"


def test_one_query_is_many_series_that_live_and_die_with_their_rows(service, shop, scrape, metric_name):
    shop(f"CREATE TABLE t_{metric_name}(country, n); INSERT INTO t_{metric_name} {ROWS}")
    made = service.create(
        table(f"t_{metric_name}"),
        metrics=[{"metric_name": metric_name, "labels": {}, "label_columns": ["country"]}],
    )
    assert scrape(metric_name) == {}
    ran = service.run(made["id"])["execution"]
    assert scrape(metric_name) == {("de",): 7.0, ("fr",): 5.0}
    assert of_query(service, scrape, "plugbay_query_samples", made["id"]) == 2.0
    assert ran["monitor_metrics_snapshot"] == {
        "metric_name": metric_name,
        "labels": {},
        "value": 7.0,
        "samples": [
            {"labels": {"country": "de"}, "value": 7.0},
            {"labels": {"country": "fr"}, "value": 5.0},
        ],
        "series": 2,
        "more": [],
    }
    shop(f"DELETE FROM t_{metric_name} WHERE country = 'fr'; INSERT INTO t_{metric_name} VALUES ('es', 1)")
    service.run(made["id"])
    assert scrape(metric_name) == {("de",): 7.0, ("es",): 1.0}
    shop(f"DELETE FROM t_{metric_name}")
    assert service.run(made["id"])["execution"]["monitor_metrics_snapshot"] is None
    assert scrape(metric_name) == {}
    assert read(service, made)["metric_problem"] is None


def test_both_names_of_the_metrics_are_read_and_either_is_written(service, metric_name):
    first = {"metric_name": metric_name, "labels": {"a": "1"}}
    second = {"metric_name": metric_name, "labels": {"a": "2"}, "label_columns": ["x"], "type": "gauge"}
    made = service.create(metrics=[first, second])
    assert (made["monitor_metric_config"], made["metrics"]) == (first, [first, second])
    other = {"metric_name": f"{metric_name}_b", "labels": {}}
    edited = patch(service, made, monitor_metric_config=other).json()
    assert (edited["monitor_metric_config"], edited["metrics"]) == (other, [other, second])
    edited = patch(service, made, metrics=[second]).json()
    assert (edited["monitor_metric_config"], edited["metrics"]) == (second, [second])
    unchanged = patch(service, made, **edited)
    assert (unchanged.status_code, unchanged.json()["version"]) == (200, edited["version"])
    for nothing in ({"metrics": []}, {"metrics": None}, {"monitor_metric_config": None}):
        assert patch(service, made, metrics=[first, second]).json()["metrics"] == [first, second]
        assert patch(service, made, **nothing).json()["metrics"] == []


def test_both_names_in_one_request_must_agree(service, metric_name):
    first, second = ({"metric_name": metric_name, "labels": {"a": value}} for value in "12")
    made = service.create(metrics=[first], monitor_metric_config=first)
    for given in (
        {"metrics": [second], "monitor_metric_config": first},
        {"metrics": [], "monitor_metric_config": first},
        {"metrics": [first], "monitor_metric_config": None},
        {"metrics": [first, second], "monitor_metric_config": second},
    ):
        answer = patch(service, made, **given)
        assert answer.status_code == 422
        assert "must be the first of “metrics”" in answer.text
    assert patch(service, made, metrics=[second, first], monitor_metric_config=second).status_code == 200
    fields = {"query": "SELECT 1", "cron_schedule": "@daily", "metrics": [second]}
    answer = service.editor.post(
        "/api/scheduled-queries", json={"name": "x", "monitor_metric_config": first, **fields}
    )
    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ("orders", "is not valid JSON"),
        ({"metric_name": "orders"}, "must be a list such as"),
        ([5], "each metric must be an object"),
        ([{"metric_name": f"m{n}"} for n in range(21)], "at most 20 metrics; these are 21"),
        ([{"metric_name": "twice"}, {"metric_name": "twice"}], "“twice” twice, with the same labels"),
        (
            [
                {"metric_name": "t", "labels": {"a": "1"}},
                {"metric_name": "t", "labels": {"a": "2"}, "type": "counter"},
            ],
            "as a counter, and here it is a gauge",
        ),
    ],
)
def test_bad_metrics_are_refused_at_their_field(service, metrics, words):
    answer = service.editor.post(
        "/api/scheduled-queries",
        json={"name": "x", "query": "SELECT 1", "cron_schedule": "@daily", "metrics": metrics},
    )
    assert answer.status_code == 422
    (problem,) = answer.json()["detail"]
    assert problem["loc"] == ["body", "metrics"]
    assert words in problem["msg"]


def test_two_queries_share_a_name_only_where_a_fixed_label_tells_them_apart(service, metric_name):
    made = service.create(
        metrics=[{"metric_name": metric_name, "labels": {"shop": "a"}, "label_columns": ["x"]}]
    )
    for labels, more, is_good in (
        ({"shop": "b"}, {}, True),
        ({"shop": "a"}, {"label_columns": ["y"]}, False),
        ({"region": "eu"}, {}, False),
        ({}, {"label_columns": ["shop"]}, False),
        ({"shop": "c"}, {"type": "counter"}, False),
        ({"shop": "c"}, {"type": "gauge"}, True),
    ):
        answer = service.editor.post(
            "/api/scheduled-queries",
            json={
                "name": service.unique(),
                "query": "SELECT 1",
                "cron_schedule": "@daily",
                "metrics": [{"metric_name": metric_name, "labels": labels, **more}],
            },
        )
        assert answer.status_code == (201 if is_good else 422), (labels, answer.text)
        assert is_good or f"“{made['name']}” already publishes this metric" in answer.text


def test_a_failure_keeps_the_series_or_drops_them(service, shop, scrape, metric_name):
    shop(f"CREATE TABLE t_{metric_name}(country, n); INSERT INTO t_{metric_name} {ROWS}")
    kept, dropped, plain = f"{metric_name}_kept", f"{metric_name}_dropped", f"{metric_name}_plain"
    columns = {"labels": {}, "label_columns": ["country"]}
    made = service.create(
        table(f"t_{metric_name}"),
        metrics=[
            {"metric_name": kept, **columns},
            {"metric_name": dropped, **columns, "on_failure": "drop"},
            {"metric_name": plain, "labels": {}, "on_failure": "drop"},
        ],
    )
    service.run(made["id"])
    both = {("de",): 7.0, ("fr",): 5.0}
    assert (scrape(kept), scrape(dropped), scrape(plain)) == (both, both, {(): 7.0})
    shop(f"ALTER TABLE t_{metric_name} RENAME TO away_{metric_name}")
    assert service.run(made["id"])["status"] == "failed"
    assert (scrape(kept), scrape(dropped), scrape(plain)) == (both, {}, {})
    assert of_query(service, scrape, "plugbay_query_up", made["id"]) == 0.0
    assert of_query(service, scrape, "plugbay_query_samples", made["id"]) == 2.0
    shop(f"ALTER TABLE away_{metric_name} RENAME TO t_{metric_name}")
    service.run(made["id"])
    assert (scrape(kept), scrape(dropped), scrape(plain)) == (both, both, {(): 7.0})


def test_a_renamed_column_leaves_the_metric_and_is_seen_until_it_is_back(
    service, scrape, metric_name, caplog
):
    metric = {"metric_name": metric_name, "labels": {}, "label_columns": ["country"]}
    made = service.create("SELECT 'de' AS country, 7 AS n", metrics=[metric])
    service.run(made["id"])
    patch(service, made, query="SELECT 'fr' AS land, 5 AS n")
    ran = service.run(made["id"])
    assert (ran["status"], ran["execution"]["monitor_metrics_snapshot"]) == ("success", None)
    assert scrape(metric_name) == {("de",): 7.0}
    problem = f"{metric_name}: the result has no column “country”"
    assert read(service, made)["metric_problem"] == problem
    assert of_query(service, scrape, "plugbay_query_metric_problem", made["id"]) == 1.0
    assert caplog.text.count("metric_not_updated") == 1
    assert problem in service.viewer.get(f"/scheduled_query/query/{made['id']}").text
    patch(service, made, query="SELECT 'fr' AS COUNTRY, 5 AS n")
    service.run(made["id"])
    assert scrape(metric_name) == {("fr",): 5.0}
    assert of_query(service, scrape, "plugbay_query_metric_problem", made["id"]) == 0.0


def test_a_changed_metric_loses_its_series_at_once_and_the_others_stay(service, scrape, metric_name):
    stays = {"metric_name": f"{metric_name}_stays", "labels": {}, "label_columns": ["country"]}
    goes = {"metric_name": f"{metric_name}_goes", "labels": {}, "label_columns": ["country"]}
    made = service.create("SELECT 'de' AS country, 7 AS n", metrics=[stays, goes])
    service.run(made["id"])
    patch(service, made, metrics=[{**goes, "labels": {"shop": "a"}}, {**stays, "help": "Said anew."}])
    assert scrape(f"{metric_name}_goes") == {}
    assert scrape(f"{metric_name}_stays") == {("de",): 7.0}
    assert f"# HELP {metric_name}_stays Said anew.\n" in service.viewer.get("/metrics").text
    patch(service, made, enabled=False)
    assert scrape(f"{metric_name}_stays") == {}
    patch(service, made, enabled=True)
    assert scrape(f"{metric_name}_stays") == {("de",): 7.0}
    service.editor.delete(f"/api/scheduled-queries/{made['id']}")
    assert scrape(f"{metric_name}_stays") == {}


def test_a_counter_says_so_and_a_value_column_is_taken_by_name(service, scrape, metric_name):
    total = {"metric_name": f"{metric_name}_total", "labels": {}, "type": "counter", "value_column": "sum"}
    made = service.create("SELECT 1 AS n, 9 AS sum", metrics=[total])
    service.run(made["id"])
    assert scrape(f"{metric_name}_total") == {(): 9.0}
    assert f"# TYPE {metric_name}_total counter\n" in service.viewer.get("/metrics").text


def test_hostile_labels_reach_an_independent_parser_as_they_are(service, scrape, metric_name):
    sql = """SELECT 'a"b\\c' || char(10) || 'd 🎈' AS x, NULL AS y, 1.5 AS n
             UNION ALL
             SELECT 'e' || char(13) || char(8232) || '}', 'true', '123456789012345678901234567890'"""
    metric = {"metric_name": metric_name, "labels": {}, "label_columns": ["x", "y"], "value_column": "n"}
    made = service.create(sql, metrics=[metric])
    service.run(made["id"])
    assert scrape(metric_name) == {
        ('a"b\\c\nd 🎈', ""): 1.5,
        ("e\r\u2028}", "true"): 1.2345678901234568e29,
    }


def test_a_copy_of_a_query_publishes_nothing(service, metric_name):
    made = service.create(metrics=[{"metric_name": metric_name, "labels": {}}])
    copy = service.parts.editing.duplicate(made["id"], "ada").query
    assert copy.metrics == ()


def test_rows_past_max_series_are_left_out_and_said(service, scrape, metric_name):
    numbers = (
        "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 12) SELECT i, i AS n FROM c"
    )
    metric = {"metric_name": metric_name, "labels": {}, "label_columns": ["i"]}
    made = service.create(numbers, metrics=[metric])
    with service.settings(max_series=10):
        ran = service.run(made["id"])["execution"]
    assert ran["monitor_metrics_snapshot"]["series"] == 10
    assert len(scrape(metric_name)) == 10
    assert read(service, made)["metric_problem"] == f"{metric_name}: 2 rows are left out, max_series is 10"
