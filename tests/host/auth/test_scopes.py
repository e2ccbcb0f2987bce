"""What a token of each scope may do, and how it ends."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from fakes import FakeClock
from fastapi import APIRouter, Depends
from fastapi.routing import iter_route_contexts
from plugbay import Plugbay, open_to_viewers, require_role, runs
from plugbay.auth import add_user, create_token
from plugbay.auth.local import LocalAuthManager
from plugbay.auth.roles import ROLES, SCOPES
from plugbay.cli.accounts import token_create
from plugbay.errors import DaysRefused, UnknownScope
from plugbay.store import Store, open_store
from plugbay.store.tables import api_tokens
from visitor import Visitor

PASSWORD = "correct horse"
ROUTES: dict[str, tuple[str, list[Any]]] = {
    "look": ("GET", []),
    "change": ("POST", []),
    "remove": ("DELETE", []),
    "note": ("POST", [Depends(open_to_viewers)]),
    "run": ("POST", [Depends(runs)]),
    "run-by-link": ("GET", [Depends(runs)]),
    "look-as-editor": ("GET", [require_role("editor")]),
    "look-as-admin": ("GET", [require_role("admin")]),
}
OF_VIEWERS = {"look", "note"}
OF_EDITORS = OF_VIEWERS | {"change", "remove", "run", "run-by-link", "look-as-editor"}
OF_ADMINS = set(ROUTES)
MAY = {
    "metrics": {role: set() for role in ROLES},
    "read": dict.fromkeys(ROLES, OF_VIEWERS),
    "run": {role: OF_VIEWERS | ({"run", "run-by-link"} if role != "viewer" else set()) for role in ROLES},
    "all": {"viewer": OF_VIEWERS, "editor": OF_EDITORS, "admin": OF_ADMINS},
}


@pytest.fixture
def host(make_host: Callable[..., Plugbay]) -> Plugbay:
    host, router = make_host(), APIRouter(prefix="/api/shop")
    for name, (method, marks) in ROUTES.items():
        router.add_api_route(f"/{name}", lambda: "done", methods=[method], dependencies=marks)
    host.add_routes("shop", router)
    for role in ROLES:
        add_user(host.store, role, PASSWORD, role)
    return host


@pytest.fixture
def anyone(host: Plugbay) -> Iterator[Visitor]:
    with Visitor(host.app) as visitor:
        yield visitor


def token_of(host: Plugbay, role: str, scope: str, days: int | None = None) -> str:
    """As the page makes it, by the host's own clock."""
    assert isinstance(host.auth, LocalAuthManager)
    return host.auth.tokens.create(host.auth.accounts.named(role).id, "for a test", scope, days)


def shown(token: str, name: str, as_basic: bool) -> dict[str, Any]:
    return {"auth": (name, token)} if as_basic else {"headers": {"Authorization": f"Bearer {token}"}}


@pytest.mark.parametrize("as_basic", [False, True])
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("scope", SCOPES)
def test_a_token_may_do_what_its_scope_and_its_user_may_and_no_more(
    host: Plugbay, anyone: Visitor, scope: str, role: str, as_basic: bool
) -> None:
    """Every token could do all that its user could: one for Prometheus could run, edit and delete."""
    login = shown(token_of(host, role, scope), role, as_basic)
    statuses = {
        name: anyone.request(method, f"/api/shop/{name}", **login).status_code
        for name, (method, _) in ROUTES.items()
    }
    assert {name for name, status in statuses.items() if status == 200} == MAY[scope][role]
    assert set(statuses.values()) <= {200, 403}
    assert anyone.get("/metrics", **login).status_code == 200


@pytest.mark.parametrize("as_basic", [False, True])
def test_a_metrics_token_reaches_no_other_route_of_the_host(
    host: Plugbay, anyone: Visitor, as_basic: bool
) -> None:
    login = shown(token_of(host, "admin", "metrics"), "admin", as_basic)
    is_open = ("/login", "/healthz", "/readyz", "/static")
    for route in iter_route_contexts(host.app.router.routes):
        path = str(route.path_format).replace("{user_id}", "1").replace("{token_id}", "1")
        for method in (route.methods or set()) - {"HEAD"} if not path.startswith(is_open) else ():
            if path.startswith(("/openapi", "/docs", "/redoc")) and route.path_format in OF_THE_APPLICATION:
                continue
            status = anyone.request(method, path, **login).status_code
            assert status == (200 if path == "/metrics" else 403), f"{method} {path}"


OF_THE_APPLICATION = ("/openapi.json", "/docs", "/docs/oauth2-redirect", "/redoc")


def test_who_is_refused_reads_that_it_is_the_token(host: Plugbay, anyone: Visitor) -> None:
    for scope in ("metrics", "read", "run"):
        login = shown(token_of(host, "admin", scope), "admin", False)
        for path in ("change", "look-as-admin"):
            answer = anyone.request(ROUTES[path][0], f"/api/shop/{path}", **login)
            assert answer.json() == {
                "detail": f"This is outside of the scope of the token, which is {scope}."
            }


