"""Creating and editing through forms: errors at their field, nothing lost, conflicts told."""

import pytest
from scheduled_query.api.conftest import YEARLY, Service
from scheduled_query.pages.reading import Element, read

HTMX = {"HX-Request": "true"}


def form(page: Element) -> Element:
    return page.first("form", **{"class": "sq-editor"})


def opened(service: Service, query_id: int) -> dict[str, str]:
    return form(read(service.editor.get(f"/scheduled_query/edit/{query_id}").text)).fields()


def given(service: Service, **fields: str) -> dict[str, str]:
    return {
        "name": service.unique(),
        "query": "SELECT 1 AS one",
        "cron_schedule": YEARLY,
        "data_source": "shop",
        "enabled": "on",
        **fields,
    }


def test_a_query_is_made_by_its_form(service: Service):
    fields = given(
        service,
        timezone="Europe/Berlin",
        timeout="12",
        render_type="counter",
        metric_name="shop_one",
        metric_labels="region=eu\nshop=a=b",
        tags="a, b",
        description="One.",
    )
    answer = service.editor.post("/scheduled_query/create", data=fields)
    assert answer.status_code == 303
    made = service.viewer.get(
        "/api/scheduled-queries/" + answer.headers["location"].rpartition("/")[2]
    ).json()
    assert made["name"] == fields["name"]
    assert made["timezone"] == "Europe/Berlin"
    assert made["timeout"] == 12
    assert made["render_type"] == "counter"
    assert made["enabled"] is True
    assert made["tags"] == ["a", "b"]
    assert made["created_by"] == "editor"
    assert made["monitor_metric_config"] == {
        "metric_name": "shop_one",
        "labels": {"region": "eu", "shop": "a=b"},
    }


def test_a_box_that_is_not_ticked_is_off(service: Service):
    fields = given(service)
    del fields["enabled"]
    answer = service.editor.post("/scheduled_query/create", data=fields)
    made = service.viewer.get(
        "/api/scheduled-queries/" + answer.headers["location"].rpartition("/")[2]
    ).json()
    assert made["enabled"] is False


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("name", "", "needed"),
        ("cron_schedule", "* * * *", "five"),
        ("query", "DROP TABLE orders", "drop"),
        ("timeout", "soon", ""),
        ("timezone", "Europe/Berlim", "Europe/Berlin"),
        ("data_source", "nowhere", "shop"),
    ],
)
def test_a_rejected_form_comes_back_filled_in(service: Service, field: str, value: str, words: str):
    fields = given(service, description="typed with care", metric_name="kept_metric") | {field: value}
    answer = service.editor.post("/scheduled_query/create", data=fields)
    page = read(answer.text)
    assert answer.status_code == 422
    assert "Not saved." in page.text
    kept = form(page).fields()
    for name, text in fields.items():
        if name != "data_source":  # a choice that is not offered cannot be shown
            assert kept[name] == text
    if field != "query":
        assert words.lower() in page.first("div", id=f"f-{field}-error").text.lower()
        control = next(one for tag in ("input", "select") for one in page.all(tag, id=f"f-{field}"))
        assert control.attributes["aria-invalid"] == "true"
        assert f"f-{field}-error" in control.attributes["aria-describedby"]


def test_a_metric_that_prometheus_does_not_know_is_refused_at_its_fields(service: Service):
    answer = service.editor.post("/scheduled_query/create", data=given(service, metric_name="1st"))
    assert answer.status_code == 422
    assert read(answer.text).first("p", id="monitor_metric_config-error").text


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [("timezone", "Mars/Base", "no time zone is called"), ("metric_name", "up", "is reserved")],
)
def test_what_is_wrong_is_said_once(service: Service, field: str, value: str, words: str):
    answer = service.editor.post("/scheduled_query/create", data=given(service, **{field: value}))
    assert answer.status_code == 422
    assert answer.text.count(words) == 1


def test_saving_an_opened_form_unchanged_changes_nothing(service: Service):
    made = service.create(
        "SELECT 1,\n  2",
        tags=["x", "y"],
        timeout=7,
        monitor_metric_config={"metric_name": "unchanged", "labels": {"a": "b"}},
    )
    answer = service.editor.post(f"/scheduled_query/edit/{made['id']}", data=opened(service, made["id"]))
    assert answer.status_code == 303
    again = service.viewer.get(f"/api/scheduled-queries/{made['id']}").json()
    assert again["version"] == made["version"]


def test_an_edit_is_saved_and_named(service: Service):
    made = service.create()
    fields = opened(service, made["id"]) | {"name": "Renamed", "enabled": ""}
    answer = service.editor.post(f"/scheduled_query/edit/{made['id']}", data=fields)
    assert answer.headers["location"] == f"/scheduled_query/query/{made['id']}"
    again = service.viewer.get(f"/api/scheduled-queries/{made['id']}").json()
    assert (again["name"], again["enabled"], again["updated_by"]) == ("Renamed", False, "editor")


def test_a_conflict_keeps_what_was_typed_and_says_who_saved(service: Service):
    made = service.create()
    mine = opened(service, made["id"]) | {"name": "Mine"}
    service.admin.patch(f"/api/scheduled-queries/{made['id']}", json={"name": "Theirs", "timeout": 5})
    answer = service.editor.post(f"/scheduled_query/edit/{made['id']}", data=mine)
    page = read(answer.text)
    conflict = page.first("div", id="conflict")
    assert answer.status_code == 409
    assert "admin saved this query meanwhile" in conflict.text
    assert "name, timeout" in conflict.text
    assert "Theirs" in conflict.text
    assert form(page).fields()["name"] == "Mine"
    assert service.viewer.get(f"/api/scheduled-queries/{made['id']}").json()["name"] == "Theirs"


