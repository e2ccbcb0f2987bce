"""Definitions over HTTP: list, create, read, edit, delete."""

import json
import logging
import threading

import pytest

YEARLY = "0 0 1 1 *"
ADDED = {
    *("metrics", "metric_problem"),
    "last_status",
    "last_error",
    "last_duration_ms",
    *("running", "waiting_for"),
    "next_run_at",
    "data_source",
    "timezone",
    "timeout",
    "description",
    "tags",
    "chart",
    "version",
    "created_by",
    "updated_by",
    "updated_at",
}
SPECIFIED = {
    "id",
    "name",
    "query",
    "cron_schedule",
    "last_executed",
    "monitor_metric_config",
    "enabled",
    "last_result",
    "last_result_key",
    "render_type",
}


@pytest.fixture(scope="module")
def service(service_on_both):
    return service_on_both


def get(service, query_id):
    return service.viewer.get(f"/api/scheduled-queries/{query_id}").json()


def patch(service, query_id, **fields):
    return service.editor.patch(f"/api/scheduled-queries/{query_id}", json=fields)


# create


def test_create_answers_201_with_the_object(service):
    answer = service.editor.post(
        "/api/scheduled-queries",
        json={"name": "  Plain  ", "query": "SELECT 1", "cron_schedule": "*/5  * * * *"},
    )
    assert answer.status_code == 201
    made = answer.json()
    assert made.keys() == SPECIFIED | ADDED | {"warnings"}
    assert (made["name"], made["cron_schedule"], made["version"]) == ("Plain", "*/5 * * * *", 1)
    assert (made["enabled"], made["render_type"], made["monitor_metric_config"]) == (True, "auto", None)
    assert (made["data_source"], made["timezone"], made["timeout"]) == ("shop", None, None)
    assert (made["created_by"], made["updated_by"]) == ("editor", "editor")


def test_create_takes_every_optional_field(service):
    given = {
        "name": service.unique(),
        "query": "SELECT COUNT(*) FROM orders",
        "cron_schedule": "@daily",
        "enabled": False,
        "render_type": "counter",
        "monitor_metric_config": {"metric_name": "every_field", "labels": {"a": "b"}},
        "data_source": "shop",
        "timezone": "Europe/Berlin",
        "timeout": 5,
        "description": "All of them.",
        "tags": ["one", "two"],
        "chart": {"kind": "line", "x": "day", "y": ["orders", "returns"]},
    }
    made = service.editor.post("/api/scheduled-queries", json=given).json()
    assert {name: made[name] for name in given} == given
    assert made["next_run_at"] is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "x" * 201),
        ("name", None),
        ("query", " "),
        ("query", "DELETE FROM orders"),
        ("query", "SELECT 'drop'"),
        ("query", "SELECT 1; SELECT 2"),
        ("query", "INSERT INTO orders VALUES (1)"),
        ("query", "x" * 100_001),
        ("cron_schedule", "* * * * * *"),
        ("cron_schedule", "0 0 30 2 *"),
        ("cron_schedule", "sometimes"),
        ("enabled", "yes"),
        ("render_type", "pie"),
        ("chart", {"kind": "pie", "x": "a", "y": ["b"]}),
        ("chart", {"kind": "bar", "x": "a"}),
        ("chart", ["bar"]),
        ("monitor_metric_config", {"metric_name": "plugbay_x", "labels": {}}),
        ("monitor_metric_config", {"metric_name": "x", "labels": {"le": "1"}}),
        ("data_source", "nowhere"),
        ("timezone", "Mars/Olympus"),
        ("timeout", 0),
        ("timeout", 301),
        ("timeout", 1.5),
        ("description", "x" * 2001),
        ("tags", "x" * 51),
        ("tags", [1]),
    ],
)
def test_a_bad_field_is_422_with_a_sentence_at_the_field(service, field, value):
    given = {"name": "Bad", "query": "SELECT 1", "cron_schedule": YEARLY, field: value}
    answer = service.editor.post("/api/scheduled-queries", json=given)
    assert answer.status_code == 422
    [problem] = answer.json()["detail"]
    assert problem["loc"] == ["body", field]
    assert problem["msg"]
    assert problem["input"] == value
    assert problem["type"] == "value_error"


