"""Data sources on their pages: listed, added, tested, edited, looked into and deleted, by admins alone."""

from collections.abc import Callable
from typing import Any

import pytest
from scheduled_query.api.conftest import Service
from scheduled_query.pages.reading import read

SOURCES = "/scheduled_query/sources"


@pytest.fixture
def source(service: Service) -> dict[str, Any]:
    given = {"name": service.unique("source").replace(" ", "-"), "url": f"sqlite:///{service.shop}"}
    made: dict[str, Any] = service.admin.post("/api/data-sources", json=given).json()
    return made


def followed(service: Service, path: str) -> str:
    """The page that a form leads to, with its messages."""
    page: str = service.admin.post(path, follow_redirects=True).text
    return page


def test_a_source_is_listed_with_its_masked_url_and_its_queries(service: Service, source: dict[str, Any]):
    service.create(data_source=source["name"], cron_schedule="0 * * * *")
    page = read(service.admin.get(SOURCES).text)
    row = page.first("tbody", id=f"s-{source['id']}")
    for words in ("sqlite", "1 query", "starts, ", "reachable", "as the settings say", "answers: SQLite"):
        assert words in row.text, words


def test_a_source_is_added_after_a_test(service: Service):
    fields = {"name": service.unique("made").replace(" ", "-"), "url": f"sqlite:///{service.shop}"}
    answer = service.admin.post(f"{SOURCES}/add", data=fields)
    page = read(service.admin.get(answer.headers["location"]).text)
    assert f"“{fields['name']}” is connected." in page.text
    assert "New query on this source" in page.text
    create = next(link for link in page.all("a") if "New query on this source" in link.text)
    form = read(service.admin.get(create.attributes["href"]).text)
    assert (
        form.first("select", name="data_source").first("option", selected="").text.startswith(fields["name"])
    )


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"name": "", "url": "sqlite:////tmp/x.db"}, "name"),
        ({"name": "fine", "url": ""}, "url"),
        ({"name": "fine", "url": "telnet://x"}, "url"),
        ({"name": "shop", "url": "sqlite:///{shop}"}, "name"),
    ],
)
def test_a_rejected_source_comes_back_filled_in(service: Service, fields: dict[str, str], wrong: str):
    fields = {name: value.replace("{shop}", str(service.shop)) for name, value in fields.items()}
    answer = service.admin.post(f"{SOURCES}/add", data=fields)
    page = read(answer.text)
    assert answer.status_code == 422
    assert page.first("div", id=f"f-{wrong}-error").text
    assert page.first("input", name="name").attributes["value"] == fields["name"]


def test_a_source_is_renamed_and_keeps_its_secret(service: Service, source: dict[str, Any]):
    page = read(service.admin.get(f"{SOURCES}/{source['id']}").text)
    fields = page.first("form", **{"class": "sq-source"}).fields()
    renamed = service.unique("renamed").replace(" ", "-")
    answer = service.admin.post(f"{SOURCES}/{source['id']}", data={**fields, "name": renamed})
    assert answer.status_code == 303
    assert renamed in service.admin.get(SOURCES).text


def test_a_test_says_what_answers(service: Service, source: dict[str, Any]):
    assert "answers: SQLite" in followed(service, f"{SOURCES}/{source['id']}/test")


def test_the_tables_of_a_source_are_shown(service: Service, source: dict[str, Any]):
    page = read(service.admin.get(f"{SOURCES}/{source['id']}/schema", params={"fresh": "1"}).text)
    assert "orders" in page.text
    assert "deleted_at" in page.text


def test_a_source_that_is_gone_says_so_on_its_tables(service: Service):
    moved = service.shop.with_name("moved.db")
    moved.write_bytes(service.shop.read_bytes())
    given = {"name": service.unique("moved").replace(" ", "-"), "url": f"sqlite:///{moved}"}
    made = service.admin.post("/api/data-sources", json=given).json()
    moved.unlink()
    page = read(service.admin.get(f"{SOURCES}/{made['id']}/schema").text)
    assert page.first("div", role="alert").text


def test_a_source_in_use_stays(service: Service, source: dict[str, Any]):
    made = service.create(data_source=source["name"])
    assert made["name"] in followed(service, f"{SOURCES}/{source['id']}/delete")
    assert source["name"] in service.admin.get(SOURCES).text


def test_an_unused_source_is_deleted(service: Service, source: dict[str, Any]):
    assert service.admin.post(f"{SOURCES}/{source['id']}/delete").status_code == 303
    rows = read(service.admin.get(SOURCES).text).all("tbody")
    assert rows
    assert not [row for row in rows if source["name"] in row.text]


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_only_admins_see_sources(service: Service, role: str, source: dict[str, Any]):
    client = getattr(service, role)
    for path in ("", "/add", f"/{source['id']}", f"/{source['id']}/schema"):
        assert client.get(SOURCES + path).status_code == 403
    for path in ("/add", f"/{source['id']}", f"/{source['id']}/test", f"/{source['id']}/delete"):
        assert client.post(SOURCES + path).status_code == 403


@pytest.mark.parametrize("path", ["/999999", "/x", "/999999/schema"])
def test_an_unknown_source_is_not_found(service: Service, path: str):
    assert service.admin.get(SOURCES + path).status_code == 404


