"""/account: one's own password, tokens and sessions."""

import re
from collections.abc import Callable, Iterator

import pytest
from fakes import FakeClock
from plugbay import Plugbay
from plugbay.auth import add_user, create_token
from visitor import Visitor

PASSWORD, NEW = "correct horse", "another horse"


@pytest.fixture
def host(make_host: Callable[..., Plugbay]) -> Plugbay:
    host = make_host()
    add_user(host.store, "ada", PASSWORD, "viewer")
    add_user(host.store, "bob", PASSWORD, "admin")
    return host


@pytest.fixture
def ada(host: Plugbay) -> Iterator[Visitor]:
    with Visitor(host.app) as visitor:
        visitor.login("ada", PASSWORD)
        yield visitor


def change(visitor: Visitor, current: str = PASSWORD, password: str = NEW, again: str = NEW) -> int:
    response = visitor.submit("/account/password", current=current, password=password, again=again)
    return response.status_code


def make_token(visitor: Visitor, name: str) -> str:
    response = visitor.submit("/account/tokens", name=name)
    assert response.status_code == 201
    found = re.search(r'value="(pb_[\w-]{43})"', response.text)
    assert found
    return found[1]


def login_works(host: Plugbay, password: str) -> bool:
    return Visitor(host.app, address="192.0.2.99").login("ada", password).status_code == 303


class TestPassword:
    def test_even_a_viewer_may_change_it(self, host: Plugbay, ada: Visitor) -> None:
        assert change(ada) == 303
        assert login_works(host, NEW)
        assert not login_works(host, PASSWORD)

    def test_this_browser_stays_logged_in_with_a_new_session(self, ada: Visitor) -> None:
        before = ada.cookies["plugbay_session"]
        change(ada)
        assert ada.cookies["plugbay_session"] != before
        assert "Your password is changed" in ada.get("/account").text

    def test_every_other_session_ends(self, host: Plugbay, ada: Visitor) -> None:
        other = Visitor(host.app)
        other.login("ada", PASSWORD)
        old = {"cookie": f"plugbay_session={ada.cookies['plugbay_session']}"}
        change(ada)
        assert other.get("/account").status_code == 303
        assert Visitor(host.app).get("/account", headers=old).status_code == 303

    def test_the_present_one_must_be_right(self, host: Plugbay, ada: Visitor) -> None:
        response = ada.submit("/account/password", current="wrong", password=NEW, again=NEW)
        assert response.status_code == 422
        assert "This is not your current password." in response.text
        assert login_works(host, PASSWORD)

    def test_guessing_the_present_one_is_slowed_down_like_a_login(self, ada: Visitor) -> None:
        statuses = [change(ada, current="wrong") for _ in range(6)]
        assert statuses == [422] * 5 + [429]

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"password": "short", "again": "short"}, "8 to 1024 characters"),
            ({"password": "x" * 1025, "again": "x" * 1025}, "8 to 1024 characters"),
            ({"again": "something else"}, "The two are not the same."),
            ({"current": ""}, "Your own password is needed for this."),
            ({"current": "wrong"}, "This is not your current password."),
        ],
    )
    def test_what_is_wrong_is_said_at_its_field(
        self, host: Plugbay, ada: Visitor, fields: dict[str, str], said: str
    ) -> None:
        given = {"current": PASSWORD, "password": NEW, "again": NEW, **fields}
        response = ada.submit("/account/password", **given)
        assert response.status_code == 422
        assert said in response.text
        assert response.text.count('aria-invalid="true"') == 1
        assert NEW not in response.text
        assert login_works(host, PASSWORD)