@pytest.mark.parametrize("as_basic", [False, True])
@pytest.mark.parametrize("scope", SCOPES)
def test_a_token_that_has_ended_is_401_and_says_so(
    host: Plugbay, anyone: Visitor, clock: FakeClock, scope: str, as_basic: bool
) -> None:
    login = shown(token_of(host, "editor", scope, days=30), "editor", as_basic)
    clock.advance(30 * 86_400 - 1)
    assert anyone.get("/metrics", **login).status_code == 200
    clock.advance(1)
    answer = anyone.get("/metrics", **login)
    assert answer.status_code == 401
    assert answer.json() == {"detail": "This API token ended on 2026-12-15 at 12:00 UTC. Make a new one."}
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_one_without_an_end_goes_on(host: Plugbay, anyone: Visitor, clock: FakeClock) -> None:
    login = shown(token_of(host, "viewer", "metrics"), "viewer", False)
    clock.advance(20 * 365 * 86_400)
    assert anyone.get("/metrics", **login).status_code == 200


def test_the_wrong_name_beside_a_token_learns_nothing_of_its_end(
    host: Plugbay, anyone: Visitor, clock: FakeClock
) -> None:
    token = token_of(host, "editor", "all", days=1)
    clock.advance(86_400)
    assert anyone.get("/metrics", auth=("viewer", token)).json() == {"detail": "Authentication is required."}


@pytest.mark.parametrize("scope", ["", "ALL", "write", "all ", "\0"])
def test_a_scope_that_does_not_exist_is_refused(host: Plugbay, scope: str) -> None:
    with pytest.raises(UnknownScope, match="metrics, read, run or all"):
        create_token(host.store, "editor", "x", scope)


@pytest.mark.parametrize("days", [0, -1, 3651, 10**12])
def test_days_that_cannot_be_are_refused(host: Plugbay, days: int) -> None:
    with pytest.raises(DaysRefused, match="1 to 3650 days"):
        create_token(host.store, "editor", "x", "all", days)


def test_a_scope_that_only_newer_code_knows_only_reads(host: Plugbay, anyone: Visitor) -> None:
    login = shown(token_of(host, "admin", "all"), "admin", False)
    with host.store.begin() as connection:
        connection.execute(sa.update(api_tokens).values(scope="dance"))
    assert anyone.get("/api/shop/look", **login).status_code == 200
    assert anyone.post("/api/shop/change", **login).status_code == 403


def test_tokens_from_before_may_do_what_they_could(store: Store, tmp_path: Any) -> None:
    add_user(store, "ada", PASSWORD, "editor")
    token = create_token(store, "ada", "old")
    with store.begin() as connection:
        for column in ("scope", "expires_at"):
            connection.execute(sa.text(f"ALTER TABLE api_tokens DROP COLUMN {column}"))
        connection.execute(sa.text("UPDATE alembic_version_plugbay SET version_num = '0001'"))
    url = store.engine.url.render_as_string(hide_password=False) if store.dialect == "postgresql" else ""
    again = open_store(url, tmp_path / "data")
    found = LocalAuthManager(again, FakeClock()).tokens.find(token)
    again.close()
    assert found
    assert (found.user.role, found.user.scope) == ("editor", "all")


def test_the_command_line_takes_scope_and_days(host: Plugbay, tmp_path: Path) -> None:
    def made(*options: str) -> int:
        given = ["--user", "editor", "--name", "x", "--data-dir", str(tmp_path / "data"), *options]
        return CliRunner().invoke(token_create, given).exit_code

    assert made("--scope", "run", "--days", "7") == made() == 0
    assert made("--scope", "write") == made("--days", "0") == made("--days", "3651") == 2
    with host.store.connect() as connection:
        rows = connection.execute(sa.select(api_tokens).order_by(api_tokens.c.id)).all()
    assert [(row.scope, row.expires_at and (row.expires_at - row.created_at).days) for row in rows] == [
        ("run", 7),
        ("all", None),
    ]


class TestThePages:
    @pytest.fixture
    def editor(self, host: Plugbay) -> Iterator[Visitor]:
        with Visitor(host.app) as visitor:
            visitor.login("editor", PASSWORD)
            yield visitor

    def test_scope_and_end_are_chosen_and_shown(
        self, host: Plugbay, editor: Visitor, clock: FakeClock
    ) -> None:
        editor.submit("/account/tokens", name="scraper", scope="metrics", days="30")
        editor.submit("/account/tokens", name="all of it")
        page = " ".join(editor.get("/account").text.split())
        assert "metrics, ends <time" in page
        assert "2026-12-15 12:00" in page
        assert "all, no end" in page
        with Visitor(host.app, address="192.0.2.9") as admin:
            admin.login("admin", PASSWORD)
            user_id = host.auth.accounts.named("editor").id  # type: ignore[attr-defined]
            assert "metrics, ends <time" in admin.get(f"/admin/users/{user_id}").text
        clock.advance(30 * 86_400)
        editor.login("editor", PASSWORD)
        assert '<span class="text-danger">ended</span>' in editor.get("/account").text

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"scope": "write"}, "must be metrics, read, run or all"),
            ({"days": "0"}, "1 to 3650 days"),
            ({"days": "1.5"}, "1 to 3650 days"),
            ({"days": "soon"}, "1 to 3650 days"),
        ],
    )
    def test_what_is_wrong_is_said_in_the_form(
        self, editor: Visitor, fields: dict[str, str], said: str
    ) -> None:
        answer = editor.submit("/account/tokens", name="scraper", **fields)
        assert answer.status_code == 422
        assert said in answer.text
        assert "New token" in answer.text
        assert "no end</div>" not in answer.text
