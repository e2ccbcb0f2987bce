import pytest
from plugbay.web.requests import MAX_NEXT, came_from, is_machine_path, login_url, route_path, safe_next
from starlette.requests import HTTPConnection


def request(path: str = "/", root_path: str = "", query: str = "") -> HTTPConnection:
    scope = {"type": "http", "path": path, "root_path": root_path, "headers": []}
    return HTTPConnection({**scope, "query_string": query.encode()})


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/account",
        "/scheduled_query/?page=2&limit=10",
        "/a/b#part",
        "/a%20b",
        "/?q=%C3%A9",
        "/a//b",
        "/x?u=https://y",
    ],
)
def test_a_path_on_this_site_is_where_the_login_leads(path: str) -> None:
    assert safe_next(path, request()) == path


@pytest.mark.parametrize(
    "elsewhere",
    [
        "",
        "account",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\\/evil.example",
        "https://evil.example/",
        "https:evil.example",
        "HTTPS://evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "/%2fevil.example",
        "/%2Fevil.example",
        "/%5cevil.example",
        "/%5C%5Cevil.example",
        "/%252fevil.example",
        "%2f%2fevil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "\t//evil.example",
        " //evil.example",
        "/%09/evil.example",
        "/%0d%0aSet-Cookie:%20a=b",
        "/a\r\nSet-Cookie: a=b",
        "/\x00",
        "/\x7f",
        "/\u2028",
        "/\ud800",
        "/" + "a" * MAX_NEXT,
    ],
)
def test_anything_else_leads_to_the_front_page(elsewhere: str) -> None:
    assert safe_next(elsewhere, request()) == "/"
    assert safe_next(elsewhere, request(root_path="/monitor")) == "/monitor/"


def test_letters_beyond_ascii_are_encoded_for_the_header() -> None:
    assert safe_next("/größe?q=é", request()) == "/gr%C3%B6%C3%9Fe?q=%C3%A9"


@pytest.mark.parametrize("path", ["/login", "/login?next=/account", "/logout"])
def test_a_login_does_not_lead_back_to_itself(path: str) -> None:
    assert safe_next(path, request()) == "/"
    assert safe_next("/monitor" + path, request(root_path="/monitor")) == "/monitor/"


def test_the_login_page_is_told_path_and_query() -> None:
    assert login_url(request("/a b", query="x=1&y=%2F")) == "/login?next=/a%2520b%3Fx%3D1%26y%3D%252F"


def test_what_the_login_page_is_told_is_where_it_leads() -> None:
    wanted = request("/scheduled_query/", query="search=a%20b&page=2")
    told = HTTPConnection({**request().scope, "query_string": login_url(wanted).partition("?")[2].encode()})
    assert safe_next(told.query_params["next"], wanted) == "/scheduled_query/?search=a%20b&page=2"


def test_a_very_long_address_is_forgotten_at_the_login() -> None:
    assert login_url(request("/", query="x" * MAX_NEXT)) == "/login"


def test_the_login_page_stands_below_the_sub_path_even_if_the_proxy_cuts_it_off() -> None:
    assert login_url(request("/monitor/a", "/monitor")) == "/monitor/login?next=/monitor/a"
    assert login_url(request("/a", "/monitor")) == "/monitor/login?next=/monitor/a"


@pytest.mark.parametrize(
    ("path", "root_path", "below"),
    [
        ("/a", "", "/a"),
        ("/monitor/a", "/monitor", "/a"),
        ("/monitor", "/monitor", "/"),
        ("/monitors/a", "/monitor", "/monitors/a"),
        ("/monitor/a", "/monitor/", "/a"),
    ],
)
def test_the_sub_path_of_a_proxy_is_not_part_of_the_route(path: str, root_path: str, below: str) -> None:
    assert route_path(request(path, root_path).scope) == below


@pytest.mark.parametrize("path", ["/api/x", "/api/", "/api", "/metrics", "/metrics/", "/openapi.json"])
def test_programs_ask_here(path: str) -> None:
    assert is_machine_path(request(path).scope)
    assert is_machine_path(request("/monitor" + path, "/monitor").scope)


@pytest.mark.parametrize("path", ["/", "/apiary", "/metricsish", "/account", "/x/api/y"])
def test_people_ask_here(path: str) -> None:
    assert not is_machine_path(request(path).scope)


def sent_from(referer: str, root_path: str = "", below: str = "/") -> str | None:
    headers = [(b"referer", referer.encode("latin-1")), (b"host", b"bay.example")]
    scope = {"type": "http", "path": "/", "root_path": root_path, "headers": headers, "query_string": b""}
    return came_from(HTTPConnection(scope), below)


@pytest.mark.parametrize("path", ["/shop/", "/shop/list?tag=x&page=2", "/shop/?a=%5C%0A", "/shop/?q=%C3%A9"])
def test_the_way_back_leads_to_the_page_that_a_form_was_sent_from(path: str) -> None:
    assert sent_from(f"https://bay.example{path}#row") == path
    assert sent_from(f"https://bay.example{path}", below="/shop/") == path
    assert sent_from(f"https://bay.example/bay{path}", "/bay", "/shop/") == f"/bay{path}"


@pytest.mark.parametrize(
    "referer",
    ["", "https://evil.example/", "https://bay.example//evil.example", "https://[bay.example/", "/shop/"],
)
def test_the_way_back_leads_nowhere_else(referer: str) -> None:
    assert sent_from(referer) is None


def test_the_way_back_stays_below_the_pages_that_ask_for_it() -> None:
    assert sent_from("https://bay.example/admin/plugins", below="/shop/") is None
    assert sent_from("https://bay.example/shop/", "/bay", "/shop/") is None
    assert sent_from("https://bay.example/login") is None
