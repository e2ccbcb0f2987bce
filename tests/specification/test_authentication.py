"""Authentication: rules 1 to 3."""

from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.responses import RedirectResponse
from fastapi.testclient import TestClient
from plugbay import AuthManager, Plugbay, PlugbayError, User

SPECIFIED = [
    "/api/run-now/{query_id}",
    "/api/execution-history/{query_id}",
    "/api/scheduled-queries/{query_id}",
    "/scheduled_query/",
    "/scheduled_query/dashboard",
    "/scheduled_query/results-widgets",
    "/scheduled_query/edit/{query_id}",
]
ADMIN = ["/admin/plugins", "/admin/base_module/ui_tools/overview", "/admin/base_module/ui_tools/settings"]


class Badges:
    """An application's own login: whoever wears a badge is who it says."""

    def identify(self, request: Any) -> User | None:
        name, _, role = request.headers.get("x-badge", "").partition(":")
        return User(name, role) if name else None

    def challenge(self, request: Any) -> RedirectResponse:
        return RedirectResponse("/front-door", 303)

    def logout(self, request: Any) -> RedirectResponse:
        return RedirectResponse("/front-door", 303)


@pytest.mark.parametrize("path", SPECIFIED)
def test_rule_1_specified_route_requires_authentication(service, path):
    query_id = service.create()["id"]
    stranger, editor = service.client(), service.editor
    assert stranger.get(path.format(query_id=query_id)).status_code == (401 if "/api/" in path else 303)
    assert editor.get(path.format(query_id=query_id)).status_code in (200, 303)


def test_rule_1_so_does_every_other_route_of_the_service(service):
    stranger, query_id = service.client(), service.create()["id"]
    routes = service.host.modules.routes_of("scheduled_query")
    assert len(routes) > 40
    for route in routes:
        for method in route.methods:
            path = route.path.replace("{query_id}", str(query_id)).replace("{", "").replace("}", "")
            answer = stranger.request(method, path)
            to_login = answer.status_code == 303 and answer.headers["location"].startswith("/login?next=")
            assert answer.status_code == 401 or to_login, (method, path)


def test_rule_1_the_hosts_authentication_system_decides(service):
    made = service.create()
    path = f"/api/scheduled-queries/{made['id']}"
    for headers, status in [
        (service.viewer.headers, 200),
        ({"authorization": "Bearer nonsense"}, 401),
        ({"authorization": "Basic YWRtaW46d3Jvbmc="}, 401),
        ({}, 401),
    ]:
        assert service.client().get(path, headers=headers).status_code == status


@pytest.mark.parametrize("path", ADMIN)
@pytest.mark.parametrize(("role", "status"), [("admin", 200), ("editor", 403), ("viewer", 403)])
def test_rule_2_plugin_management_requires_the_admin_role(service, path, role, status):
    assert getattr(service, role).get(path).status_code == status


def test_rule_3_the_framework_accepts_an_authentication_manager(quiet, tmp_path):
    assert isinstance(Badges(), AuthManager)
    host = Plugbay(FastAPI(), tmp_path, auth_manager=Badges())
    with TestClient(host.app, follow_redirects=False) as client:
        assert client.get("/scheduled_query/").headers["location"] == "/front-door"
        for badge, path, status in [
            ("ada:viewer", "/scheduled_query/", 200),
            ("ada:viewer", "/admin/plugins", 403),
            ("ada:admin", "/admin/plugins", 200),
        ]:
            assert client.get(path, headers={"x-badge": badge}).status_code == status


@pytest.mark.parametrize(
    "given", ["<SESSION_SECRET>", "", "too short"], ids=["placeholder", "empty", "short"]
)
def test_rule_3_the_placeholder_of_session_secret_key_must_be_replaced(quiet, tmp_path, given):
    with pytest.raises(PlugbayError, match="PLUGBAY_SESSION_SECRET_KEY"):
        Plugbay(FastAPI(), tmp_path, config={"session_secret_key": given})


def test_rule_3_left_unset_the_placeholder_is_replaced_by_a_key_of_its_own(service):
    assert service.host.config.session_secret_key == "<SESSION_SECRET>"
    key = service.host.data_dir / "session.key"
    assert len(key.read_bytes().strip()) >= 32
    assert key.stat().st_mode & 0o777 == 0o600