def test_a_conflict_can_be_overwritten_knowingly(service: Service):
    made = service.create()
    mine = opened(service, made["id"]) | {"name": "Mine"}
    service.admin.patch(f"/api/scheduled-queries/{made['id']}", json={"name": "Theirs"})
    page = read(service.editor.post(f"/scheduled_query/edit/{made['id']}", data=mine).text)
    button = page.first("button", name="version")
    fields = form(page).fields() | {"version": button.attributes["value"]}
    assert service.editor.post(f"/scheduled_query/edit/{made['id']}", data=fields).status_code == 303
    assert service.viewer.get(f"/api/scheduled-queries/{made['id']}").json()["name"] == "Mine"


def test_try_it_shows_the_result_and_stores_nothing(service: Service):
    before = service.viewer.get("/api/scheduled-queries").json()["pagination"]["total_count"]
    fields = given(service, query="SELECT sum(total) AS total FROM orders", metric_name="shop_total")
    answer = service.editor.post("/scheduled_query/try", data=fields, headers=HTMX)
    page = read(answer.text)
    assert "1 row in" in page.text
    assert "8.25" in page.first("div", **{"class": "sq-form-counter"}).text
    assert "shop_total 8.25" in page.text
    assert page.first("div", **{"class": "sq-forms"}).attributes["data-auto"] == "counter"
    assert service.viewer.get("/api/scheduled-queries").json()["pagination"]["total_count"] == before


def test_try_it_without_javascript_brings_the_whole_form_back(service: Service):
    made = service.create()
    fields = opened(service, made["id"]) | {"query": "SELECT region FROM orders", "name": "Not saved yet"}
    page = read(service.editor.post("/scheduled_query/try", data=fields).text)
    assert "3 rows in" in page.text
    assert form(page).fields()["name"] == "Not saved yet"
    assert form(page).attributes["action"] == f"/scheduled_query/edit/{made['id']}"


@pytest.mark.parametrize(
    ("query", "words"),
    [("DELETE FROM orders", "“DELETE”"), ("SELECT * FROM nowhere", "no such table: nowhere")],
)
def test_try_it_says_what_is_wrong(service: Service, query: str, words: str):
    answer = service.editor.post("/scheduled_query/try", data=given(service, query=query), headers=HTMX)
    assert answer.status_code == 200
    assert words in read(answer.text).first("div", role="alert").text


def test_the_next_runs_are_told_in_the_zone_of_the_query(service: Service):
    params = {"cron_schedule": "30 2 * * *", "timezone": "Europe/Berlin"}
    page = read(service.editor.get("/scheduled_query/next-runs", params=params).text)
    assert "daily at 02:30" in page.text
    assert len(page.first("tbody").all("tr")) == 5
    assert "02:30" in page.first("td").text
    assert "T01:30:00Z" in page.first("time").attributes["datetime"]


@pytest.mark.parametrize(
    "params", [{"cron_schedule": "nope"}, {"cron_schedule": YEARLY, "timezone": "Mars"}, {}]
)
def test_a_schedule_that_cannot_be_read_is_explained(service: Service, params: dict[str, str]):
    page = read(service.editor.get("/scheduled_query/next-runs", params=params).text)
    assert page.first("p", **{"class": "text-danger mb-0"}).text


def test_the_line_of_the_metric_is_shown_before_it_is_saved(service: Service):
    fields = {"metric_name": "shop_x", "metric_labels": "region=eu", "query": "SELECT 1"}
    page = read(service.editor.post("/scheduled_query/metric-line", data=fields).text)
    assert "# HELP shop_x metric for query SELECT 1" in page.text
    assert "Try it to see the samples here." in page.text
    assert "42" not in page.text


def test_the_tables_of_a_source_help_the_editor(service: Service):
    source = service.viewer.get("/api/data-sources").json()
    source_id = (source["data"] if isinstance(source, dict) else source)[0]["id"]
    answer = service.editor.get(f"/scheduled_query/schema/{source_id}")
    columns = {"region": "TEXT", "total": "REAL", "deleted_at": "TEXT"}
    assert answer.json()["tables"] == {"orders": columns}
    assert {"count", "strftime"} <= set(answer.json()["functions"])
    assert not {"load_extension", "readfile"} & set(answer.json()["functions"])
    assert service.editor.get("/scheduled_query/schema/999999").status_code == 404
    assert service.viewer.get(f"/scheduled_query/schema/{source_id}").status_code == 403


@pytest.mark.parametrize("path", ["create", "edit/1", "next-runs"])
def test_viewers_have_no_editor(service: Service, path: str):
    assert service.viewer.get(f"/scheduled_query/{path}").status_code == 403


def test_the_latest_result_is_the_preview(service: Service):
    made = service.create("SELECT region FROM orders", render_type="table")
    service.run(made["id"])
    page = read(service.editor.get(f"/scheduled_query/edit/{made['id']}").text)
    assert "The latest result" in page.text
    assert "eu" in page.first("div", **{"class": "sq-form-table"}).text
