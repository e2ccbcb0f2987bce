"""Logging in and out, as a browser does it and as a program does it."""

from collections.abc import Callable, Iterator

import pytest
from fakes import FakeClock
from plugbay import Plugbay
from plugbay.auth import add_user, create_token
from plugbay.auth.local import LocalAuthManager
from visitor import Visitor

Visit = Callable[..., Visitor]
PASSWORD = "correct horse"
WRONG = "The name or the password is wrong."


@pytest.fixture
def host(make_host: Callable[..., Plugbay]) -> Plugbay:
    host = make_host()
    add_user(host.store, "Ada", PASSWORD, "editor")
    add_user(host.store, "vic", PASSWORD, "viewer")
    return host


@pytest.fixture
def visit(host: Plugbay) -> Iterator[Visit]:
    """Sends visitors, each from an address and with cookies of their own."""
    sent: list[Visitor] = []

    def visitor(**options: str) -> Visitor:
        sent.append(Visitor(host.app, **options))
        return sent[-1]

    yield visitor
    for each in sent:
        each.close()


@pytest.fixture
def ada(visit: Visit) -> Visitor:
    visitor = visit()
    assert visitor.login("ada", PASSWORD).status_code == 303
    return visitor


class TestLogin:
    def test_a_page_leads_to_the_login_and_the_login_back_to_the_page(self, visit: Visit) -> None:
        visitor = visit()
        led = visitor.get("/account?x=1")
        assert led.status_code == 303
        form = visitor.get(led.headers["location"])
        assert form.status_code == 200
        assert '<input type="hidden" name="next" value="/account?x=1">' in form.text
        back = visitor.login("ada", PASSWORD, next="/account?x=1")
        assert (back.status_code, back.headers["location"]) == (303, "/account?x=1")
        assert visitor.get("/account?x=1").status_code == 200

    @pytest.mark.parametrize("name", ["Ada", "ada", "ADA"])
    def test_the_case_of_a_name_does_not_matter(self, visit: Visit, name: str) -> None:
        assert visit().login(name, PASSWORD).status_code == 303

    @pytest.mark.parametrize(
        ("name", "password"), [("ada", "wrong"), ("nobody", PASSWORD), ("", ""), ("ada", "")]
    )
    def test_a_wrong_login_is_401_with_the_form(self, visit: Visit, name: str, password: str) -> None:
        response = visit().login(name, password, next="/account")
        assert response.status_code == 401
        assert WRONG in response.text
        assert f'name="username" value="{name}"' in response.text
        assert 'name="next" value="/account"' in response.text
        assert "set-cookie" not in response.headers

    def test_the_password_is_not_sent_back(self, visit: Visit) -> None:
        assert "my-wrong-secret" not in visit().login("ada", "my-wrong-secret").text

    def test_a_name_cannot_break_out_of_the_form(self, visit: Visit) -> None:
        text = visit().login('"><script>alert(1)</script>', "x", next='/"><script>').text
        assert "<script>alert" not in text
        assert '"><script>' not in text

    @pytest.mark.parametrize(
        "wanted", ["//evil.example", "/\\evil.example", "https://evil.example", "/\r\nx: y"]
    )
    def test_a_login_leads_nowhere_else(self, visit: Visit, wanted: str) -> None:
        response = visit().login("ada", PASSWORD, next=wanted)
        assert response.headers["location"] == "/"
        assert "x" not in response.headers

    def test_another_site_cannot_log_anyone_in(self, visit: Visit) -> None:
        fields = {"username": "ada", "password": PASSWORD}
        for sign in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            response = visit().post("/login", data=fields, headers=sign)
            assert response.status_code == 403
            assert "set-cookie" not in response.headers

    def test_a_program_may_log_in_by_the_form_without_fetching_it_first(self, visit: Visit) -> None:
        assert visit().login("ada", PASSWORD).headers["location"] == "/"

    def test_whoever_is_logged_in_needs_no_form(self, ada: Visitor) -> None:
        response = ada.get("/login?next=/account")
        assert (response.status_code, response.headers["location"]) == (303, "/account")

    def test_the_page_cannot_be_framed_or_kept(self, visit: Visit) -> None:
        headers = visit().get("/login").headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"