def test_all_bad_fields_are_told_at_once(service):
    answer = service.editor.post("/api/scheduled-queries", json={})
    assert [problem["loc"] for problem in answer.json()["detail"]] == [
        ["body", "name"],
        ["body", "query"],
        ["body", "cron_schedule"],
    ]


def test_identifiers_that_hold_a_forbidden_word_are_fine(service):
    assert service.create("SELECT deleted_at FROM orders")["id"]


def test_a_rejection_at_save_is_one_log_line_with_name_rule_and_keyword(service, caplog):
    given = {"name": "Sneaky", "query": "SELECT 1 -- Drop it", "cron_schedule": YEARLY}
    with caplog.at_level(logging.WARNING):
        assert service.editor.post("/api/scheduled-queries", json=given).status_code == 422
    [line] = [record.getMessage() for record in caplog.records if "rejected" in record.getMessage()]
    assert line.startswith("rejected query=Sneaky rule=keyword keyword=Drop ")


def test_the_same_series_twice_is_refused_and_names_the_first(service):
    gauge = {"metric_name": "only_once", "labels": {"a": "b"}}
    first = service.create(monitor_metric_config=gauge)
    given = {"name": "Second", "query": "SELECT 1", "cron_schedule": YEARLY, "monitor_metric_config": gauge}
    [problem] = service.editor.post("/api/scheduled-queries", json=given).json()["detail"]
    assert problem["loc"] == ["body", "monitor_metric_config"]
    assert first["name"] in problem["msg"]


