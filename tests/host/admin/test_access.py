"""Who may use the admin pages, and where they stand."""

import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from plugbay import Plugbay
from plugbay.auth import add_user

PASSWORD = "correct horse battery staple"
PAGES = [
    "/admin/plugins",
    "/admin/base_module/greeter/overview",
    "/admin/base_module/greeter/settings",
    "/admin/base_module/greeter/install-requirements",
    "/admin/menu",
]
ACTIONS = [
    "/admin/plugins/greeter/toggle",
    "/admin/base_module/greeter/settings",
    "/admin/base_module/greeter/install-requirements",
    "/admin/base_module/greeter/remove",
    "/admin/reload",
    "/admin/restart",
    "/admin/restart/force",
    "/admin/menu",
]


@pytest.fixture
def host(make_host) -> Iterator[Plugbay]:
    host = make_host("good")
    yield host
    assert host.records.is_enabled("greeter")
    assert not host.restarter.is_requested


def test_a_stranger_is_sent_to_the_login_and_cannot_act(host: Plugbay, client_of):
    client = client_of(host, anonymous=True)
    for path in PAGES:
        response = client.get(path)
        assert (response.status_code, response.headers["location"]) == (303, f"/login?next={path}")
    assert {client.post(path).status_code for path in ACTIONS} == {401}


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_other_roles_neither_see_nor_act(host: Plugbay, client_of, role: str):
    add_user(host.store, "ed", PASSWORD, role)
    client = client_of(host)
    client.auth = ("ed", PASSWORD)
    assert {client.get(path).status_code for path in PAGES} == {403}
    assert {client.post(path).status_code for path in ACTIONS} == {403}


def test_other_roles_are_not_told_which_plugins_exist(host: Plugbay, client_of):
    add_user(host.store, "ed", PASSWORD, "editor")
    client = client_of(host)
    client.auth = ("ed", PASSWORD)
    known, unknown = (client.get(f"/admin/base_module/{name}/overview") for name in ("greeter", "nobody"))
    assert (known.status_code, known.json()) == (unknown.status_code, unknown.json())


def test_an_unknown_plugin_is_404_everywhere(host: Plugbay, client_of):
    client = client_of(host)
    for path in [path.replace("greeter", "nobody") for path in PAGES if "greeter" in path]:
        response = client.get(path)
        assert (response.status_code, response.json()["detail"]) == (
            404,
            "There is no plugin named 'nobody'.",
        )
    for path in [path.replace("greeter", "nobody") for path in ACTIONS if "greeter" in path]:
        assert client.post(path).status_code == 404


def test_a_form_without_its_token_is_refused(host: Plugbay, client_of):
    client = client_of(host, anonymous=True)
    client.post("/login", data={"username": "admin", "password": PASSWORD})
    assert client.get("/admin/plugins").status_code == 200
    assert {client.post(path).status_code for path in ACTIONS} == {403}


def test_every_form_of_every_page_carries_the_token(host: Plugbay, client_of):
    client = client_of(host)
    for path in PAGES:
        forms = re.findall(r'<form[^>]*method="post".*?</form>', client.get(path).text, re.DOTALL)
        assert forms or "install" in path  # that page has none before the installation
        assert all('name="csrf_token" value="' in form for form in forms)


def test_the_pages_follow_the_setting(make_host, client_of):
    client = client_of(make_host("good", config={"admin_base_url": "/back/office"}))
    assert client.get("/admin/plugins").status_code == 404
    page = client.get("/back/office/plugins").text
    assert 'action="/back/office/plugins/greeter/toggle"' in page
    assert 'href="/back/office/menu"' in page
    response = client.post("/back/office/plugins/polite/toggle")
    assert response.headers["location"] == "/back/office/plugins"


def test_the_pages_can_be_taken_away(make_host, client_of):
    host = make_host("good", config={"admin_enabled": False})
    client = client_of(host)
    assert {client.get(path).status_code for path in PAGES} == {404}
    assert {client.post(path).status_code for path in ACTIONS} == {404}
    assert not [entry for entry in host.menu.of_owner("plugbay") if entry.menu_type == "admin"]


def test_the_pages_work_below_a_sub_path(make_host):
    base = "/apps/bay/admin"
    with TestClient(make_host("good").app, root_path="/apps/bay", follow_redirects=False) as client:
        client.auth = ("admin", PASSWORD)
        assert f'action="{base}/plugins/greeter/toggle"' in client.get(f"{base}/plugins").text
        assert client.post(f"{base}/plugins/polite/toggle").headers["location"] == f"{base}/plugins"
        assert client.post(f"{base}/base_module/polite/remove").headers["location"] == f"{base}/plugins"
        settings = f"{base}/base_module/greeter/settings"
        assert client.post(settings, data={"times": "2"}).headers["location"] == settings


def test_admins_have_menu_entries_and_the_right_one_is_marked(host: Plugbay, client_of):
    client = client_of(host)
    for path, label in (("/admin/plugins", "Plugins"), (PAGES[1], "Plugins"), ("/admin/menu", "Menu")):
        current = re.findall(r'aria-current="page"><i [^>]*></i>([^<]*)</a>', client.get(path).text)
        assert current == [label]


def test_the_routes_are_pages_and_not_part_of_the_api(host: Plugbay):
    assert not [path for path in host.app.openapi()["paths"] if path.startswith("/admin")]


def test_pages_are_not_kept_by_browsers(host: Plugbay, client_of):
    client = client_of(host)
    for path in PAGES:
        response = client.get(path)
        assert response.headers["cache-control"] == "no-store"
        assert "script-src 'self'" in response.headers["content-security-policy"]