class TestSession:
    def test_the_cookie_is_closed_to_scripts_and_to_other_sites(self, visit: Visit) -> None:
        cookie = visit().login("ada", PASSWORD).headers["set-cookie"]
        assert cookie.startswith("plugbay_session=")
        assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
        assert "Secure" not in cookie

    def test_under_https_the_cookie_is_secure(self, visit: Visit) -> None:
        visitor = visit(base_url="https://testserver")
        cookie = visitor.login("ada", PASSWORD).headers["set-cookie"]
        assert cookie.startswith("__Host-plugbay_session=")
        assert "; Secure" in cookie
        assert visitor.get("/account").status_code == 200

    def test_an_id_that_an_attacker_planted_is_not_taken_over(self, visit: Visit) -> None:
        attacker, victim = visit(), visit()
        attacker.login("vic", PASSWORD)
        planted = attacker.cookies["plugbay_session"]
        victim.cookies.set("plugbay_session", planted, domain="testserver.local", path="/")
        victim.login("ada", PASSWORD)
        assert planted not in [cookie.value for cookie in victim.cookies.jar]
        assert attacker.get("/account").status_code == 303

    def test_each_login_has_a_new_id(self, ada: Visitor) -> None:
        before = ada.cookies["plugbay_session"]
        ada.login("ada", PASSWORD)
        assert ada.cookies["plugbay_session"] != before

    def test_two_cookies_of_our_name_are_nobodys(self, host: Plugbay, ada: Visitor) -> None:
        mine = ada.cookies["plugbay_session"]
        fresh = Visitor(host.app)
        for cookies, status in [
            (f"plugbay_session={mine}", 200),
            (f"plugbay_session={mine}; plugbay_session=x", 303),
        ]:
            assert fresh.get("/account", headers={"cookie": cookies}).status_code == status

    @pytest.mark.parametrize("value", ["", "x", '"', "\xff", "x" * 5000, "%00", "=;="])
    def test_a_forged_cookie_is_nobodys(self, host: Plugbay, value: str) -> None:
        headers = {"cookie": b"plugbay_session=" + value.encode("latin-1")}
        assert Visitor(host.app).get("/account", headers=headers).status_code == 303  # type: ignore[arg-type]


class TestLogout:
    def test_the_old_cookie_is_dead(self, host: Plugbay, ada: Visitor) -> None:
        cookie = f"plugbay_session={ada.cookies['plugbay_session']}"
        response = ada.submit("/logout")
        assert (response.status_code, response.headers["location"]) == (303, "/login")
        assert "plugbay_session" not in ada.cookies
        assert Visitor(host.app).get("/account", headers={"cookie": cookie}).status_code == 303

    def test_a_viewer_may_log_out(self, visit: Visit) -> None:
        visitor = visit()
        visitor.login("vic", PASSWORD)
        assert visitor.submit("/logout").status_code == 303

    def test_another_site_cannot_log_anyone_out(self, ada: Visitor) -> None:
        assert ada.post("/logout").status_code == 403
        assert ada.get("/account").status_code == 200

    def test_a_program_has_nothing_to_log_out_of(self, visit: Visit) -> None:
        assert visit().post("/logout", auth=("ada", PASSWORD)).headers["location"] == "/login"

    def test_a_link_cannot_log_anyone_out(self, ada: Visitor) -> None:
        assert ada.get("/logout").status_code == 405

    def test_a_form_of_the_session_before_is_refused(self, ada: Visitor) -> None:
        token = ada.csrf_token()
        ada.login("ada", PASSWORD)
        assert ada.post("/logout", data={"csrf_token": token}).status_code == 403


