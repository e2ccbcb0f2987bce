"""Headers and limits: on the routes of host and plugins, and on no others."""

import re
from collections.abc import Iterator

import httpx2
import pytest
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.testclient import TestClient
from live import served
from plugbay.auth import CsrfTokens, Guard, SecurityMiddleware, User, open_to_all
from plugbay.auth.guard import MAX_BODY
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response, StreamingResponse

OURS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
LARGEST = b'["' + b"x" * (MAX_BODY - 4) + b'"]'
JSON = {"content-type": "application/json"}


class Everyone:
    """A manager that knows everybody who says `x-user`, as a program with a token."""

    async def identify(self, request: HTTPConnection) -> User | None:
        return User("ada", "editor", "token") if "x-user" in request.headers else None

    async def challenge(self, request: HTTPConnection) -> Response:
        return RedirectResponse("/login", 303)

    async def logout(self, request: HTTPConnection) -> Response:
        return RedirectResponse("/login", 303)


def ours() -> APIRouter:
    router = APIRouter()

    @router.get("/page")
    async def page(request: Request) -> HTMLResponse:
        return HTMLResponse(f'<style nonce="{request.state.nonce}">p {{}}</style>')

    @router.get("/special")
    async def special() -> Response:
        headers = {"Cache-Control": "public, max-age=9", "Content-Security-Policy": "default-src 'none'"}
        return Response("x", headers=headers)

    @router.get("/missing")
    async def missing() -> None:
        raise HTTPException(404)

    @router.get("/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(iter([b"a", b"b"]))

    @router.post("/json")
    async def take_json(body: list[str]) -> int:
        return len(body)

    @router.post("/bytes")
    async def take_bytes(request: Request) -> int:
        return len(await request.body())

    @router.post("/nothing")
    async def take_nothing() -> str:
        return "done"

    @router.post("/hook", dependencies=[Depends(open_to_all)])
    async def hook(request: Request) -> int:
        return len(await request.body())

    return router


def static() -> APIRouter:
    router = APIRouter()

    @router.get("/static/a.css")
    async def css() -> Response:
        return Response("p{}", media_type="text/css", headers={"cache-control": "public, max-age=31536000"})

    @router.post("/public")
    async def public(body: list[str]) -> int:
        return len(body)

    return router


def build(**options: str) -> FastAPI:
    app = FastAPI()
    app.add_middleware(SecurityMiddleware, **options)  # type: ignore[arg-type]

    @app.post("/own")
    async def own(request: Request) -> int:
        return len(await request.body())

    @app.get("/own")
    async def own_page() -> HTMLResponse:
        return HTMLResponse("<script>1</script>")

    guard = Guard(Everyone(), CsrfTokens(b"secret"))
    app.include_router(ours(), dependencies=[Depends(guard)])
    app.include_router(static(), dependencies=[Depends(open_to_all)])
    return app


@pytest.fixture
def client() -> TestClient:
    return TestClient(build(), headers={"x-user": "ada"}, follow_redirects=False)


def security_headers(response: httpx2.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name in OURS}


class TestHeaders:
    @pytest.mark.parametrize("path", ["/page", "/missing", "/stream"])
    def test_every_answer_of_ours_has_them(self, client: TestClient, path: str) -> None:
        assert security_headers(client.get(path)) == OURS

    @pytest.mark.parametrize("path", ["/page", "/json"])
    def test_an_answer_to_a_stranger_has_them(self, path: str) -> None:
        stranger = TestClient(build(), follow_redirects=False)
        answer = stranger.get(path) if path == "/page" else stranger.post(path)
        assert security_headers(answer) == OURS

    def test_the_policy_allows_our_own_files_and_this_pages_styles(self, client: TestClient) -> None:
        response = client.get("/page")
        nonce = re.search(r'nonce="([\w-]{22})"', response.text)
        assert nonce
        policy = dict(
            part.strip().split(" ", 1) for part in response.headers["content-security-policy"].split(";")
        )
        assert policy == {
            "default-src": "'self'",
            "script-src": "'self'",
            "style-src": f"'self' 'nonce-{nonce[1]}'",
            "img-src": "'self' data:",
            "object-src": "'none'",
            "base-uri": "'none'",
            "form-action": "'self'",
            "frame-ancestors": "'none'",
        }

    def test_each_page_has_a_nonce_of_its_own(self, client: TestClient) -> None:
        assert client.get("/page").text != client.get("/page").text

    def test_what_a_route_says_itself_stays(self, client: TestClient) -> None:
        headers = client.get("/special").headers
        assert headers.get_list("cache-control") == ["public, max-age=9"]
        assert headers.get_list("content-security-policy") == ["default-src 'none'"]
        assert headers["x-content-type-options"] == "nosniff"

    def test_static_files_are_kept_by_the_browser(self, client: TestClient) -> None:
        assert client.get("/static/a.css").headers["cache-control"] == "public, max-age=31536000"

    @pytest.mark.parametrize("path", ["/own", "/nowhere", "/docs", "/openapi.json"])
    def test_the_applications_own_answers_stay_as_they_are(self, client: TestClient, path: str) -> None:
        response = client.get(path)
        assert security_headers(response) == {}
        assert "content-security-policy" not in response.headers

    def test_forms_may_lead_to_the_login_of_an_application_that_brings_one(self) -> None:
        client = TestClient(build(form_action="'self' https:"), headers={"x-user": "ada"})
        assert "form-action 'self' https:;" in client.get("/page").headers["content-security-policy"]


class TestBodyLimit:
    """A test client hands a body over whole: these show the rule, the live ones below the wire."""

    @pytest.mark.parametrize("path", ["/json", "/public"])
    def test_a_body_of_the_largest_size_is_taken(self, client: TestClient, path: str) -> None:
        assert client.post(path, content=LARGEST, headers=JSON).json() == 1

    @pytest.mark.parametrize("path", ["/json", "/bytes", "/hook", "/public", "/nothing"])
    def test_one_byte_more_is_refused(self, client: TestClient, path: str) -> None:
        response = client.post(path, content=LARGEST + b" ", headers=JSON)
        assert response.status_code == 413
        assert response.json() == {"detail": "A request body has at most 1048576 bytes."}
        assert security_headers(response) == OURS

    @pytest.mark.parametrize("path", ["/json", "/bytes"])
    def test_a_body_of_unknown_size_is_counted_as_it_comes(self, client: TestClient, path: str) -> None:
        parts = (b" " * 65536 for _ in range(17))
        assert client.post(path, content=parts, headers=JSON).status_code == 413

    def test_the_applications_own_routes_take_what_they_like(self, client: TestClient) -> None:
        assert client.post("/own", content=b"x" * 3 * MAX_BODY).json() == 3 * MAX_BODY

    @pytest.mark.parametrize("length", ["-1", "x", "1e9", "", "9" * 5000])
    def test_a_strange_length_is_not_an_error_of_ours(self, client: TestClient, length: str) -> None:
        response = client.post("/bytes", content=b"xy", headers={"content-length": length})
        assert response.status_code in (200, 413)

    def test_a_stranger_is_turned_away_before_the_body_is_read(self) -> None:
        stranger = TestClient(build())
        assert stranger.post("/json", content=b"x" * 2 * MAX_BODY, headers=JSON).status_code == 401


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(build()) as address:
        yield address


class TestOnTheWire:
    @pytest.mark.parametrize("size", [MAX_BODY + 1, 3 * MAX_BODY, 30 * MAX_BODY])
    def test_a_client_that_sends_too_much_hears_the_413(self, address: str, size: int) -> None:
        response = httpx2.post(f"{address}/bytes", content=b"x" * size, headers={"x-user": "ada"}, timeout=60)
        assert response.status_code == 413

    def test_a_client_that_sends_in_chunks_hears_the_413(self, address: str) -> None:
        parts = (b"x" * 65536 for _ in range(40))
        response = httpx2.post(f"{address}/bytes", content=parts, headers={"x-user": "ada"}, timeout=60)
        assert response.status_code == 413

    def test_a_stranger_who_sends_much_hears_the_401(self, address: str) -> None:
        response = httpx2.post(f"{address}/json", json=["x" * MAX_BODY * 2], timeout=60)
        assert response.status_code == 401

    def test_the_connection_is_good_for_another_request(self, address: str) -> None:
        with httpx2.Client(base_url=address, headers={"x-user": "ada"}, timeout=60) as client:
            assert client.post("/bytes", content=b"x" * 2 * MAX_BODY).status_code == 413
            assert client.post("/bytes", content=b"xyz").json() == 3


def test_an_answer_in_the_place_of_another_is_sent_whole_and_once() -> None:
    app = FastAPI()
    app.add_middleware(SecurityMiddleware)

    class Page(Everyone):
        async def challenge(self, request: HTTPConnection) -> Response:
            response = JSONResponse({"please": "log in"}, 401)
            response.set_cookie("seen", "1")
            response.set_cookie("again", "2")
            return response

    app.include_router(ours(), dependencies=[Depends(Guard(Page(), CsrfTokens(b"secret")))])
    response = TestClient(app).get("/page")
    assert response.json() == {"please": "log in"}
    assert response.headers.get_list("content-length") == [str(len(response.content))]
    assert len(response.headers.get_list("set-cookie")) == 2
    assert security_headers(response) == OURS
