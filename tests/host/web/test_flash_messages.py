import pytest
from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, RedirectResponse
from fastapi.testclient import TestClient
from plugbay import FlashMessage, flash
from plugbay.web.flash_messages import COOKIE, FlashMiddleware, decode, encode, take_flashes

SECRET = b"s" * 32


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()
    app.add_middleware(FlashMiddleware, secret=SECRET)

    @app.post("/save")
    def save(request: Request) -> RedirectResponse:
        flash(request, FlashMessage("Saved <b>it</b>"), FlashMessage("Mind the gap", "warning"))
        return RedirectResponse("/page", 303)

    @app.get("/page")
    def page(request: Request) -> PlainTextResponse:
        return PlainTextResponse("|".join(f"{m.level}:{m.text}" for m in take_flashes(request)))

    @app.get("/other")
    def other() -> str:
        return "shows no messages"

    return TestClient(app)


def test_messages_survive_one_redirect_and_are_shown_once(client: TestClient):
    assert client.post("/save").text == "success:Saved <b>it</b>|warning:Mind the gap"
    assert client.get("/page").text == ""


def test_messages_wait_for_a_page_that_shows_them(client: TestClient):
    client.post("/save", follow_redirects=False)
    client.get("/other")
    assert client.get("/page").text.startswith("success:Saved")


def test_messages_of_two_requests_add_up(client: TestClient):
    client.post("/save", follow_redirects=False)
    client.post("/save", follow_redirects=False)
    assert client.get("/page").text.count("Saved") == 2


def test_the_cookie_is_closed_to_scripts(client: TestClient):
    header = client.post("/save", follow_redirects=False).headers["set-cookie"]
    assert "HttpOnly" in header
    assert "SameSite=Lax" in header


@pytest.mark.parametrize("value", ["", ".", "abc", "abc.def", "é", encode([FlashMessage("x")], b"o" * 32)])
def test_a_cookie_that_is_not_ours_says_nothing(client: TestClient, value: str):
    assert client.get("/page", headers={"cookie": f"{COOKIE}={value}".encode()}).text == ""


def test_a_page_without_messages_sets_no_cookie(client: TestClient):
    assert "set-cookie" not in client.get("/page").headers


def test_a_long_text_still_fits_into_a_cookie():
    value = encode([FlashMessage("ä" * 10_000)] * 20, SECRET)
    assert len(decode(value, SECRET)) <= 5
    assert len(encode([FlashMessage("a" * 10_000)] * 20, SECRET)) < 4000


@pytest.mark.parametrize("character", ["ä", "я", "🦊", '"', "\x01", "\ud800"])
def test_any_text_fits_into_a_cookie_that_browsers_keep(character: str):
    value = encode([FlashMessage(character * 10_000)] * 20, SECRET)
    assert len(f"{COOKIE}={value}") < 4096
    assert decode(value, SECRET)[-1].text.startswith(character.encode(errors="replace").decode())


def test_when_there_is_too_much_to_say_the_newest_is_kept():
    value = encode([FlashMessage('"' * 500), FlashMessage("\x01" * 500), FlashMessage("the last")], SECRET)
    assert [message.text[:8] for message in decode(value, SECRET)] == ["the last"]


def test_what_a_page_has_shown_does_not_come_back_with_what_follows(client: TestClient):
    @client.app.get("/late")
    def late(request: Request) -> PlainTextResponse:
        shown = [message.text for message in take_flashes(request)]
        flash(request, FlashMessage("Afterthought"))
        return PlainTextResponse("|".join(shown))

    client.post("/save", follow_redirects=False)
    assert "Saved" in client.get("/late").text
    assert client.get("/page").text == "success:Afterthought"
