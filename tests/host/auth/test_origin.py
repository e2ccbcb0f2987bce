import pytest
from fastapi import HTTPException
from plugbay.auth import User, refuse_cross_site_get
from plugbay.auth.browser_security import cross_site_get_signs, cross_site_signs, refuse_cross_site
from plugbay.auth.roles import USER
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

HOST = {"host": "monitor.example:8000"}


def signs(**headers: str) -> list[str]:
    return list(cross_site_signs(Headers(HOST | named(headers))))


def get_signs(**headers: str) -> list[str]:
    return list(cross_site_get_signs(Headers(HOST | named(headers))))


def named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def connection(user: User | None = None, kind: str = "http", **headers: str) -> HTTPConnection:
    raw = [(name.encode(), value.encode()) for name, value in (HOST | named(headers)).items()]
    return HTTPConnection({"type": kind, "headers": raw, "state": {USER: user}})


def test_a_program_says_nothing_about_sites() -> None:
    assert signs() == []
    assert get_signs() == []


@pytest.mark.parametrize("site", ["same-origin", "none", "Same-Origin"])
def test_our_own_page_and_the_address_bar_are_fine(site: str) -> None:
    assert signs(sec_fetch_site=site) == []


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "whatever"])
def test_every_other_site_is_foreign_even_a_sister_domain(site: str) -> None:
    assert signs(sec_fetch_site=site) == ["Sec-Fetch-Site"]


@pytest.mark.parametrize("origin", ["http://monitor.example:8000", "https://monitor.example:8000"])
def test_our_own_origin_is_fine_whatever_a_proxy_made_of_the_scheme(origin: str) -> None:
    assert signs(origin=origin) == []


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://monitor.example",
        "http://monitor.example:8001",
        "http://monitor.example.evil.example:8000",
        "http://evil.example#monitor.example:8000",
        "http://monitor.example:8000@evil.example",
        "null",
        "",
        "http://[",
        "http://monitor.example:99999999",
    ],
)
def test_another_origin_is_foreign(origin: str) -> None:
    assert signs(origin=origin) == ["Origin"]


def test_the_usual_ports_go_without_saying() -> None:
    headers = Headers({"host": "monitor.example:443", "origin": "https://monitor.example"})
    assert list(cross_site_signs(headers)) == []


def test_two_origins_must_both_be_ours() -> None:
    raw = [(b"host", b"a"), (b"origin", b"http://a"), (b"origin", b"http://b")]
    assert list(cross_site_signs(Headers(raw=raw))) == ["Origin"]


def test_without_a_host_no_origin_is_ours() -> None:
    assert list(cross_site_signs(Headers({"origin": "http://monitor.example"}))) == ["Origin"]


def test_a_link_on_another_site_shows_in_the_referer() -> None:
    assert get_signs(referer="https://evil.example/page") == ["Referer"]
    assert get_signs(referer="http://monitor.example:8000/scheduled_query/") == []


@pytest.mark.parametrize("name", ["sec_purpose", "purpose"])
def test_a_prefetch_is_not_a_click(name: str) -> None:
    assert len(get_signs(**{name: "prefetch;prerender"})) == 1


def test_a_foreign_request_is_refused_and_told_why() -> None:
    with pytest.raises(HTTPException, match=r"another site \(Origin\)") as caught:
        refuse_cross_site(connection(origin="https://evil.example"))
    assert caught.value.status_code == 403


def test_a_websocket_is_judged_by_its_origin_alone() -> None:
    refuse_cross_site(connection(kind="websocket", sec_fetch_site="cross-site"))
    with pytest.raises(HTTPException, match="Origin"):
        refuse_cross_site(connection(kind="websocket", origin="https://evil.example"))


@pytest.mark.parametrize("via", ["session", "app", "basic"])
def test_a_get_that_changes_something_is_refused_from_elsewhere(via: str) -> None:
    user = User("ada", "editor", via)  # type: ignore[arg-type]
    refuse_cross_site_get(connection(user))
    with pytest.raises(HTTPException, match="Sec-Fetch-Site"):
        refuse_cross_site_get(connection(user, sec_fetch_site="cross-site"))


def test_a_get_with_a_bearer_token_is_always_meant() -> None:
    refuse_cross_site_get(connection(User("ada", "editor", "token"), referer="https://evil.example/"))
