"""Plugbay mounted into somebody else's application, and on its own."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.testclient import TestClient
from plugbay.application import create_app
from plugbay.auth.credentials import Tokens
from plugbay.errors import KeyRefused
from starlette.types import ASGIApp

PASSWORD = "correct horse battery staple"  # of the admin that make_host makes


def test_the_public_attributes_are_there(make_host):
    host = make_host()
    for name in (
        "config",
        "modules",
        "events",
        "menu",
        "templates",
        "metrics",
        "store",
        "secrets",
        "get_module",
    ):
        assert hasattr(host, name)


def test_the_application_keeps_its_routes_docs_middleware_lifespan_and_errors(make_host, client_of):
    told: list[str] = []

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, str]]:
        told.append("up")
        yield {"database": "its own"}
        told.append("down")

    app = FastAPI(lifespan=lifespan, title="The shop")

    @app.exception_handler(404)
    async def not_found(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"shop says": "no"}, 404)

    @app.middleware("http")
    async def mark(request: Request, call_next):
        response = await call_next(request)
        response.headers["x-shop"] = "yes"
        return response

    @app.get("/")
    def index(request: Request) -> str:
        return request.state.database

    host = make_host("good", app=app)

    @app.get("/later")
    def later() -> str:
        return "still the application's"

    client = client_of(host, anonymous=True)
    assert client.get("/").json() == "its own"
    assert client.get("/later").json() == "still the application's"
    assert client.get("/nothing").json() == {"shop says": "no"}
    assert "content-security-policy" not in client.get("/").headers
    assert client.get("/").headers["x-shop"] == "yes"
    assert client.get("/docs").status_code == 200
    assert "/greeter/" in client.get("/openapi.json").json()["paths"]
    assert client.get("/greeter/").status_code == 303
    assert told == ["up"]


def answer_all(app: FastAPI, how: str, site: ASGIApp) -> None:
    if how == "mount":
        app.mount("/", site)
    elif how == "route":
        app.get("/{path:path}")(lambda path: "the site")
    else:
        app.router.default = site


@pytest.mark.parametrize(
    ("how", "by"), [("mount", "Mount /"), ("route", "APIRoute /{path:path}"), ("default", None)]
)
@pytest.mark.parametrize("is_first", [True, False])
def test_an_application_that_answers_everything_is_named_as_what_hides_the_host(
    make_host, client_of, caplog: pytest.LogCaptureFixture, how: str, by: str | None, is_first: bool
):
    app, site = FastAPI(), PlainTextResponse("the site")
    if is_first:
        answer_all(app, how, site)
    host = make_host(app=app)
    if not is_first:
        answer_all(app, how, site)
    client = client_of(host)
    assert "the site" in client.get("/somewhere").text
    assert ("the site" in client.get("/account").text) is (by is not None)
    assert caplog.text.count("routes_hidden") == caplog.text.count(f'routes_hidden by="{by}"') == bool(by)


def test_an_application_with_a_start_page_of_its_own_hides_nothing_else(
    make_host, client_of, caplog: pytest.LogCaptureFixture
):
    app = FastAPI()
    app.get("/")(lambda: "the application's")
    client_of(make_host(app=app))
    assert "routes_hidden" not in caplog.text


@pytest.mark.parametrize(
    ("options", "linked"),
    [
        ({}, ["/docs"]),
        ({"docs_url": "/shop/api"}, ["/shop/api"]),
        ({"docs_url": None}, []),
        ({"openapi_url": None}, []),
    ],
    ids=["default", "elsewhere", "no page", "no schema"],
)
def test_the_footer_leads_to_the_applications_documentation_where_there_is_one(
    make_host, client_of, options, linked
):
    client = client_of(make_host(app=FastAPI(**options)))
    found = re.findall(r'href="([^"]+)">API documentation', client.get("/admin/plugins").text)
    assert found == linked
    assert all(client.get(path).status_code == 200 for path in found)


def test_routes_of_host_and_plugins_are_left_out_of_the_schema_when_told_so(make_host):
    host = make_host("good", config={"include_in_schema": False})
    assert host.app.openapi()["paths"] == {}


def test_without_admin_pages_there_are_no_admin_routes(make_host, client_of):
    client = client_of(make_host(config={"admin_enabled": False}))
    assert client.get("/admin/plugins").status_code == 404


def test_the_admin_pages_follow_their_base_url(make_host, client_of):
    client = client_of(make_host(config={"admin_base_url": "/back/office"}))
    assert client.get("/back/office/plugins").status_code == 200
    assert client.get("/admin/plugins").status_code == 404


def test_every_route_of_host_and_plugins_is_closed_unless_it_is_one_of_the_few(make_host, client_of):
    host = make_host("good")
    client = client_of(host, anonymous=True)
    public = {"/healthz", "/readyz", "/login", "/static/{owner}/{path:path}"}
    closed = 0
    for contribution in host._routes.contributions:
        for route in host._routes.of_owner(contribution.owner):
            if route.path in public:
                continue
            for method in route.methods or ():
                status = client.request(method, route.path.replace("{", "").replace("}", "")).status_code
                assert status in ((303, 401) if method in ("GET", "HEAD") else (401,)), (
                    method,
                    route.path,
                    status,
                )
                closed += 1
    assert closed > 10


def test_the_placeholder_never_signs_anything(make_host):
    from plugbay.secrets import SESSION_SECRET_PLACEHOLDER

    with pytest.raises(KeyRefused, match="PLUGBAY_SESSION_SECRET_KEY"):
        make_host(config={"session_secret_key": SESSION_SECRET_PLACEHOLDER})


def test_ready_and_stopping_follow_the_lifespan(make_host):
    host = make_host()
    heard: list[object] = []
    host.events.on("plugbay.ready", lambda event: heard.append("ready"))
    host.events.on("plugbay.stopping", lambda event: heard.append(event.data["grace_s"]))
    with TestClient(host.app):
        assert heard == ["ready"]
    assert heard == ["ready", 30.0]


def test_an_application_can_be_started_again(make_host):
    host = make_host("good")
    for _ in range(2):
        with TestClient(host.app) as client:
            assert client.get("/readyz").status_code == 200


def test_the_start_page_leads_to_the_first_menu_entry(make_host, client_of):
    assert client_of(make_host("good")).get("/").headers["location"] == "/greeter/"


def test_without_plugins_the_start_page_says_how_to_add_one(make_host, client_of):
    page = client_of(make_host()).get("/")
    assert page.status_code == 200
    assert "plugbay plugin new" in page.text


def test_the_start_page_says_what_became_of_plugins_that_offer_no_page(make_host, client_of):
    host = make_host("good")
    host.modules.disable("polite")
    host.modules.disable("greeter")
    said = client_of(host).get("/").text
    assert "None of its plugins offers a page to you: 2 disabled." in said
    assert 'href="/admin/plugins">plugin page</a> says why' in said


def test_the_first_admins_password_is_printed_once(make_host, capsys: pytest.CaptureFixture[str]):
    host = make_host(config={"admin_password": None})
    with TestClient(host.app):
        assert "The user admin was made with the password" in capsys.readouterr().out
    with TestClient(host.app):
        assert "password" not in capsys.readouterr().out


def test_below_a_reverse_proxys_path_all_links_carry_it(alone, tmp_path: Path):
    app = create_app(tmp_path, {"admin_password": "correct horse battery"})
    with TestClient(app, root_path="/bay", follow_redirects=False) as client:
        assert client.get("/metrics").status_code == 401
        assert client.get("/docs").headers["location"].startswith("/bay/login?next=")
        page = client.get("/", auth=("admin", "correct horse battery"))
        assert 'href="/static' not in page.text
        assert "/bay/static/plugbay/dist/" in page.text


def test_mounted_below_another_application_all_links_carry_its_path(make_host):
    inner = make_host("good").app

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with inner.router.lifespan_context(inner):
            yield

    outer = FastAPI(lifespan=lifespan)
    outer.mount("/bay", inner)
    with TestClient(outer, follow_redirects=False) as client:
        client.auth = ("admin", PASSWORD)
        assert client.get("/bay/").headers["location"] == "/bay/greeter/"
        page = client.get("/bay/admin/plugins").text
    links = re.findall(r'(?:href|src)="(/[^"]*)"', page)
    assert len(links) > 10
    assert all(link.startswith("/bay/") for link in links)


@pytest.fixture
def standalone(alone, tmp_path: Path):
    app = create_app(tmp_path, {"admin_password": "correct horse battery"})
    with TestClient(app, follow_redirects=False, raise_server_exceptions=False) as client:
        client.auth = ("admin", "correct horse battery")
        yield client


def test_alone_the_documentation_needs_a_login(standalone: TestClient):
    assert standalone.get("/docs").status_code == 200
    assert standalone.get("/openapi.json").json()["info"]["title"] == "Plugbay"
    assert standalone.get("/docs", auth=("", "")).status_code == 303


def test_alone_people_get_an_error_page_and_programs_get_json(standalone: TestClient):
    page = standalone.get("/nothing", headers={"accept": "text/html"})
    assert (page.status_code, "Not found" in page.text) == (404, True)
    assert "content-security-policy" in page.headers
    assert standalone.get("/nothing").json() == {"detail": "Not Found"}
    assert standalone.get("/api/nothing", headers={"accept": "text/html"}).json() == {"detail": "Not Found"}


def test_alone_who_is_logged_in_keeps_the_menu_where_there_is_nothing(standalone: TestClient):
    as_a_person = {"accept": "text/html"}
    page = standalone.get("/nothing", headers=as_a_person)
    assert page.status_code == 404
    assert "To the start page" in page.text
    assert 'href="/admin/plugins"' in page.text
    stranger = standalone.get("/nothing", headers=as_a_person, auth=("", ""))
    assert stranger.status_code == 404
    assert "To the start page" not in stranger.text
    assert "Log in" in stranger.text


def test_alone_a_wrong_password_counts_once_also_where_a_page_says_so(standalone: TestClient):
    for _ in range(3):
        refused = standalone.post("/logout", headers={"accept": "text/html"}, auth=("admin", "wrong"))
        assert refused.status_code == 401
        assert "Log in" in refused.text
    assert standalone.get("/account").status_code == 200


@pytest.mark.parametrize(("path", "accept"), [("/metrics", "*/*"), ("/account", "text/html")])
def test_alone_a_failure_shows_an_id_that_is_in_the_log_and_no_traceback(
    standalone: TestClient, caplog: pytest.LogCaptureFixture, monkeypatch, path: str, accept: str
):
    host = standalone.app.state.plugbay
    host.metrics.exposition = lambda: 1 / 0
    monkeypatch.setattr(Tokens, "of_user", lambda *args: 1 / 0)
    answer = standalone.get(path, headers={"accept": accept})
    assert answer.status_code == 500
    said = re.search("The log says what, where it says (id=[0-9a-f]{8})", answer.text)
    assert said
    assert f"request_failed {said[1]} method=GET path={path} error=ZeroDivisionError" in caplog.text
    assert "ZeroDivisionError" not in answer.text


def test_alone_samples_are_on_and_can_be_switched_off(alone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert create_app(tmp_path).state.plugbay.config.samples is True
    monkeypatch.setenv("PLUGBAY_SAMPLES", "false")
    assert create_app(tmp_path).state.plugbay.config.samples is False


def test_pages_are_compressed(standalone: TestClient):
    page = standalone.get("/", headers={"accept-encoding": "gzip"})
    assert page.headers["content-encoding"] == "gzip"


@pytest.mark.parametrize(
    ("accept", "shown"), [("text/html", "Not ready"), ("*/*", '"detail":"The store does not answer')]
)
def test_alone_a_store_that_does_not_answer_is_503(
    standalone: TestClient, monkeypatch, accept: str, shown: str
):
    from plugbay.errors import StoreBusy

    def busy() -> str:
        raise StoreBusy(seconds=10)

    monkeypatch.setattr(standalone.app.state.plugbay.metrics, "exposition", busy)
    monkeypatch.setattr("plugbay.web.requests.API_PREFIXES", ("/api/",))
    answer = standalone.get("/metrics", headers={"accept": accept})
    assert answer.status_code == 503
    assert shown in answer.text


def test_a_body_is_not_blamed_for_a_store_that_does_not_answer(
    standalone: TestClient, monkeypatch: pytest.MonkeyPatch
):
    from fastapi import APIRouter
    from plugbay.errors import StoreBusy

    def busy(*_: object) -> None:
        raise StoreBusy(seconds=10)

    router = APIRouter()
    router.post("/api/echo")(echo)
    host = standalone.app.state.plugbay
    host.add_routes("echo", router)
    assert standalone.post("/api/echo", json={"a": 1}).json() == {"a": 1}
    monkeypatch.setattr(host.guard, "_identify", busy)
    answer = standalone.post("/api/echo", json={"a": 1})
    assert (answer.status_code, answer.headers.get("retry-after")) == (503, "5")
    assert standalone.post("/api/echo", content="{broken").status_code == 503


def echo(body: dict[str, int]) -> dict[str, int]:
    return body


def test_alone_programs_get_json_also_below_a_reverse_proxys_path(alone, tmp_path: Path):
    app = create_app(tmp_path, {"admin_password": "correct horse battery"})
    with TestClient(app, root_path="/bay") as client:
        answer = client.get("/bay/api/nothing", headers={"accept": "text/html"})
        assert answer.json() == {"detail": "Not Found"}


def test_the_start_page_stays_below_a_reverse_proxys_path_and_on_this_site(make_host):
    host = make_host("good")
    host.menu.add("application", "Elsewhere", "https://elsewhere.example/", position=-1)
    with TestClient(host.app, root_path="/bay/", follow_redirects=False) as client:
        client.auth = ("admin", PASSWORD)
        assert client.get("/").headers["location"] == "/bay/greeter/"
        assert 'href="https://elsewhere.example/"' in client.get("/greeter/").text


def test_plugins_are_told_to_stop_with_the_server_and_come_back_with_it(make_host):
    host = make_host("good")
    for _ in range(2):
        with TestClient(host.app) as client:
            module = host.get_module("greeter")
            assert client.get("/greeter/", auth=("admin", PASSWORD)).status_code == 200
        assert module.heard[-1] == "goodbye"


def test_a_start_that_fails_stops_what_was_begun(make_host, monkeypatch: pytest.MonkeyPatch):
    host = make_host("good")
    heard: list[str] = []
    host.events.on("plugbay.stopping", lambda event: heard.append(event.name))
    monkeypatch.setattr("plugbay.host.ensure_first_admin", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError), TestClient(host.app):
        pass
    assert heard == ["plugbay.stopping"]


def test_plugins_stop_also_when_the_applications_own_lifespan_fails_to_start(make_host):
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        raise OSError("the shop's database is away")
        yield

    host = make_host("good", app=FastAPI(lifespan=lifespan))
    module = host.get_module("greeter")
    with pytest.raises(OSError, match="away"), TestClient(host.app):
        pass
    assert module.heard[-1] == "goodbye"
    assert host.modules.loaded() == []


def test_a_restart_that_was_asked_for_happens_although_the_applications_own_stop_fails(make_host):
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        raise OSError("cannot let go")

    host = make_host(app=FastAPI(lifespan=lifespan))
    restarts: list[str] = []
    host.restarter.stop_server = lambda force: None
    host.restarter.after_stop = lambda: restarts.append("again")
    with pytest.raises(OSError, match="cannot let go"), TestClient(host.app):
        host.restarter.request()
    assert restarts == ["again"]


def test_a_forced_restart_gives_running_work_no_time(make_host):
    host = make_host()
    graces: list[float] = []
    host.events.on("plugbay.stopping", lambda event: graces.append(event.data["grace_s"]))
    host.restarter.stop_server = lambda force: None
    host.restarter.after_stop = lambda: None
    with TestClient(host.app):
        host.restarter.request(force=True)
        host.restarter.request(force=False)
    assert graces == [0.0]