def test_of_many_who_want_one_series_at_the_same_time_one_gets_it(service):
    gauge = {"metric_name": "contested", "labels": {}}
    given = {"name": "Contest", "query": "SELECT 1", "cron_schedule": YEARLY, "monitor_metric_config": gauge}
    codes: list[int] = []

    def want():
        codes.append(service.editor.post("/api/scheduled-queries", json=given).status_code)

    threads = [threading.Thread(target=want) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == [201, 422, 422, 422, 422, 422]


def test_a_source_that_cannot_keep_up_is_told_at_save(service):
    for _ in range(3):
        made = service.create(cron_schedule="* * * * *")
    assert "cannot keep up" in made["warnings"][0]
    for query in service.viewer.get("/api/scheduled-queries?limit=200").json()["data"]:
        if query["cron_schedule"] == "* * * * *":
            patch(service, query["id"], enabled=False)


@pytest.mark.parametrize("body", ["[]", '"text"', "5", "null", "{", "", "{'a': 1}", "NaN"])
def test_a_body_that_is_no_object_is_422(service, body):
    headers = {"content-type": "application/json"}
    assert service.editor.post("/api/scheduled-queries", content=body, headers=headers).status_code == 422


# read


def test_the_object_has_the_specified_and_the_added_fields(service):
    made = service.create()
    assert get(service, made["id"]).keys() == SPECIFIED | ADDED


def test_the_latest_result_is_part_of_the_details_and_survives_a_failure(service):
    made = service.create("SELECT region, total FROM orders ORDER BY total")
    assert get(service, made["id"])["last_result"] is None
    service.run(made["id"])
    service.record(made["id"], "failed")
    found = get(service, made["id"])
    assert json.loads(found["last_result"]) == [["eu", 1.5], ["eu", 2.5], ["us", 4.25]]
    assert found["last_result_key"] == ["region", "total"]
    assert (found["last_status"], found["last_error"]) == ("failed", "it broke")


def test_a_long_result_arrives_whole(service):
    rows = [[number, 'a "quoted" \\ text with a \t and ünïcode 🚢'] for number in range(20_000)]
    made = service.create()
    text = json.dumps(rows, ensure_ascii=False)
    service.record(made["id"], columns=("n", "t"), result_json=text, row_count=len(rows))
    assert len(text) > 900_000
    found = get(service, made["id"])
    assert found["last_result"] == text
    assert found["last_result_key"] == ["n", "t"]


# list


def test_the_list_has_pages_and_no_results(service):
    tag = service.unique("tag").replace(" ", "")
    for _ in range(5):
        service.create(tags=[tag])
    answer = service.viewer.get(
        "/api/scheduled-queries", params={"search": tag, "limit": 2, "page": 2}
    ).json()
    assert answer.keys() == {"data", "pagination"}
    assert answer["pagination"] == {
        "page": 2,
        "limit": 2,
        "total_count": 5,
        "total_pages": 3,
        "has_next": True,
        "has_prev": True,
    }
    assert len(answer["data"]) == 2
    assert answer["data"][0].keys() == (SPECIFIED | ADDED) - {"last_result", "last_result_key"}


def test_the_search_looks_for_all_words_in_name_description_tags_source_and_sql(service):
    made = service.create("SELECT 4711", name="Ährenfeld", description="golden corn", tags=["harvest"])
    for words in ("ähren", "CORN harvest", "4711 shop"):
        found = service.viewer.get("/api/scheduled-queries", params={"search": words}).json()["data"]
        assert [query["id"] for query in found] == [made["id"]], words
    for words in ("corn winter", "100%", "_", "a\0b", "';--"):
        found = service.viewer.get("/api/scheduled-queries", params={"search": words}).json()["data"]
        assert made["id"] not in [query["id"] for query in found], words


def test_a_page_past_the_end_is_empty(service):
    answer = service.viewer.get("/api/scheduled-queries", params={"page": 2**63 - 1, "limit": 200})
    assert answer.status_code == 200
    assert answer.json()["data"] == []


@pytest.mark.parametrize("params", [{"page": "0"}, {"limit": "201"}, {"limit": "1.0"}, {"search": "x" * 201}])
def test_a_bad_list_parameter_is_422(service, params):
    answer = service.viewer.get("/api/scheduled-queries", params=params)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", *params]


# edit


def test_patch_changes_what_is_sent_and_nothing_else(service):
    made = service.create(tags=["keep"])
    service.clock.advance(1)
    changed = patch(service, made["id"], name="Renamed").json()
    assert (changed["name"], changed["version"], changed["tags"]) == ("Renamed", 2, ["keep"])
    assert changed["updated_at"] > made["updated_at"]


def test_patch_ignores_unknown_and_read_only_fields(service):
    made = service.create()
    answer = patch(service, made["id"], id=77, last_result="x", running=True, created_by="eve", colour="red")
    assert answer.status_code == 200
    assert get(service, made["id"]) == {name: made[name] for name in made if name != "warnings"}


@pytest.mark.parametrize("field", ["timeout", "timezone", "monitor_metric_config"])
def test_null_resets(service, field):
    gauge = {"metric_name": f"reset_{field}", "labels": {}}
    made = service.create(timeout=7, timezone="Asia/Tokyo", monitor_metric_config=gauge)
    assert patch(service, made["id"], **{field: None}).json()[field] is None


@pytest.mark.parametrize("field", ["name", "query", "cron_schedule", "enabled", "render_type", "data_source"])
def test_null_is_no_value_for_what_every_query_has(service, field):
    answer = patch(service, service.create()["id"], **{field: None})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", field]


def test_what_you_read_you_can_send_back(service):
    gauge = {"metric_name": "sent_back", "labels": {"a": "b"}}
    made = service.create(timeout=200, tags=["a"], timezone="Asia/Tokyo", monitor_metric_config=gauge)
    service.run(made["id"])
    read = get(service, made["id"])
    with service.settings(query_timeout_max=100):  # lowered since: still no edit
        answer = service.editor.patch(f"/api/scheduled-queries/{made['id']}", json=read)
    assert answer.status_code == 200
    assert answer.json() == {**read, "warnings": []}


def test_sql_that_became_forbidden_is_not_saved_again(service):
    made = service.create("SELECT 'secret'")
    with service.settings(forbidden_keywords="secret"):
        assert patch(service, made["id"], query=made["query"]).status_code == 422
        assert patch(service, made["id"], name="Other").status_code == 200


def test_another_version_is_409_and_changes_nothing(service):
    made = service.create()
    patch(service, made["id"], name="By somebody else", version=1)
    answer = patch(service, made["id"], name="Too late", version=1)
    assert answer.status_code == 409
    assert answer.json()["detail"].startswith("editor saved this query meanwhile (it is now version 2)")
    assert get(service, made["id"])["name"] == "By somebody else"


def test_without_a_version_an_edit_applies(service):
    made = service.create()
    patch(service, made["id"], name="One")
    assert patch(service, made["id"], name="Two").json()["version"] == 3


@pytest.mark.parametrize("version", ["1", 1.0, True, [1], {}])
def test_a_version_that_is_no_whole_number_is_422(service, version):
    answer = patch(service, service.create()["id"], version=version)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "version"]


