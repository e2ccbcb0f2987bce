import base64

import pytest
from plugbay.auth.credentials import (
    BasicLogin,
    BearerToken,
    SessionCookie,
    clear_session_cookie,
    cookie_name,
    read_credential,
    session_cookie,
    set_session_cookie,
)
from starlette.requests import HTTPConnection
from starlette.responses import Response


def request(*headers: tuple[str, str], scheme: str = "http", root_path: str = "") -> HTTPConnection:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    return HTTPConnection(
        {"type": "http", "headers": raw, "scheme": scheme, "root_path": root_path, "path": "/"}
    )


def authorization(value: str) -> HTTPConnection:
    return request(("authorization", value))


def basic(text: str, encoding: str = "utf-8") -> str:
    return "Basic " + base64.b64encode(text.encode(encoding)).decode()


def test_a_request_that_shows_nothing_is_nobodys() -> None:
    assert read_credential(request()) is None


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", " Bearer "])
def test_a_bearer_token_is_read(scheme: str) -> None:
    assert read_credential(authorization(f"{scheme} pb_abc")) == BearerToken("pb_abc")


def test_a_name_and_a_password_are_read() -> None:
    assert read_credential(authorization(basic("ada:secret"))) == BasicLogin("ada", "secret")


def test_a_password_may_have_colons() -> None:
    assert read_credential(authorization(basic("ada:a:b:c"))) == BasicLogin("ada", "a:b:c")


def test_names_and_passwords_are_unicode_and_old_clients_send_latin_1() -> None:
    assert read_credential(authorization(basic("zoé:pä"))) == BasicLogin("zoé", "pä")
    assert read_credential(authorization(basic("zoé:pä", "latin-1"))) == BasicLogin("zoé", "pä")


def test_a_token_may_stand_in_the_place_of_the_password() -> None:
    assert BasicLogin("ada", "pb_abc").is_token
    assert not BasicLogin("ada", "secret").is_token


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic",
        "Basic !!!",
        "Basic YWRh",  # no colon
        "Basic YWRh=",
        "Basic YQ==YQ==",
        "Digest username=ada",
        "pb_abc",
        "Basic \xff\xfe",
        "Basic " + "A" * 10_000,
        "Bearer " + "A" * 10_000,
    ],
)
def test_a_malformed_header_is_nobodys(value: str) -> None:
    assert read_credential(authorization(value)) is None


def test_two_authorization_headers_are_nobodys() -> None:
    twice = request(("authorization", "Bearer pb_a"), ("authorization", "Bearer pb_b"))
    assert read_credential(twice) is None


def test_the_header_counts_before_the_cookie_even_when_it_is_wrong() -> None:
    assert read_credential(request(("cookie", "plugbay_session=abc"), ("authorization", "Basic !"))) is None


def test_the_cookie_is_read_among_others() -> None:
    found = read_credential(request(("cookie", "a=b; plugbay_session=abc; plugbay_sessions=x")))
    assert found == SessionCookie("abc")


def test_two_different_cookies_of_our_name_count_for_nothing() -> None:
    assert session_cookie(request(("cookie", "plugbay_session=mine; plugbay_session=theirs"))) is None
    assert session_cookie(request(("cookie", "plugbay_session=a"), ("cookie", "plugbay_session=b"))) is None


def test_the_same_cookie_twice_is_one_cookie() -> None:
    assert session_cookie(request(("cookie", "plugbay_session=abc; plugbay_session=abc"))) == "abc"


@pytest.mark.parametrize("value", ["", "x" * 129, "\xe9", "a b\xff"])
def test_a_value_that_is_none_of_ours_is_no_session(value: str) -> None:
    assert session_cookie(request(("cookie", f"plugbay_session={value}"))) is None


@pytest.mark.parametrize(
    ("scheme", "root_path", "name"),
    [
        ("http", "", "plugbay_session"),
        ("https", "", "__Host-plugbay_session"),
        ("wss", "", "__Host-plugbay_session"),
        ("https", "/monitor", "__Secure-plugbay_session"),
    ],
)
def test_under_https_no_other_domain_can_set_the_cookie(scheme: str, root_path: str, name: str) -> None:
    assert cookie_name(request(scheme=scheme, root_path=root_path)) == name


def test_the_cookie_of_plain_http_is_not_taken_under_https() -> None:
    assert session_cookie(request(("cookie", "plugbay_session=abc"), scheme="https")) is None


def set_cookie(**options: str) -> set[str]:
    response = Response()
    set_session_cookie(request(**options), response, "abc", 60)  # type: ignore[arg-type]
    return set(response.headers["set-cookie"].split("; "))


def test_the_cookie_is_kept_from_scripts_and_other_sites() -> None:
    assert set_cookie() == {"plugbay_session=abc", "HttpOnly", "Max-Age=60", "Path=/", "SameSite=lax"}


def test_the_cookie_travels_only_encrypted_under_https() -> None:
    assert {"__Host-plugbay_session=abc", "Secure", "Path=/"} <= set_cookie(scheme="https")


def test_the_cookie_stays_below_the_sub_path() -> None:
    assert "Path=/monitor" in set_cookie(root_path="/monitor")


def test_a_cleared_cookie_is_gone_at_once() -> None:
    response = Response()
    clear_session_cookie(request(), response)
    assert "Max-Age=0" in response.headers["set-cookie"]
