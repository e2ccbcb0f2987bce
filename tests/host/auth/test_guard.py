"""The guard before a router, with a manager that an application might bring."""

from collections.abc import Callable
from typing import Annotated, Any

import anyio
import pytest
from fastapi import APIRouter, Depends, FastAPI, Form, Request, UploadFile, WebSocket
from fastapi.responses import RedirectResponse
from fastapi.testclient import TestClient
from own_thread import in_own_thread
from plugbay.auth import (
    CsrfTokens,
    CurrentUser,
    Guard,
    SecurityMiddleware,
    User,
    open_to_all,
    open_to_viewers,
    require_role,
)
from pydantic import BaseModel
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response
from starlette.types import Message
from starlette.websockets import WebSocketDisconnect

CSRF = CsrfTokens(b"a session secret of 32 bytes....")
ADA = {"x-user": "ada:editor"}
BASIC = {"x-user": "ada:editor:basic"}
TOKEN = {"x-user": "ada:editor:token"}
VIEWER = {"x-user": "vic:viewer:token"}
JSON = {"content-type": "application/json"}
ADMIN = {"x-user": "ann:admin:token"}


class HeaderManager:
    """Believes a header, as an application behind a signing proxy might."""

    def identify(self, request: HTTPConnection) -> User | None:
        name, _, rest = request.headers.get("x-user", "").partition(":")
        role, _, via = rest.partition(":")
        return User(name, role, via or "app") if name else None  # type: ignore[arg-type]

    def challenge(self, request: HTTPConnection) -> Response:
        return RedirectResponse(f"https://id.example/?back={request.url.path}", 303)

    def logout(self, request: HTTPConnection) -> Response:
        return RedirectResponse("https://id.example/bye", 303)


class Thing(BaseModel):
    name: str
    size: float = 0


def things() -> APIRouter:
    router = APIRouter()

    @router.get("/api/things/{number}")
    def read(number: int) -> int:
        return number

    @router.post("/api/things")
    def add(thing: Thing) -> str:
        return thing.name

    @router.get("/page")
    def page(user: CurrentUser) -> str:
        return user.name

    @router.post("/form")
    def form(name: Annotated[str, Form()]) -> str:
        return name

    @router.post("/upload")
    async def upload(file: UploadFile) -> str:
        return (await file.read()).decode()

    @router.post("/raw")
    async def raw(request: Request) -> str:
        return (await request.body()).decode()

    @router.post("/stream")
    async def stream(request: Request) -> int:
        return sum([len(part) async for part in request.stream()])

    @router.post("/nothing")
    def nothing() -> str:
        return "done"

    @router.post("/anyone", dependencies=[Depends(open_to_viewers)])
    def anyone() -> str:
        return "done"

    @router.delete("/strict", dependencies=[require_role("admin")])
    def strict() -> str:
        return "done"

    @router.get("/open", dependencies=[Depends(open_to_all)])
    def public() -> str:
        return "hello"

    @router.post("/open", dependencies=[Depends(open_to_all)])
    def public_post(thing: Thing) -> str:
        return thing.name

    @router.websocket("/socket")
    async def socket(websocket: WebSocket, user: CurrentUser) -> None:
        await websocket.accept()
        await websocket.send_text(user.name)
        await websocket.close()

    return router


def build(manager: Any = None, with_middleware: bool = True, **options: Any) -> FastAPI:
    app = FastAPI(**options)
    if with_middleware:
        app.add_middleware(SecurityMiddleware)

    @app.get("/own")
    async def own() -> str:
        return "the application's own"

    app.include_router(things(), dependencies=[Depends(Guard(manager or HeaderManager(), CSRF))])
    return app


@pytest.fixture
def client() -> TestClient:
    return TestClient(build(), follow_redirects=False)


def token_for(name: str = "ada", role: Any = "editor") -> str:
    return CSRF.issue(User(name, role))


