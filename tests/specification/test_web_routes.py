"""Web interface routes: path, menu label, login and purpose of each."""

import pytest
from scheduled_query.pages.reading import Element, read
from service_world import until

PATHS = ["/scheduled_query/", "/scheduled_query/dashboard", "/scheduled_query/results-widgets"]
each_page_in_the_menu = pytest.mark.parametrize(
    ("path", "label"),
    [*zip(PATHS, ["Scheduled Queries", "Dashboard", "Results Widgets"], strict=True)],
    ids=["list", "dashboard", "results_widgets"],
)
EDIT = "/scheduled_query/edit/{}"


@pytest.fixture(scope="module")
def query(service) -> dict:
    """A query with thirty executions on three days, one of which failed and one of which took too long."""
    made = service.create("SELECT 4815162 AS answer", name="Numbers", render_type="counter")
    for status in ("failed", "timeout", *["success"] * 27):
        service.record(made["id"], status, duration_ms=1_500)
        service.clock.advance(86_400 / 10)
    service.run(made["id"])
    return made


def page_of(service, path: str) -> Element:
    answer = service.editor.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return read(answer.text)


def executions(page: Element) -> list[str]:
    """The rows of the history viewer."""
    (table,) = [table for table in page.all("table") if "Executed" in table.text]
    return [row.text for row in table.first("tbody").all("tr")]


@pytest.mark.parametrize("path", [*PATHS, EDIT], ids=["list", "dashboard", "results_widgets", "edit"])
def test_route_requires_authentication(service, query, path):
    path = path.format(query["id"])
    answer = service.client().get(path)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/login?next={path}")


@each_page_in_the_menu
def test_route_is_in_the_menu_under_its_label(service, query, path, label):
    menu = page_of(service, path).first("nav", id="menu")
    (entry,) = [link for link in menu.all("a") if link.text == label]
    assert entry.attributes["href"] == path
    assert "aria-current" in entry.attributes


def test_edit_has_no_menu_label(service, query):
    menu = page_of(service, EDIT.format(query["id"])).first("nav", id="menu")
    assert not [link for link in menu.all("a") if "/edit/" in link.attributes.get("href", "")]


# what each is for


def test_list_lists_queries_and_has_a_run_now_button_for_each(service, query):
    other = service.create(name="Another")
    page = page_of(service, PATHS[0])
    for made in (query, other):
        row = page.first("tr", id=f"q-{made['id']}")
        assert made["name"] in row.text
        assert "Run Now" in [button.text for button in row.all("button")]


def test_list_manages_queries(service, query):
    page = page_of(service, PATHS[0])
    row = page.first("tr", id=f"q-{query['id']}")
    assert row.first("a", href=EDIT.format(query["id"]))
    assert row.first("a", href=f"/scheduled_query/delete/{query['id']}")
    assert row.first("form", action=f"/scheduled_query/toggle/{query['id']}")
    assert page.first("a", href="/scheduled_query/create")


def test_list_button_runs_the_query_now(service):
    made = service.create()
    row = page_of(service, PATHS[0]).first("tr", id=f"q-{made['id']}")
    (form,) = [form for form in row.all("form") if form.text == "Run Now"]
    answer = service.editor.post(form.attributes["action"])
    assert (answer.status_code, answer.headers["location"]) == (303, PATHS[0])
    until(lambda: "success" in page_of(service, PATHS[0]).first("tr", id=f"q-{made['id']}").text)


def test_dashboard_shows_the_latest_results(service, query):
    latest = page_of(service, PATHS[1]).first("section", id="latest")
    assert "Numbers" in latest.text
    assert "4,815,162" in latest.text


@pytest.mark.parametrize("status", ["success", "failed", "timeout"])
def test_dashboard_history_is_filtered_by_status(service, query, status):
    rows = executions(page_of(service, f"{PATHS[1]}?query=Numbers&status={status}"))
    assert rows
    assert all(status in row for row in rows)


def test_dashboard_history_is_filtered_by_date_range(service, query):
    rows = executions(page_of(service, f"{PATHS[1]}?query=Numbers&date_from=2026-11-16&date_to=2026-11-16"))
    assert len(rows) == 10


def test_dashboard_history_has_a_form_for_these_filters(service, query):
    fields = page_of(service, PATHS[1]).first("section", id="history").first("form").fields()
    assert {"status", "date_from", "date_to"} <= fields.keys()


def test_dashboard_history_has_pages(service, query):
    pages = [executions(page_of(service, f"{PATHS[1]}?query=Numbers&page={number}")) for number in (1, 2)]
    assert [len(rows) for rows in pages] == [25, 5]
    assert page_of(service, f"{PATHS[1]}?query=Numbers").first("nav", **{"aria-label": "Pages"})


def test_dashboard_history_shows_durations_and_error_messages(service, query):
    (row,) = executions(page_of(service, f"{PATHS[1]}?query=Numbers&status=failed"))
    assert "1.5 s" in row
    assert "it broke" in row


def test_results_widgets_shows_queries_by_their_render_type(service, query):
    card = page_of(service, PATHS[2]).first("article", id=f"card-{query['id']}")
    assert card.first("div", **{"class": "sq-counter"}).first("strong").text == "4,815,162"


@pytest.mark.parametrize(
    ("field", "value", "changed"),
    [
        ("name", "Numbers", "Other numbers"),
        ("query", "SELECT 4815162 AS answer", "SELECT 2342 AS answer"),
        ("cron_schedule", "0 0 1 1 *", "0 0 2 1 *"),
        ("enabled", "on", ""),
        ("render_type", "counter", "raw"),
    ],
    ids=["name", "query", "cron_schedule", "enabled", "render_type"],
)
def test_edit_form_has_the_field_and_saves_it(service, field, value, changed):
    made = service.create("SELECT 4815162 AS answer", name="Numbers", render_type="counter")
    page = page_of(service, EDIT.format(made["id"]))
    (typed,) = [form.fields() for form in page.all("form") if "cron_schedule" in form.fields()]
    assert typed[field] in (value, "true")
    sent = {name: text for name, text in {**typed, field: changed}.items() if text or name != "enabled"}
    assert service.editor.post(EDIT.format(made["id"]), data=sent).status_code == 303
    saved = service.viewer.get(f"/api/scheduled-queries/{made['id']}").json()[field]
    assert saved == (False if field == "enabled" else changed)
