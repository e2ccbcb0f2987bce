"""The admin's pages for users."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from plugbay import Plugbay
from plugbay.auth import add_user, create_token
from plugbay.auth.accounts import Account
from plugbay.auth.local import LocalAuthManager
from plugbay.auth.pages import users_router
from visitor import Visitor

PASSWORD, NEW = "correct horse", "another horse"


@pytest.fixture
def host(make_host: Callable[..., Plugbay]) -> Plugbay:
    host = make_host()
    add_user(host.store, "ann", PASSWORD, "admin")
    add_user(host.store, "ada", PASSWORD, "editor")
    return host


@pytest.fixture
def ann(host: Plugbay) -> Iterator[Visitor]:
    visitor = Visitor(host.app)
    visitor.login("ann", PASSWORD)
    yield visitor
    visitor.close()


@pytest.fixture
def ada(host: Plugbay) -> Iterator[Visitor]:
    visitor = Visitor(host.app, address="192.0.2.8")
    visitor.login("ada", PASSWORD)
    yield visitor
    visitor.close()


def account(host: Plugbay, name: str) -> Account | None:
    assert isinstance(host.auth, LocalAuthManager)
    return host.auth.accounts.find(name)


def path_of(host: Plugbay, name: str, action: str = "") -> str:
    found = account(host, name)
    assert found
    return f"/admin/users/{found.id}{action}"


def add(visitor: Visitor, **fields: str) -> int:
    given = {"name": "eve", "password": PASSWORD, "role": "viewer", **fields}
    return visitor.submit("/admin/users", "/admin/users", **given).status_code


class TestAccess:
    PAGES = ("/admin/users", "/admin/users/1", "/admin/users/999")
    ACTIONS = ("", "/1/role", "/1/password", "/1/revoke-tokens", "/1/remove", "/999/remove")

    @pytest.mark.parametrize("path", PAGES)
    def test_the_pages_are_for_admins(self, host: Plugbay, ada: Visitor, path: str) -> None:
        assert ada.get(path).status_code == 403
        assert Visitor(host.app).get(path).status_code == 303

    @pytest.mark.parametrize("action", ACTIONS)
    def test_so_are_the_actions_and_they_do_not_tell_who_exists(
        self, host: Plugbay, ada: Visitor, action: str
    ) -> None:
        assert ada.submit(f"/admin/users{action}").status_code == 403
        assert Visitor(host.app).post(f"/admin/users{action}").status_code == 401

    @pytest.mark.parametrize("action", ACTIONS)
    def test_the_actions_need_the_forms_token(self, ann: Visitor, action: str) -> None:
        assert ann.post(f"/admin/users{action}").status_code == 403

    def test_the_menu_leads_there_for_admins_alone(self, ann: Visitor, ada: Visitor) -> None:
        assert 'href="/admin/users"' in ann.get("/account").text
        assert 'href="/admin/users"' not in ada.get("/account").text

    def test_the_pages_follow_the_admin_path_and_switch(self, make_host: Callable[..., Plugbay]) -> None:
        moved = make_host(config={"admin_base_url": "/control"})
        add_user(moved.store, "ann", PASSWORD, "admin")
        visitor = Visitor(moved.app)
        assert visitor.get("/control/users", auth=("ann", PASSWORD)).status_code == 200
        assert visitor.get("/admin/users", auth=("ann", PASSWORD)).status_code == 404
        without = make_host(config={"admin_enabled": False})
        assert Visitor(without.app).get("/admin/users", auth=("ann", PASSWORD)).status_code == 404

    @pytest.mark.parametrize("user_id", ["0", "-1", "1.0", "x", "9999999999"])
    def test_an_id_that_cannot_be_is_422(self, ann: Visitor, user_id: str) -> None:
        assert ann.get(f"/admin/users/{user_id}").status_code == 422

    def test_a_user_who_does_not_exist_is_404(self, ann: Visitor) -> None:
        assert ann.get("/admin/users/999").status_code == 404
        assert ann.submit("/admin/users/999/remove").status_code == 404


class TestList:
    def test_shows_each_user_with_role_and_tokens(self, host: Plugbay, ann: Visitor) -> None:
        create_token(host.store, "ada", "one")
        page = ann.get("/admin/users").text
        rows = [
            re.sub(r"<[^>]+>|\s+", " ", row).split() for row in re.findall(r"<tr>.*?</tr>", page, re.DOTALL)
        ]
        assert [row[:3] for row in rows[1:]] == [["ada", "editor", "1"], ["ann", "you", "admin"]]


class TestAdd:
    def test_the_new_user_can_log_in(self, host: Plugbay, ann: Visitor) -> None:
        assert add(ann) == 303
        assert "The user eve is added as viewer." in ann.get("/admin/users").text
        assert Visitor(host.app, address="192.0.2.9").login("eve", PASSWORD).status_code == 303

    def test_without_a_role_it_is_an_editor(self, host: Plugbay, ann: Visitor) -> None:
        ann.submit("/admin/users", "/admin/users", name="eve", password=PASSWORD)
        found = account(host, "eve")
        assert found
        assert found.role == "editor"

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"name": ""}, "1 to 64 visible characters"),
            ({"name": "a:b"}, "no colon"),
            ({"name": "a\0b"}, "1 to 64 visible characters"),
            ({"name": "x" * 65}, "1 to 64 visible characters"),
            ({"name": "ADA"}, "already a user named &#39;ADA&#39;"),
            ({"password": ""}, "8 to 1024 characters"),
            ({"password": "1234567"}, "8 to 1024 characters"),
            ({"role": "root"}, "viewer, editor or admin"),
        ],
    )
    def test_what_is_wrong_is_said_in_the_form(
        self, host: Plugbay, ann: Visitor, fields: dict[str, str], said: str
    ) -> None:
        given = {"name": "eve", "password": PASSWORD, "role": "viewer", **fields}
        response = ann.submit("/admin/users", "/admin/users", **given)
        assert response.status_code == 422
        assert said in response.text
        assert account(host, "eve") is None

    def test_what_was_typed_comes_back_but_for_the_password(self, ann: Visitor) -> None:
        given = {"name": "e:ve", "password": "a secret of eve", "role": "admin"}
        page = ann.submit("/admin/users", "/admin/users", **given).text
        assert 'value="e:ve"' in page
        assert '<option value="admin" selected>' in page
        assert "a secret of eve" not in page


class TestRole:
    def test_counts_from_the_next_request_on(self, host: Plugbay, ann: Visitor, ada: Visitor) -> None:
        assert ada.get("/admin/users").status_code == 403
        given = {"role": "admin", "current_password": PASSWORD}
        assert ann.submit(path_of(host, "ada", "/role"), **given).status_code == 303
        assert ada.get("/admin/users").status_code == 200
        assert ann.submit(path_of(host, "ada", "/role"), role="viewer").status_code == 303
        assert ada.get("/admin/users").status_code == 403

    def test_the_last_admin_cannot_step_down(self, host: Plugbay, ann: Visitor) -> None:
        response = ann.submit(path_of(host, "ann", "/role"), role="editor")
        assert response.status_code == 422
        assert "ann is the only admin" in response.text
        assert ann.get("/admin/users").status_code == 200

    @pytest.mark.parametrize("role", ["", "root", "Admin", "\0"])
    def test_a_role_that_does_not_exist_is_refused(self, host: Plugbay, ann: Visitor, role: str) -> None:
        assert ann.submit(path_of(host, "ada", "/role"), role=role).status_code == 422


class TestPassword:
    def test_a_new_one_logs_the_user_out_everywhere(self, host: Plugbay, ann: Visitor, ada: Visitor) -> None:
        assert ann.submit(path_of(host, "ada", "/password"), password=NEW).status_code == 303
        assert ada.get("/account").status_code == 303
        assert ada.login("ada", PASSWORD).status_code == 401
        assert ada.login("ada", NEW).status_code == 303

    def test_a_new_one_ends_the_wait_after_failures(self, host: Plugbay, ann: Visitor) -> None:
        locked = Visitor(host.app, address="192.0.2.66")
        while locked.login("ada", "wrong").status_code != 429:
            pass
        ann.submit(path_of(host, "ada", "/password"), password=NEW)
        assert locked.login("ada", NEW).status_code == 303

    def test_a_short_one_is_refused(self, host: Plugbay, ann: Visitor) -> None:
        response = ann.submit(path_of(host, "ada", "/password"), password="short")
        assert response.status_code == 422
        assert "8 to 1024 characters" in response.text


class TestTokens:
    def test_an_admin_can_revoke_all_of_a_user(self, host: Plugbay, ann: Visitor) -> None:
        token = create_token(host.store, "ada", "scraper")
        assert "scraper" in ann.get(path_of(host, "ada")).text
        assert ann.submit(path_of(host, "ada", "/revoke-tokens")).status_code == 303
        bearer = {"Authorization": f"Bearer {token}"}
        assert Visitor(host.app).get("/metrics", headers=bearer).status_code == 401


class TestRemove:
    def test_a_removed_user_is_out_at_once(self, host: Plugbay, ann: Visitor, ada: Visitor) -> None:
        bearer = {"Authorization": f"Bearer {create_token(host.store, 'ada', 'scraper')}"}
        assert ann.submit(path_of(host, "ada", "/remove")).status_code == 303
        assert "The user ada is removed." in ann.get("/admin/users").text
        assert ada.get("/account").status_code == 303
        assert Visitor(host.app).get("/metrics", headers=bearer).status_code == 401

    def test_the_last_admin_stays(self, host: Plugbay, ann: Visitor) -> None:
        response = ann.submit(path_of(host, "ann", "/remove"))
        assert response.status_code == 422
        assert "ann is the only admin" in response.text

    def test_the_page_asks_first(self, host: Plugbay, ann: Visitor) -> None:
        page = ann.get(path_of(host, "ada")).text
        assert re.search(r"<details>.*Yes, remove ada.*</details>", page, re.DOTALL)


class TestGivingAccess:
    """A token of an admin that leaked made itself an admin of its own, who outlived the token."""

    WAYS = (
        ("", {"name": "eve", "password": PASSWORD, "role": "viewer"}),
        ("", {"name": "eve", "password": PASSWORD, "role": "admin", "current_password": PASSWORD}),
        ("/2/role", {"role": "viewer"}),
        ("/2/role", {"role": "admin", "current_password": PASSWORD}),
        ("/2/password", {"password": NEW}),
        ("/1/password", {"password": NEW, "current_password": PASSWORD}),
    )

    @pytest.mark.parametrize("known_by", ["token", "basic", "token as password"])
    @pytest.mark.parametrize(("path", "fields"), WAYS)
    def test_needs_a_login_in_the_browser(
        self, host: Plugbay, path: str, fields: dict[str, str], known_by: str
    ) -> None:
        before = account(host, "ann"), account(host, "ada")
        token = create_token(host.store, "ann", "leaked")
        shown: dict[str, Any] = {
            "token": {"headers": {"Authorization": f"Bearer {token}"}},
            "basic": {"auth": ("ann", PASSWORD)},
            "token as password": {"auth": ("ann", token)},
        }[known_by]
        answer = Visitor(host.app).post(f"/admin/users{path}", data=fields, **shown)
        assert answer.status_code == 403
        assert "needs a login in the browser" in answer.json()["detail"]
        assert (account(host, "ann"), account(host, "ada")) == before
        assert account(host, "eve") is None

    def test_every_route_that_changes_users_is_either_among_them_or_takes_away(self, host: Plugbay) -> None:
        routes = {route.path for route in users_router.routes if "POST" in getattr(route, "methods", ())}
        takes_away = {"/{user_id}/revoke-tokens", "/{user_id}/remove"}
        assert routes - takes_away == {re.sub(r"/\d", "/{user_id}", path) for path, _ in self.WAYS}

    WIDER = (
        ("", {"name": "eve", "password": PASSWORD, "role": "admin"}),
        ("/2/role", {"role": "admin"}),
        ("/1/password", {"password": NEW}),
    )

    @pytest.mark.parametrize("given", [{}, {"current_password": ""}, {"current_password": "wrong"}])
    @pytest.mark.parametrize(("path", "fields"), WIDER)
    def test_admin_rights_need_the_own_password_once_more(
        self, host: Plugbay, ann: Visitor, path: str, fields: dict[str, str], given: dict[str, str]
    ) -> None:
        """An unlocked screen is enough for all else; not for an admin who stays."""
        before = account(host, "ann"), account(host, "ada")
        answer = ann.submit(f"/admin/users{path}", "/admin/users", **fields, **given)
        assert answer.status_code == 422
        assert ("not your current password" if given.get("current_password") else "is needed") in answer.text
        assert (account(host, "ann"), account(host, "ada")) == before
        assert account(host, "eve") is None

    @pytest.mark.parametrize(("path", "fields"), WIDER)
    def test_with_it_they_are_given(
        self, host: Plugbay, ann: Visitor, path: str, fields: dict[str, str]
    ) -> None:
        given = {**fields, "current_password": PASSWORD}
        assert ann.submit(f"/admin/users{path}", "/admin/users", **given).status_code == 303

    def test_guessing_it_is_limited_as_a_login_is(self, host: Plugbay, ann: Visitor) -> None:
        given = {"role": "admin", "current_password": "wrong"}
        statuses = [ann.submit("/admin/users/2/role", **given).status_code for _ in range(6)]
        assert statuses == [422] * 5 + [429]

    def test_an_admin_who_stays_one_needs_nothing(self, host: Plugbay, ann: Visitor) -> None:
        assert ann.submit("/admin/users/1/role", role="admin").status_code == 303

    def test_the_pages_ask_for_it_where_it_is_needed(self, host: Plugbay, ann: Visitor) -> None:
        def fields(path: str) -> list[str]:
            return re.findall(r'<input[^>]*name="current_password"[^>]*>', ann.get(path).text)

        assert [" required" in found for found in fields("/admin/users")] == [False]
        assert [" required" in found for found in fields("/admin/users/2")] == [False]
        assert [" required" in found for found in fields("/admin/users/1")] == [True]