class TestThrottle:
    def test_the_sixth_attempt_has_to_wait_even_with_the_right_password(
        self, visit: Visit, clock: FakeClock
    ) -> None:
        visitor = visit()
        assert [visitor.login("ada", "wrong").status_code for _ in range(5)] == [401] * 5
        response = visitor.login("ada", PASSWORD)
        assert response.status_code == 429
        assert response.headers["retry-after"] == "30"
        assert "Try again in 30 seconds." in response.text
        assert 'name="username" value="ada"' in response.text
        clock.advance(30)
        assert visitor.login("ada", PASSWORD).status_code == 303

    def test_the_wait_grows(self, visit: Visit, clock: FakeClock) -> None:
        visitor, waits = visit(), []
        for _ in range(4):
            while visitor.login("ada", "wrong").status_code == 401:
                pass
            waits.append(int(visitor.login("ada", "wrong").headers["retry-after"]))
            clock.advance(waits[-1])
        assert waits == [30, 60, 120, 240]

    def test_a_name_that_does_not_exist_waits_just_the_same(self, visit: Visit) -> None:
        visitor = visit()
        assert [visitor.login("nobody", "x").status_code for _ in range(6)] == [401] * 5 + [429]

    def test_other_names_and_addresses_do_not_wait(self, visit: Visit) -> None:
        attacker = visit(address="198.51.100.1")
        for _ in range(6):
            attacker.login("ada", "wrong")
        assert attacker.login("vic", PASSWORD).status_code == 303
        assert visit(address="198.51.100.2").login("ada", PASSWORD).status_code == 303

    def test_basic_is_counted_with_the_form(self, visit: Visit) -> None:
        visitor = visit()
        statuses = [visitor.get("/metrics", auth=("ada", "wrong")).status_code for _ in range(3)]
        statuses += [visitor.login("ada", "wrong").status_code for _ in range(3)]
        assert statuses == [401] * 5 + [429]
        response = visitor.get("/metrics", auth=("ada", PASSWORD))
        assert response.status_code == 429
        assert response.headers["retry-after"] == "30"
        assert response.json() == {"detail": "Too many attempts. Try again in 30 seconds."}

    def test_a_login_in_between_starts_the_count_anew(self, visit: Visit) -> None:
        visitor = visit()
        for password in (["wrong"] * 4 + [PASSWORD]) * 3:
            assert visitor.login("ada", password).status_code in (401, 303)

    def test_known_and_unknown_names_do_the_same_work(
        self, host: Plugbay, visit: Visit, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert isinstance(host.auth, LocalAuthManager)
        hasher, checked = host.auth.passwords._hasher, []
        real = type(hasher).verify
        monkeypatch.setattr(
            type(hasher), "verify", lambda self, *args: checked.append(1) or real(self, *args)
        )
        for name in ("ada", "nobody", "", "\0", "x" * 10_000, "a:b"):
            visit().login(name, "wrong")
        assert len(checked) == 6


class TestMachines:
    def test_a_token_opens_every_endpoint(self, host: Plugbay, visit: Visit) -> None:
        headers = {"Authorization": f"Bearer {create_token(host.store, 'ada', 'scraper')}"}
        assert visit().get("/metrics", headers=headers).status_code == 200
        assert visit().get("/account", headers=headers).status_code == 200

    def test_basic_takes_the_password_or_a_token(self, host: Plugbay, visit: Visit) -> None:
        token = create_token(host.store, "ada", "scraper")
        assert visit().get("/metrics", auth=("ada", PASSWORD)).status_code == 200
        assert visit().get("/metrics", auth=("ada", token)).status_code == 200
        assert visit().get("/metrics", auth=("vic", token)).status_code == 401

    def test_basic_takes_names_and_passwords_of_any_script(self, host: Plugbay, visit: Visit) -> None:
        add_user(host.store, "zoé", "пароль: с двоеточием")
        assert visit().get("/metrics", auth=("zoé", "пароль: с двоеточием")).status_code == 200

    def test_a_wrong_token_is_refused(self, visit: Visit) -> None:
        for value in (
            "Bearer pb_wrong",
            "Bearer wrong",
            "Bearer",
            "Basic",
            "Basic %%%",
            "Token x",
            "Bearer \xff",
        ):
            headers = {"Authorization": value.encode("latin-1")}
            assert visit().get("/metrics", headers=headers).status_code == 401  # type: ignore[arg-type]

    def test_a_wrong_token_is_not_made_good_by_a_cookie(self, ada: Visitor) -> None:
        assert ada.get("/metrics", headers={"Authorization": "Bearer pb_wrong"}).status_code == 401

    def test_a_checked_password_is_remembered_for_a_minute(
        self, host: Plugbay, visit: Visit, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert isinstance(host.auth, LocalAuthManager)
        checked: list[str] = []
        real = host.auth.check
        monkeypatch.setattr(host.auth, "check", lambda *args: checked.append("once more") or real(*args))
        visitor = visit()
        for seconds in (0, 30, 29, 1, 30):
            clock.advance(seconds)
            assert visitor.get("/metrics", auth=("ada", PASSWORD)).status_code == 200
        assert len(checked) == 2

    def test_a_remembered_password_is_forgotten_when_it_changes(self, host: Plugbay, visit: Visit) -> None:
        assert isinstance(host.auth, LocalAuthManager)
        visitor = visit()
        assert visitor.get("/metrics", auth=("ada", PASSWORD)).status_code == 200
        host.auth.accounts.set_password(host.auth.accounts.named("ada"), "another horse")
        assert visitor.get("/metrics", auth=("ada", PASSWORD)).status_code == 401
        assert visitor.get("/metrics", auth=("ada", "another horse")).status_code == 200

    def test_a_remembered_user_is_out_when_removed_and_has_the_role_of_now(
        self, host: Plugbay, visit: Visit
    ) -> None:
        assert isinstance(host.auth, LocalAuthManager)
        visitor, accounts = visit(), host.auth.accounts
        for name in ("ann", "another"):
            add_user(host.store, name, PASSWORD, "admin")
        assert visitor.get("/admin/users", auth=("ann", PASSWORD)).status_code == 200
        accounts.set_role(accounts.named("ann"), "editor")
        assert visitor.get("/admin/users", auth=("ann", PASSWORD)).status_code == 403
        accounts.remove(accounts.named("ann"))
        assert visitor.get("/metrics", auth=("ann", PASSWORD)).status_code == 401


class TestSubPath:
    @pytest.fixture
    def below(self, host: Plugbay) -> Iterator[Visitor]:
        with Visitor(host.app, root_path="/monitor") as visitor:
            yield visitor

    def test_the_whole_way_stays_below_it(self, below: Visitor) -> None:
        assert below.get("/monitor/account").headers["location"] == "/monitor/login?next=/monitor/account"
        assert 'action="/monitor/login"' in below.get("/monitor/login").text
        fields = {"username": "ada", "password": PASSWORD, "next": "/monitor/account"}
        response = below.post("/monitor/login", data=fields)
        assert response.headers["location"] == "/monitor/account"
        assert "Path=/monitor" in response.headers["set-cookie"]
        assert below.get("/monitor/account").status_code == 200
        token = below.csrf_token("/monitor/account")
        assert (
            below.post("/monitor/logout", data={"csrf_token": token}).headers["location"] == "/monitor/login"
        )

    def test_programs_get_401_below_it_too(self, below: Visitor) -> None:
        assert below.get("/monitor/metrics").status_code == 401
