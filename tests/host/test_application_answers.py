"""How `plugbay serve` answers what its routes do not take."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import APIRouter
from fastapi.testclient import TestClient
from plugbay.application import create_app
from pydantic import BaseModel

PASSWORD = "correct horse battery staple"
BROKEN = [
    b"\xff",
    b'{"name": "\xe9"}',
    b"\x1e\xff",
    b"\xff\xfe{\x00}",
    b'{"name": NaN}',
    b'{"name": "\\ud800"}',
    b"{",
]


class Item(BaseModel):
    name: str


def put(item: Item) -> str:
    return item.name


@pytest.fixture
def client(alone: None, tmp_path: Path) -> Iterator[TestClient]:
    config: dict[str, Any] = {"data_dir": tmp_path / "data", "admin_password": PASSWORD}
    app, router = create_app(tmp_path, config), APIRouter(prefix="/api/items")
    router.add_api_route("", list, methods=["GET"])
    router.add_api_route("", put, methods=["POST"])
    router.add_api_route("/{name}", lambda name: name, methods=["GET"])
    router.add_api_route("/{name}", put, methods=["PATCH"])
    router.add_api_route("/{name}", lambda name: name, methods=["DELETE"])
    app.state.plugbay.add_routes("shop", router)
    with TestClient(app, follow_redirects=False) as client:
        client.auth = ("admin", PASSWORD)
        yield client


@pytest.mark.parametrize("root", ["", "/bay"])
def test_a_method_that_a_path_does_not_take_is_told_all_that_it_takes(client: TestClient, root: str):
    """`Allow` named the methods of one route, though a path may have several."""
    below = TestClient(client.app, root_path=root)
    for method in ("OPTIONS", "PUT"):
        assert below.request(method, f"{root}/api/items").headers["allow"] == "GET, POST"
        assert below.request(method, f"{root}/api/items/1").headers["allow"] == "GET, PATCH, DELETE"
    assert below.put(f"{root}/healthz", headers={"Accept": "text/html"}).headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("body", BROKEN)
def test_json_that_cannot_be_read_is_422_whatever_is_wrong_with_it(client: TestClient, body: bytes):
    """What is not UTF-8 was 400, which no document of the API knew of."""
    for method, path in (("POST", "/api/items"), ("PATCH", "/api/items/1")):
        answer = client.request(method, path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 422
        assert answer.json()["detail"][0]["type"] == "json_invalid"


def test_metrics_tell_in_the_document_whom_they_refuse(client: TestClient):
    assert "401" in client.get("/openapi.json").json()["paths"]["/metrics"]["get"]["responses"]
