"""Host framework configuration: each field with its type, default and effect."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
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


@pytest.fixture
def client_of(quiet: None, tmp_path: Path) -> Iterator[Callable[..., TestClient]]:
    """An admin's client of a host with this configuration and a plugin that has no page."""
    code = (
        "from plugbay import BaseModule\n"
        "class P(BaseModule):\n    module_menu_name = 'No page'\n    def on_load(self): ...\n"
    )
    (tmp_path / "plugins/pageless").mkdir(parents=True)
    (tmp_path / "plugins/pageless/plugin.py").write_text(code)
    with ExitStack() as stack:

        def make(**config: Any) -> TestClient:
            host = Plugbay(FastAPI(), tmp_path, config={"admin_password": PASSWORD, **config})
            client = stack.enter_context(TestClient(host.app, follow_redirects=False))
            client.auth = ("admin", PASSWORD)
            return client

        yield make


@pytest.mark.parametrize(("field", "kind", "default"), FIELDS, ids=[row[0] for row in FIELDS])
def test_field_has_its_type_and_default(service, field, kind, default):
    assert HostConfig.model_fields[field].annotation == kind
    assert getattr(service.host.config, field) == default


def test_app_name_is_what_pages_show(client_of):
    assert "Night Watch" in read(client_of(app_name="Night Watch").get("/account").text).first("title").text


@pytest.mark.parametrize(("value", "status"), [(True, 200), (False, 404)], ids=["true", "false"])
def test_admin_enabled(client_of, value, status):
    assert client_of(admin_enabled=value).get("/admin/plugins").status_code == status


def test_admin_base_url_is_where_the_admin_pages_stand(client_of):
    client = client_of(admin_base_url="/back")
    assert [client.get(path).status_code for path in ("/back/plugins", "/admin/plugins")] == [200, 404]


@pytest.mark.parametrize("value", [True, False], ids=["true", "false"])
def test_include_in_schema(client_of, value):
    paths = client_of(include_in_schema=value).get("/openapi.json").json()["paths"]
    assert ("/api/scheduled-queries/{query_id}" in paths) is value


@pytest.mark.parametrize("value", [True, False], ids=["true", "false"])
def test_show_empty_menu_entries(client_of, value):
    menu = read(client_of(show_empty_menu_entries=value).get("/account").text).first("nav", id="menu")
    assert ("No page" in menu.text) is value


@pytest.mark.parametrize("value", [True, False], ids=["true", "false"])
def test_install_module_requirement_at_start(client_of, tmp_path, monkeypatch, value):
    asked: list[str] = []
    monkeypatch.setattr("plugbay.requirements.install", lambda needs, *_: asked.extend(map(str, needs)))
    (tmp_path / "plugins/pageless/requirements.txt").write_text("a-package-that-is-not-here>=1\n")
    client_of(install_module_requirement_at_start=value)
    assert asked == (["a-package-that-is-not-here>=1"] if value else [])


def test_session_secret_key_is_a_placeholder_that_must_be_replaced(client_of):
    with pytest.raises(PlugbayError, match="SESSION_SECRET_KEY cannot be used: it is still the placeholder"):
        client_of(session_secret_key="<SESSION_SECRET>")
