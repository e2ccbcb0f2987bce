"""A slash too many or too few: whoever may ask is led on, by a path of ours and not by what `Host` says."""

from collections.abc import Callable

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import iter_route_contexts
from plugbay import Plugbay
from plugbay.application import create_app
from plugbay.auth import add_user
from visitor import Visitor

PASSWORD = "correct horse"
EVIL = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}


@pytest.fixture
def host(make_host: Callable[..., Plugbay]) -> Plugbay:
    host, router = make_host(), APIRouter()
    router.add_api_route("/shop/", lambda: "the shop", methods=["GET"])
    router.add_api_route("/shop/buy", lambda: "bought", methods=["POST"])
    host.add_routes("shop", router)
    add_user(host.store, "ann", PASSWORD, "admin")
    return host


def other(path: str) -> str:
    return path.rstrip("/") if path.endswith("/") else path + "/"


def test_nobody_is_led_anywhere_by_the_host_header(host: Plugbay) -> None:
    """Every page of ours with a slash more led to `http://evil.example/…`, before any login."""
    paths = {str(route.path_format) for route in iter_route_contexts(host.app.router.routes)}
    ours = [path for path in paths if path != "/" and not path.startswith(("/docs", "/redoc", "/openapi"))]
    assert len(ours) > 20
    for path in map(other, ours):
        for method in ("GET", "POST", "DELETE"):
            for login in ({}, {"auth": ("ann", PASSWORD)}):
                answer = Visitor(host.app).request(method, path, headers=EVIL, **login)
                assert "evil" not in answer.headers.get("location", ""), path
                assert answer.headers.get("location", "/").startswith("/"), path


@pytest.mark.parametrize("path", ["/admin/users/", "/shop", "/metrics/", "/account/", "/admin/users/1/"])
def test_a_stranger_hears_of_the_login_first(host: Plugbay, path: str) -> None:
    answer = Visitor(host.app).get(path, headers=EVIL)
    if path == "/metrics/":
        assert answer.status_code == 401
    else:
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/login?next=/")
    assert Visitor(host.app).post(path, headers=EVIL).status_code == 401


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/admin/users/", "/admin/users"),
        ("/admin/users///", "/admin/users"),
        ("/admin/users/?page=2&a=%2F", "/admin/users?page=2&a=%2F"),
        ("/shop", "/shop/"),
        ("/static/plugbay/ä.css/", None),
    ],
)
def test_a_visitor_is_led_on(host: Plugbay, path: str, target: str | None) -> None:
    answer = Visitor(host.app).get(path, headers=EVIL, auth=("ann", PASSWORD))
    assert answer.headers.get("location") == target
    assert answer.status_code == (307 if target else 404)


def test_a_form_keeps_its_method(host: Plugbay) -> None:
    answer = Visitor(host.app).post("/shop/buy/", auth=("ann", PASSWORD))
    assert (answer.status_code, answer.headers["location"]) == (307, "/shop/buy")


def test_what_is_open_stays_open(host: Plugbay) -> None:
    answer = Visitor(host.app).get("/healthz/", headers=EVIL)
    assert (answer.status_code, answer.headers["location"]) == (307, "/healthz")


@pytest.mark.parametrize(
    "path", ["/nothing/", "/nothing", "//evil.example/", "//evil.example/..//shop", "/x/shop"]
)
def test_what_does_not_exist_is_404_for_everybody(host: Plugbay, path: str) -> None:
    for login in ({}, {"auth": ("ann", PASSWORD)}):
        assert Visitor(host.app).get(f"http://testserver{path}", headers=EVIL, **login).status_code == 404


def test_a_sub_path_stays(host: Plugbay) -> None:
    visitor = Visitor(host.app, root_path="/bay")
    answer = visitor.get("/bay/shop", auth=("ann", PASSWORD))
    assert answer.headers["location"] == "/bay/shop/"


def test_the_pages_of_the_application_are_led_as_it_likes(make_host: Callable[..., Plugbay]) -> None:
    app = FastAPI()
    app.add_api_route("/own", lambda: "its own", methods=["GET"])
    make_host(app=app)
    assert Visitor(app).get("/own/").headers["location"] == "http://testserver/own"


def test_the_host_alone_has_no_other_redirects(tmp_path, alone) -> None:
    app = create_app(tmp_path, {"data_dir": tmp_path / "data"})
    assert not app.router.redirect_slashes
    app.state.plugbay.stop(0)