class TestAnonymous:
    @pytest.mark.parametrize(
        ("method", "path"),
        [("GET", "/api/things/1"), ("GET", "/api/things/x"), ("POST", "/api/things")],
    )
    def test_gets_401_and_is_told_how_to_log_in(self, client: TestClient, method: str, path: str) -> None:
        response = client.request(method, path)
        assert response.status_code == 401
        assert response.json() == {"detail": "Authentication is required."}
        assert response.headers["www-authenticate"].startswith(
            'Bearer realm="Plugbay", Basic realm="Plugbay"'
        )

    def test_is_not_asked_for_a_password_by_the_browser_after_sending_a_form(
        self, client: TestClient
    ) -> None:
        response = client.post("/form")
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == 'Bearer realm="Plugbay"'

    def test_is_led_to_the_login_from_a_page(self, client: TestClient) -> None:
        response = client.get("/page")
        assert response.status_code == 303
        assert response.headers["location"] == "https://id.example/?back=/page"
        assert response.content == b""

    def test_is_led_to_the_login_also_without_our_middleware(self) -> None:
        response = TestClient(build(with_middleware=False), follow_redirects=False).get("/page")
        assert response.status_code == 303
        assert response.headers["location"] == "https://id.example/?back=/page"

    def test_loads_the_whole_page_anew_when_a_part_of_it_is_asked_for(self, client: TestClient) -> None:
        response = client.get("/page", headers={"HX-Request": "true"})
        assert response.status_code == 401
        assert response.headers["hx-refresh"] == "true"

    def test_is_not_asked_for_a_password_by_the_browser_when_a_script_asks(self, client: TestClient) -> None:
        response = client.get("/api/things/1", headers={"Sec-Fetch-Mode": "cors"})
        assert response.headers["www-authenticate"] == 'Bearer realm="Plugbay"'

    @pytest.mark.parametrize("body", [b"{", b"\xff", b'{"name": 1}', b"[" * 100_000, b"x" * 2_000_000])
    def test_gets_401_before_a_body_is_looked_at(self, client: TestClient, body: bytes) -> None:
        response = client.post("/api/things", content=body, headers=JSON)
        assert response.status_code == 401

    def test_gets_401_before_a_broken_form_is_looked_at(self, client: TestClient) -> None:
        headers = {"content-type": "multipart/form-data; boundary=x"}
        assert client.post("/upload", content=b"broken", headers=headers).status_code == 401

    def test_may_use_what_says_that_it_is_open(self, client: TestClient) -> None:
        assert client.get("/open").json() == "hello"
        assert client.post("/open", json={"name": "x"}).json() == "x"

    def test_is_not_let_into_a_websocket(self, client: TestClient) -> None:
        with pytest.raises(WebSocketDisconnect) as caught, client.websocket_connect("/socket"):
            pass
        assert caught.value.code == 1008

    def test_may_use_the_applications_own_routes(self, client: TestClient) -> None:
        assert client.get("/own").json() == "the application's own"

    def test_gets_the_applications_own_answers_for_what_does_not_exist(self, client: TestClient) -> None:
        assert client.get("/nowhere").status_code == 404
        assert client.put("/api/things").status_code == 405


class TestRoles:
    def test_a_viewer_may_look(self, client: TestClient) -> None:
        assert client.get("/api/things/1", headers=VIEWER).json() == 1
        assert client.get("/page", headers=VIEWER).json() == "vic"

    def test_a_viewer_may_not_change(self, client: TestClient) -> None:
        response = client.post("/api/things", json={"name": "x"}, headers=VIEWER)
        assert response.status_code == 403
        assert response.json() == {"detail": "This needs the role editor."}

    def test_a_viewer_learns_nothing_from_what_would_be_wrong(self, client: TestClient) -> None:
        assert client.post("/api/things", content=b"{", headers=VIEWER).status_code == 403

    def test_an_editor_may_change(self, client: TestClient) -> None:
        assert client.post("/api/things", json={"name": "x"}, headers=TOKEN).json() == "x"

    def test_a_route_may_ask_for_more(self, client: TestClient) -> None:
        assert client.delete("/strict", headers=TOKEN).status_code == 403
        assert client.delete("/strict", headers=ADMIN).json() == "done"

    def test_a_route_may_be_for_every_user(self, client: TestClient) -> None:
        assert client.post("/anyone", headers=VIEWER).json() == "done"
        assert client.post("/anyone").status_code == 401

    def test_a_websocket_is_for_viewers(self, client: TestClient) -> None:
        with client.websocket_connect("/socket", headers=VIEWER) as socket:
            assert socket.receive_text() == "vic"

    def test_asking_for_a_role_that_does_not_exist_is_an_error_at_once(self) -> None:
        with pytest.raises(ValueError, match="viewer, editor, admin; not 'root'"):
            require_role("root")  # type: ignore[arg-type]

    def test_a_route_that_the_guard_does_not_stand_before_is_closed_by_its_role(self) -> None:
        app = FastAPI()

        @app.get("/api/forgotten", dependencies=[require_role("viewer")])
        def forgotten() -> str:
            return "secret"

        @app.get("/api/me")
        def me(user: CurrentUser) -> str:
            return user.name

        client = TestClient(app)
        assert client.get("/api/forgotten", headers=ADMIN).status_code == 401
        assert client.get("/api/me", headers=ADMIN).status_code == 401


