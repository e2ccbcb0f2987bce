"""docs/security.md keeps its promises: its examples run, its figures are those of the code."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from plugbay import Plugbay
from plugbay.auth import add_user
from plugbay.auth.accounts import MAX_NAME, MAX_PASSWORD, MIN_PASSWORD
from plugbay.auth.browser_security import FIXED, POLICY
from plugbay.auth.credentials import IDLE_S, LONGEST_S
from plugbay.auth.guard import MAX_BODY
from plugbay.auth.local import REMEMBER_S
from plugbay.auth.passwords import CHECKS_AT_ONCE, FIRST_WAIT_S, LONGEST_WAIT_S, MOST_WAITING, Costs
from visitor import Visitor

PAGE = (Path(__file__).parents[3] / "docs/security.md").read_text()
TEXT = " ".join(PAGE.split())
PLUGIN, MANAGER = (block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))


def run(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(source, "docs/security.md", "exec"), names)
    return names


class TestBringYourOwnLogin:
    @pytest.fixture
    def app(self, alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FastAPI]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("PROXY_SECRET", "of the proxy")
        names = run(MANAGER)
        yield names["app"]
        names["app"].state.plugbay.store.close()

    def visitor(self, app: FastAPI, **headers: str) -> Visitor:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Visitor(app, headers={"x-proxy-secret": "of the proxy", **named})

    def test_the_proxy_says_who_it_is(self, app: FastAPI) -> None:
        ada = self.visitor(app, x_forwarded_user="ada")
        assert ada.get("/metrics").status_code == 200
        assert ada.get("/admin/plugins").status_code == 403
        groups = "staff,monitor-admins"
        assert (
            self.visitor(app, x_forwarded_user="ann", x_forwarded_groups=groups)
            .get("/admin/plugins")
            .is_success
        )

    def test_nobody_else_may_say_so(self, app: FastAPI) -> None:
        forger = self.visitor(app, x_forwarded_user="ada", x_proxy_secret="guessed")
        assert forger.get("/metrics").status_code == 401
        assert forger.get("/").headers["location"] == "/oauth2/sign_in?rd=/"

    def test_logging_out_is_the_managers_matter_and_needs_the_forms_token(self, app: FastAPI) -> None:
        ada = self.visitor(app, x_forwarded_user="ada")
        assert ada.post("/logout").status_code == 403
        assert ada.submit("/logout", page="/").headers["location"] == "/oauth2/sign_out"

    def test_there_are_no_local_users(self, app: FastAPI) -> None:
        ann = self.visitor(app, x_forwarded_user="ann", x_forwarded_groups="monitor-admins")
        for path in ("/login", "/account", "/admin/users"):
            assert ann.get(path).status_code == 404
        assert ann.get("/metrics", auth=("admin", "admin")).status_code == 200  # known by the header alone

    def test_a_form_may_lead_to_the_login_elsewhere(self, app: FastAPI) -> None:
        policy = self.visitor(app, x_forwarded_user="ada").get("/").headers["content-security-policy"]
        assert "form-action 'self' https:;" in policy


class TestPluginExample:
    @pytest.fixture
    def host(self, make_host: Callable[..., Plugbay]) -> Plugbay:
        host = make_host()
        host.add_routes("shop", run(PLUGIN)["router"])
        for role in ("viewer", "editor", "admin"):
            add_user(host.store, role, "correct horse", role)
        return host

    @pytest.mark.parametrize(
        ("method", "path", "let_in"),
        [
            ("GET", "/shop/stock", {"viewer", "editor", "admin"}),
            ("POST", "/shop/close", {"admin"}),
            ("POST", "/shop/favourite", {"viewer", "editor", "admin"}),
            ("POST", "/shop/webhook", {"nobody", "viewer", "editor", "admin"}),
        ],
    )
    def test_each_route_is_as_open_as_it_says(
        self, host: Plugbay, method: str, path: str, let_in: set[str]
    ) -> None:
        passed = set()
        for name in ("nobody", "viewer", "editor", "admin"):
            auth = (name, "correct horse") if name != "nobody" else None
            if Visitor(host.app).request(method, path, auth=auth).is_success:
                passed.add(name)
        assert passed == let_in

    def test_a_route_knows_its_user(self, host: Plugbay) -> None:
        answer = Visitor(host.app).get("/shop/stock", auth=("viewer", "correct horse")).json()
        assert answer == "viewer is viewer, known by basic"


@pytest.mark.parametrize(
    "promise",
    [
        f"{Costs().memory_kib // 1024} MiB, {Costs().passes} passes, {Costs().lanes} lanes",
        f"has 1 to {MAX_NAME} visible characters",
        f"has {MIN_PASSWORD} to {MAX_PASSWORD:,} characters",
        f"up to {MOST_WAITING} requests wait",
        f"{FIRST_WAIT_S} s, doubled with each further failure, {LONGEST_WAIT_S // 60} minutes at most",
        f"remembered for {REMEMBER_S} s",
        f"after {IDLE_S // 3600} hours without use",
        f"after {LONGEST_S // 86400} days in any case",
        f"1 MB ({MAX_BODY:,} bytes)",
    ],
)
def test_the_page_names_the_figures_of_the_code(promise: str) -> None:
    assert promise in TEXT


def test_the_page_names_every_header() -> None:
    assert CHECKS_AT_ONCE == 2
    assert "At most two passwords" in TEXT
    assert POLICY.format(nonce="…", form_action="'self'") in PAGE
    for name, value in FIXED:
        assert re.search(rf"\| `{name.decode()}` \| `{value.decode()}`", PAGE, re.IGNORECASE)