def test_an_edit_of_one_field_never_undoes_that_of_another(service):
    made = service.create()
    fields = [
        {"name": "N"},
        {"description": "D"},
        {"tags": ["t"]},
        {"timeout": 9},
        {"timezone": "Asia/Tokyo"},
    ]
    threads = [threading.Thread(target=patch, args=(service, made["id"]), kwargs=one) for one in fields]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = get(service, made["id"])
    assert {name: found[name] for one in fields for name in one} == {
        k: v for one in fields for k, v in one.items()
    }
    assert found["version"] == 6


def test_edits_that_change_nothing_do_not_count(service):
    made = service.create()
    assert patch(service, made["id"], name=made["name"]).json()["version"] == 1


def test_disabling_takes_the_next_run_away_and_enabling_brings_it_back(service):
    made = service.create()
    assert made["next_run_at"] == f"{service.clock.now().year + 1}-01-01 00:00:00"
    assert patch(service, made["id"], enabled=False).json()["next_run_at"] is None
    assert patch(service, made["id"], enabled=True).json()["next_run_at"] == made["next_run_at"]


# delete


def test_delete_is_204_and_the_query_is_gone_at_once(service):
    made = service.create(monitor_metric_config={"metric_name": "gone_soon", "labels": {}})
    service.run(made["id"])
    assert "gone_soon" in service.viewer.get("/metrics").text
    answer = service.editor.delete(f"/api/scheduled-queries/{made['id']}")
    assert (answer.status_code, answer.content) == (204, b"")
    paths = ["scheduled-queries/{}", "execution-history/{}", "results/{}.csv", "results/{}.json"]
    for path in paths:
        assert service.viewer.get("/api/" + path.format(made["id"])).status_code == 404
    assert service.editor.post(f"/api/run-now/{made['id']}").status_code == 404
    assert service.editor.delete(f"/api/scheduled-queries/{made['id']}").status_code == 404
    assert "gone_soon" not in service.viewer.get("/metrics").text


@pytest.mark.parametrize("query_id", [999_999, 2**31, 2**63 - 1])
def test_edit_and_delete_of_an_unknown_query_are_404(service, query_id):
    assert service.editor.patch(f"/api/scheduled-queries/{query_id}", json={}).status_code == 404
    assert service.editor.delete(f"/api/scheduled-queries/{query_id}").status_code == 404


def test_saving_and_deleting_are_told_to_who_listens(service):
    told = []
    for name in ("saved", "deleted", "rejected"):
        service.host.events.on(f"scheduled_query.{name}", told.append, owner="test")
    made = service.create()
    patch(service, made["id"], name="Told", query="SELECT 2")
    patch(service, made["id"], query="SELECT 'drop'")
    service.editor.delete(f"/api/scheduled-queries/{made['id']}")
    service.host.events.remove_owner("test")
    assert [event.name.removeprefix("scheduled_query.") for event in told] == [
        "saved",
        "saved",
        "rejected",
        "deleted",
    ]
    assert told[1].data["changed"] == ("name", "query")
    assert (told[2].data["rule"], told[2].data["at"]) == ("keyword", "save")
    assert told[3].data == {"query_id": made["id"], "name": "Told", "by": "editor"}


def test_a_chart_is_kept_edited_and_taken_away(service):
    bars = {"kind": "bar", "x": "region", "y": ["total"]}
    made = service.create(chart=bars)
    assert get(service, made["id"])["chart"] == bars
    assert patch(service, made["id"], name="Renamed").json()["chart"] == bars
    lines = bars | {"kind": "line"}
    assert patch(service, made["id"], chart=lines).json()["chart"] == lines
    assert patch(service, made["id"], chart=None).json()["chart"] is None
    assert patch(service, made["id"], chart=None).json()["version"] == 4