def test_an_empty_start_leads_on_step_by_step(make_service: Callable[..., Any]):
    with make_service() as service:
        assert "Create the first query" in service.editor.get("/scheduled_query/").text
        [source] = service.parts.sources.all()
        service.admin.post(f"{SOURCES}/{source.id}/delete")
        for path in ("", "dashboard", "dashboard/live", "results-widgets", "widgets", "create"):
            page = service.admin.get(f"/scheduled_query/{path}").text
            assert "Connect a database" in page, path
            assert "Create the first query" not in page, path
        assert "An admin can add one." in service.editor.get("/scheduled_query/").text
        assert "An editor can create one" in service.viewer.get("/scheduled_query/").text
        for path in ("dashboard", "results-widgets"):
            assert "No queries yet" in service.viewer.get(f"/scheduled_query/{path}").text


def test_a_locked_source_has_no_button_to_change_it(make_service: Callable[..., Any]):
    with make_service() as service:
        url = f"sqlite:///{service.shop}"
        service.host.modules.save_settings("scheduled_query", {"sources": {"fixed": url}})
        page = read(service.admin.get(SOURCES).text)
        row = next(one for one in page.all("tbody") if "fixed" in one.text)
        assert "from the settings" in row.text
        assert not [link for link in row.all("a") if link.attributes.get("title") in ("Edit", "Delete")]


UNREACHABLE = "postgresql://reader:s3cret@127.0.0.1:1/shop"


def test_what_failed_its_test_is_added_only_by_who_wants_it_anyway(service: Service):
    name = service.unique("away").replace(" ", "-")
    fields = {"name": name, "url": UNREACHABLE, "pace_s": "0"}
    refused = service.admin.post(f"{SOURCES}/add", data=fields)
    assert refused.status_code == 422
    page = read(refused.text)
    assert "it cannot be reached now" in page.first("div", id="f-url-error").text
    assert service.parts.sources.by_name(name) is None
    button = page.first("button", name="anyway")
    assert button.text.strip() == "Add anyway"
    assert service.admin.post(f"{SOURCES}/add", data={**fields, "anyway": "1"}).status_code == 303
    stored = service.parts.sources.by_name(name)
    assert stored
    row = read(service.admin.get(SOURCES).text).first("tbody", id=f"s-{stored.id}").text
    assert "not reached" in row
    assert "s3cret" not in row


def test_the_form_of_a_new_source_proposes_no_pace(service: Service):
    form = read(service.admin.get(f"{SOURCES}/add").text).first("form", **{"class": "sq-source"})
    assert (form.fields()["pace_s"], form.fields()["max_parallel"]) == ("0", "")


def test_a_pace_is_set_and_taken_back_on_the_form(service: Service, source: dict[str, Any]):
    path = f"{SOURCES}/{source['id']}"
    fields = read(service.admin.get(path).text).first("form", **{"class": "sq-source"}).fields()
    assert fields["pace_s"] == ""
    service.admin.post(path, data={**fields, "pace_s": " 45 ", "max_parallel": "3"})
    stored = service.parts.sources.get(source["id"])
    assert stored
    assert (stored.pace_s, stored.max_parallel) == (45, 3)
    assert "45 s apart" in read(service.admin.get(SOURCES).text).first("tbody", id=f"s-{source['id']}").text
    service.admin.post(path, data={**fields, "pace_s": "", "max_parallel": ""})
    stored = service.parts.sources.get(source["id"])
    assert stored
    assert (stored.pace_s, stored.max_parallel) == (None, None)


@pytest.mark.parametrize(
    ("field", "value"), [("pace_s", "soon"), ("pace_s", "-1"), ("pace_s", "86401"), ("max_parallel", "0")]
)
def test_a_pace_that_is_none_is_told_at_its_field(
    service: Service, source: dict[str, Any], field: str, value: str
):
    path = f"{SOURCES}/{source['id']}"
    fields = read(service.admin.get(path).text).first("form", **{"class": "sq-source"}).fields()
    answer = service.admin.post(path, data={**fields, field: value})
    assert answer.status_code == 422
    page = read(answer.text)
    assert "a whole number" in page.first("div", id=f"f-{field}-error").text
    assert page.first("input", name=field).attributes["value"] == value


def test_deleting_shows_first_what_uses_the_source(service: Service, source: dict[str, Any]):
    path = f"{SOURCES}/{source['id']}/delete"
    assert "No query uses it" in service.admin.get(path).text
    made = service.create(data_source=source["name"])
    page = read(service.admin.get(path).text)
    assert made["name"] in page.text
    assert "1 query asks this data source" in page.text
    assert not [button for button in page.all("button") if button.text.strip() == "Delete"]
    part = service.admin.get(path, headers={"HX-Request": "true"}).text
    assert "<html" not in part
    assert made["name"] in part


def test_a_test_stays_on_the_page_with_the_statements_for_a_better_account(
    service: Service, postgres_url: str
):
    given = {"name": service.unique("pg").replace(" ", "-")}
    given["url"] = postgres_url.replace("postgresql+psycopg", "postgresql")
    made = service.admin.post("/api/data-sources", json=given).json()
    for _ in range(2):
        row = read(service.admin.get(SOURCES).text).first("tbody", id=f"s-{made['id']}")
        assert "GRANT SELECT" in row.first("pre").text
        assert "reachable" in row.text
    service.clock.advance(60)
    assert service.admin.post(f"{SOURCES}/{made['id']}/test").status_code == 303
    view = service.parts.catalogue.view(made["id"])
    assert view
    assert view.tested
    assert view.tested.at == service.clock.now()
