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
    card = next(one for one in page.all("article") if source["name"] in one.text)
    assert "sqlite" in card.text
    assert "1 query" in card.text
    assert "starts are due" in card.text


def test_a_source_is_added_after_a_test(service: Service):
    fields = {"name": service.unique("made").replace(" ", "-"), "url": f"sqlite:///{service.shop}"}
    answer = service.admin.post(f"{SOURCES}/add", data=fields)
    assert answer.headers["location"] == SOURCES
    assert fields["name"] in service.admin.get(SOURCES).text


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
    cards = read(service.admin.get(SOURCES).text).all("article")
    assert not [card for card in cards if source["name"] in card.text]


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
        card = next(one for one in page.all("article") if "fixed" in one.text)
        assert "from the settings" in card.text
        assert not card.all("dialog")