class TestCsrf:
    """A login that the browser sends along by itself needs a token of our own page."""

    def test_a_form_without_a_token_is_refused(self, client: TestClient) -> None:
        response = client.post("/form", data={"name": "x"}, headers=ADA)
        assert response.status_code == 403
        assert "Load its page again" in response.json()["detail"]

    def test_a_form_with_the_token_is_taken(self, client: TestClient) -> None:
        fields = {"name": "x", "csrf_token": token_for()}
        assert client.post("/form", data=fields, headers=ADA).json() == "x"

    def test_an_upload_with_the_token_is_taken(self, client: TestClient) -> None:
        fields, files = {"csrf_token": token_for()}, {"file": ("a.txt", b"content")}
        assert client.post("/upload", data=fields, files=files, headers=ADA).json() == "content"

    def test_json_brings_the_token_in_a_header(self, client: TestClient) -> None:
        headers = ADA | {"X-CSRF-Token": token_for()}
        assert client.post("/api/things", json={"name": "x"}, headers=headers).json() == "x"
        assert client.post("/api/things", json={"name": "x"}, headers=ADA).status_code == 403

    def test_a_route_that_takes_no_form_still_needs_the_token(self, client: TestClient) -> None:
        assert client.post("/nothing", headers=ADA).status_code == 403
        assert client.post("/nothing", data={"csrf_token": token_for()}, headers=ADA).json() == "done"

    def test_reading_the_token_leaves_the_body_to_the_endpoint(self, client: TestClient) -> None:
        fields = {"csrf_token": token_for(), "a": "b"}
        sent = f"csrf_token={fields['csrf_token']}&a=b"
        assert client.post("/raw", data=fields, headers=ADA).json() == sent
        assert client.post("/stream", data=fields, headers=ADA).json() == len(sent)
        assert client.post("/stream", data=fields, files={"f": b"x"}, headers=ADA).json() > len(sent)

    def test_reading_a_token_in_the_header_leaves_the_stream_alone(self, client: TestClient) -> None:
        headers = ADA | {"X-CSRF-Token": token_for()}
        assert client.post("/stream", content=b"x" * 500_000, headers=headers).json() == 500_000

    @pytest.mark.parametrize(
        "token",
        ["", "x", "\0", "é", "0" * 80, "a" * 100_000, token_for()[:-1], token_for() + "0", token_for("bob")],
        ids=["none", "short", "nul", "accent", "zeros", "long", "cut", "grown", "another's"],
    )
    def test_any_other_token_is_refused(self, client: TestClient, token: str) -> None:
        response = client.post("/form", data={"name": "x", "csrf_token": token}, headers=ADA)
        assert response.status_code == 403

    def test_a_token_signed_with_another_secret_is_refused(self, client: TestClient) -> None:
        foreign = CsrfTokens(b"another secret").issue(User("ada", "editor"))
        fields = {"name": "x", "csrf_token": foreign}
        assert client.post("/form", data=fields, headers=ADA).status_code == 403

    def test_a_file_is_no_token(self, client: TestClient) -> None:
        files = {"csrf_token": ("t", token_for().encode()), "file": ("a", b"b")}
        assert client.post("/upload", files=files, headers=ADA).status_code == 403

    def test_a_token_in_the_query_does_not_count(self, client: TestClient) -> None:
        assert client.post(f"/nothing?csrf_token={token_for()}", headers=ADA).status_code == 403

    def test_a_broken_form_is_not_an_error_of_ours(self, client: TestClient) -> None:
        headers = ADA | {"content-type": "multipart/form-data"}
        assert client.post("/nothing", content=b"x", headers=headers).status_code in (400, 403)

    def test_a_visitor_who_leaves_in_the_middle_of_a_form_is_not_an_error_of_ours(self) -> None:
        parts = [{"type": "http.request", "body": b"csrf_", "more_body": True}, {"type": "http.disconnect"}]
        sent: list[Message] = []
        form = [(b"content-type", b"application/x-www-form-urlencoded"), (b"x-user", b"ada:editor")]
        scope = {"type": "http", "method": "POST", "path": "/nothing", "headers": form, "query_string": b""}

        async def receive() -> Message:
            return parts.pop(0)

        async def send(message: Message) -> None:
            sent.append(message)

        in_own_thread(anyio.run, build(), scope, receive, send)
        assert sent[0]["status"] == 400

    @pytest.mark.parametrize("machine", [TOKEN, BASIC])
    def test_programs_need_no_token(self, client: TestClient, machine: dict[str, str]) -> None:
        assert client.post("/form", data={"name": "x"}, headers=machine).json() == "x"

    @pytest.mark.parametrize("sign", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
    @pytest.mark.parametrize("visitor", [ADA, BASIC])
    def test_another_site_is_refused_even_with_a_token(
        self, client: TestClient, visitor: dict[str, str], sign: dict[str, str]
    ) -> None:
        fields = {"name": "x", "csrf_token": token_for()}
        assert client.post("/form", data=fields, headers=visitor | sign).status_code == 403

    def test_another_site_may_not_open_a_websocket(self, client: TestClient) -> None:
        headers = ADA | {"Origin": "https://evil.example"}
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/socket", headers=headers):
            pass

    def test_our_own_page_may_open_a_websocket(self, client: TestClient) -> None:
        headers = ADA | {"Origin": "http://testserver"}
        with client.websocket_connect("/socket", headers=headers) as socket:
            assert socket.receive_text() == "ada"

    def test_looking_needs_no_token(self, client: TestClient) -> None:
        assert client.get("/page", headers=ADA | {"Sec-Fetch-Site": "cross-site"}).json() == "ada"

    def test_a_token_differs_each_time_and_is_bound_to_the_session(self) -> None:
        one, other = (User("ada", "editor", "session", 1, session) for session in ("one", "other"))
        assert CSRF.issue(one) != CSRF.issue(one)
        assert CSRF.is_valid(CSRF.issue(one), one)
        assert not CSRF.is_valid(CSRF.issue(one), other)


class TestBrokenJson:
    @pytest.mark.parametrize(
        "body",
        [
            b'{"name": "\\ud800"}',
            b'{"name": 1, "x": NaN}',
            b'{"name": 1, "size": Infinity}',
            b'{"name": 1, "size": 1e999}',
            b'{"name": ["\\udfff"]}',
        ],
    )
    def test_what_cannot_be_written_again_is_refused(self, client: TestClient, body: bytes) -> None:
        response = client.post(
            "/api/things", content=body, headers=TOKEN | {"content-type": "application/json"}
        )
        assert response.status_code == 422
        assert response.json()["detail"][0]["type"] == "json_invalid"

    @pytest.mark.parametrize("body", [b"{", b"", b"nul", b"\xff\xfe"])
    def test_what_is_no_json_is_refused(self, client: TestClient, body: bytes) -> None:
        response = client.post(
            "/api/things", content=body, headers=TOKEN | {"content-type": "application/json"}
        )
        assert response.status_code in (400, 422)

    def test_bytes_that_only_claim_to_be_json_reach_an_endpoint_that_wants_bytes(
        self, client: TestClient
    ) -> None:
        assert client.post("/raw", content=b'{"a": "\xc3\xa9"}', headers=TOKEN | JSON).json() == '{"a": "é"}'

    def test_deep_json_is_refused(self, client: TestClient) -> None:
        response = client.post("/raw", content=b"[" * 200_000, headers=TOKEN | JSON)
        assert response.status_code == 422


class AsyncManager(HeaderManager):
    """The same verbs, awaited."""

    async def identify(self, request: HTTPConnection) -> User | None:  # type: ignore[override]
        return super().identify(request)

    async def challenge(self, request: HTTPConnection) -> Response:  # type: ignore[override]
        return HTMLResponse("<h1>Please log in</h1>", 401, {"x-from": "challenge"})


class TestManagers:
    def test_the_verbs_may_be_async_and_a_challenge_may_be_a_page(self) -> None:
        client = TestClient(build(AsyncManager()))
        assert client.get("/page", headers=VIEWER).json() == "vic"
        response = client.get("/page")
        assert response.status_code == 401
        assert response.text == "<h1>Please log in</h1>"
        assert response.headers["x-from"] == "challenge"

    def test_a_manager_is_asked_once_for_each_request(self) -> None:
        asked = []

        class Counting(HeaderManager):
            def identify(self, request: HTTPConnection) -> User | None:
                asked.append(request.url.path)
                return super().identify(request)

        client = TestClient(build(Counting()))
        client.post("/api/things", json={"name": "x"}, headers=TOKEN)
        client.get("/page", headers=TOKEN)
        client.get("/open")
        client.get("/own")
        assert asked == ["/api/things", "/page"]

    def test_the_documentation_offers_to_log_in_with_a_token(self) -> None:
        schema = build().openapi()
        assert schema["components"]["securitySchemes"]["API token"]["scheme"] == "bearer"
        assert schema["paths"]["/page"]["get"]["security"] == [{"API token": []}]

    def test_an_applications_own_error_answers_are_used(self) -> None:
        async def teapot(request: Request, error: Exception) -> Response:
            return Response("mine", 418)

        handlers: dict[Any, Callable[..., Any]] = {401: teapot}
        client = TestClient(build(exception_handlers=handlers))
        assert client.get("/api/things/1").status_code == 418

    def test_a_dependency_of_the_whole_application_does_not_hide_the_guard(self) -> None:
        async def everywhere() -> None: ...

        client = TestClient(build(dependencies=[Depends(everywhere)]))
        assert client.post("/api/things", content=b"{", headers=JSON).status_code == 401
