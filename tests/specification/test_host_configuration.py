"""Host framework configuration: each field with its type, default and effect."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from plugbay import HostConfig, Plugbay, PlugbayError
from scheduled_query.pages.reading import read

FIELDS = [
    ("app_name", str | None, "Plugbay"),
    ("admin_enabled", bool | None, True),
    ("admin_base_url", str | None, "/admin"),
    ("include_in_schema", bool | None, True),
    ("show_empty_menu_entries", bool | None, True),
    ("install_module_requirement_at_start", bool | None, True),
    ("session_secret_key", str, "<SESSION_SECRET>"),
]
PASSWORD = "correct horse battery staple"


PAGELESS = """
from plugbay import BaseModule

class Plugin(BaseModule):
    module_menu_name = "No page"

    def on_load(self):
        pass
"""


@contextmanager
def admin_of(folder: Path, **config: Any) -> Iterator[TestClient]:
    """An admin's client of a host with this configuration and a plugin that has no page."""
    (folder / "plugins/pageless").mkdir(parents=True)
    (folder / "plugins/pageless/plugin.py").write_text(PAGELESS)
    host = Plugbay(FastAPI(), folder, config={"admin_password": PASSWORD, **config})
    with TestClient(host.app, follow_redirects=False) as client:
        client.auth = ("admin", PASSWORD)
        yield client


@pytest.fixture(scope="module")
def clients(quiet: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[bool, TestClient]]:
    """Of a host as it comes (True), and of one that is set otherwise (False)."""
    otherwise = {"app_name": "Night Watch", "admin_base_url": "/back"}
    otherwise |= {"include_in_schema": False, "show_empty_menu_entries": False}
    with (
        admin_of(tmp_path_factory.mktemp("usual")) as usual,
        admin_of(tmp_path_factory.mktemp("otherwise"), **otherwise) as other,
    ):
        yield {True: usual, False: other}


@pytest.mark.parametrize(("field", "kind", "default"), FIELDS, ids=[row[0] for row in FIELDS])
def test_field_has_its_type_and_default(service, field, kind, default):
    assert HostConfig.model_fields[field].annotation == kind
    assert getattr(service.host.config, field) == default


def test_app_name_is_what_pages_show(clients):
    titles = [read(clients[usual].get("/account").text).first("title").text for usual in (True, False)]
    assert [title.rpartition(" · ")[2] for title in titles] == ["Plugbay", "Night Watch"]


def test_admin_enabled_false_takes_the_admin_pages_away(quiet, tmp_path, clients):
    assert clients[True].get("/admin/plugins").status_code == 200
    with admin_of(tmp_path, admin_enabled=False) as client:
        assert client.get("/admin/plugins").status_code == 404


def test_admin_base_url_is_where_the_admin_pages_stand(clients):
    paths = ("/admin/plugins", "/back/plugins")
    assert [clients[True].get(path).status_code for path in paths] == [200, 404]
    assert [clients[False].get(path).status_code for path in paths] == [404, 200]


@pytest.mark.parametrize("value", [True, False], ids=["true", "false"])
def test_include_in_schema(clients, value):
    paths = clients[value].get("/openapi.json").json()["paths"]
    assert ("/api/scheduled-queries/{query_id}" in paths) is value


@pytest.mark.parametrize("value", [True, False], ids=["true", "false"])
def test_show_empty_menu_entries(clients, value):
    menu = read(clients[value].get("/account").text).first("nav", id="menu")
    assert ("No page" in menu.text) is value


@pytest.mark.parametrize("value", [True, False], ids=["true", "false"])
def test_install_module_requirement_at_start(quiet, tmp_path, monkeypatch, value):
    asked: list[str] = []
    monkeypatch.setattr(
        "plugbay.plugins.requirements.install", lambda needs, *_: asked.extend(map(str, needs))
    )
    (tmp_path / "domains/needy").mkdir(parents=True)
    (tmp_path / "domains/needy/plugin.py").write_text(PAGELESS)
    (tmp_path / "domains/needy/requirements.txt").write_text("a-package-that-is-not-here>=1\n")
    with admin_of(tmp_path, install_module_requirement_at_start=value):
        assert asked == (["a-package-that-is-not-here>=1"] if value else [])


def test_session_secret_key_is_a_placeholder_that_must_be_replaced(quiet, tmp_path):
    refused = "SESSION_SECRET_KEY cannot be used: it is still the placeholder"
    with (
        pytest.raises(PlugbayError, match=refused),
        admin_of(tmp_path, session_secret_key="<SESSION_SECRET>"),
    ):
        pass
