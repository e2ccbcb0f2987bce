"""A router that answers only below its path."""

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient
from plugbay_scheduled_query.web import RoutesBelow


@pytest.fixture
def client():
    inner = APIRouter(prefix="/api")

    @inner.get("/one")
    def one() -> str:
        return "one"

    @inner.get("/of/{number}")
    def of(number: int) -> int:
        return number

    outer, app = APIRouter(), FastAPI()
    outer.include_router(RoutesBelow("/api", [inner]))
    app.include_router(outer)
    app.include_router(outer, prefix="/mounted")
    return TestClient(app)


@pytest.mark.parametrize("prefix", ["", "/mounted"])
def test_its_routes_answer_wherever_it_is_mounted(client, prefix):
    assert client.get(f"{prefix}/api/one").json() == "one"
    assert client.get(f"{prefix}/api/of/7").json() == 7


@pytest.mark.parametrize("path", ["/", "/one", "/apis", "/api", "/api/two"])
def test_other_paths_are_not_found(client, path):
    assert client.get(path).status_code == 404


def test_a_wrong_method_is_told_from_a_wrong_path(client):
    assert client.post("/api/one").status_code == 405


def test_what_it_answers_is_documented(client):
    assert {"/api/one", "/api/of/{number}"} <= client.app.openapi()["paths"].keys()


def test_it_does_not_ask_its_routes_about_other_paths(monkeypatch):
    asked = []
    monkeypatch.setattr(APIRouter, "matches", lambda self, scope: asked.append(scope["path"]))
    router = RoutesBelow("/api", [])
    router.matches({"path": "/scheduled_query/"})
    router.matches({"path": "/api/one"})
    assert asked == ["/api/one"]