class TestTokens:
    def test_a_new_token_is_shown_once_and_works(self, ada: Visitor) -> None:
        token = make_token(ada, "scraper")
        page = ada.get("/account").text
        assert token not in page
        assert "scraper" in page
        assert ada.get("/metrics", headers={"Authorization": f"Bearer {token}"}).status_code == 200

    def test_the_page_with_the_token_is_not_kept_by_the_browser(self, ada: Visitor) -> None:
        assert ada.submit("/account/tokens", name="x").headers["cache-control"] == "no-store"

    def test_the_page_says_when_a_token_was_used(self, host: Plugbay, ada: Visitor, clock: FakeClock) -> None:
        token = make_token(ada, "scraper")
        assert "never" in ada.get("/account").text
        clock.advance(3600)
        Visitor(host.app).get("/metrics", headers={"Authorization": f"Bearer {token}"})
        assert 'datetime="2026-11-15T13:00:00Z"' in ada.get("/account").text

    def test_a_revoked_token_is_dead_at_once(self, ada: Visitor) -> None:
        token = make_token(ada, "scraper")
        path = re.search(r'action="(/account/tokens/\d+/revoke)"', ada.get("/account").text)
        assert path
        assert ada.submit(path[1]).status_code == 303
        page = ada.get("/account").text
        assert "The token scraper is revoked." in page
        assert ada.get("/metrics", headers={"Authorization": f"Bearer {token}"}).status_code == 401
        assert ada.submit(path[1]).status_code == 404

    def test_nobody_revokes_the_token_of_another(self, host: Plugbay, ada: Visitor) -> None:
        token = create_token(host.store, "bob", "his")
        assert ada.submit("/account/tokens/1/revoke").status_code == 404
        assert ada.get("/metrics", headers={"Authorization": f"Bearer {token}"}).status_code == 200

    @pytest.mark.parametrize("name", ["", "  ", "a\0b", "x" * 101, "a\nb"])
    def test_a_token_needs_a_name(self, ada: Visitor, name: str) -> None:
        response = ada.submit("/account/tokens", name=name)
        assert response.status_code == 422
        assert "1 to 100 visible characters" in response.text
        assert "pb_" not in response.text.replace("pb_…", "")

    def test_a_name_cannot_bring_a_script_along(self, ada: Visitor) -> None:
        make_token(ada, "<script>alert(1)</script>")
        assert "<script>alert" not in ada.get("/account").text

    @pytest.mark.parametrize("token_id", ["0", "-1", "1.0", "x", "99999999999", "1e3", "%00", "١"])
    def test_an_id_that_cannot_be_is_422(self, ada: Visitor, token_id: str) -> None:
        assert ada.submit(f"/account/tokens/{token_id}/revoke").status_code == 422


class TestSessions:
    def test_the_page_lists_where_one_is_logged_in(self, host: Plugbay, ada: Visitor) -> None:
        other = Visitor(host.app, address="192.0.2.55", headers={"user-agent": "Phone"})
        other.login("ada", PASSWORD)
        page = ada.get("/account").text
        assert "Phone" in page
        assert "192.0.2.55" in page
        assert page.count("this one") == 1

    def test_the_others_can_be_ended(self, host: Plugbay, ada: Visitor) -> None:
        other = Visitor(host.app)
        other.login("ada", PASSWORD)
        assert ada.submit("/account/sessions/end").status_code == 303
        assert "1 other session has ended." in ada.get("/account").text
        assert other.get("/account").status_code == 303


class TestOnlyInTheBrowser:
    """A token that leaked cannot make itself a successor or take the account over."""

    PATHS = ("/account/password", "/account/tokens", "/account/tokens/1/revoke", "/account/sessions/end")

    @pytest.mark.parametrize("path", PATHS)
    def test_a_token_cannot_change_the_account(self, host: Plugbay, path: str) -> None:
        headers = {"Authorization": f"Bearer {create_token(host.store, 'ada', 'x')}"}
        response = Visitor(host.app).post(path, data={"name": "y"}, headers=headers)
        assert response.status_code == 403
        assert "needs a login in the browser" in response.json()["detail"]

    @pytest.mark.parametrize("path", PATHS)
    def test_neither_can_basic_nor_a_form_without_its_token(
        self, host: Plugbay, ada: Visitor, path: str
    ) -> None:
        assert Visitor(host.app).post(path, auth=("ada", PASSWORD)).status_code == 403
        assert ada.post(path, data={"name": "y"}).status_code == 403

    @pytest.mark.parametrize("path", PATHS)
    def test_a_stranger_cannot_at_all(self, host: Plugbay, path: str) -> None:
        assert Visitor(host.app).post(path).status_code == 401


def test_the_password_form_tells_password_managers_whose_it_is(ada: Visitor) -> None:
    form = ada.get("/account").text.partition('action="/account/password"')[2].partition("</form>")[0]
    assert form.count('value="ada" autocomplete="username"') == 1
