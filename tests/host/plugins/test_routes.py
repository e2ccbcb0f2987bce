from pathlib import Path

import pytest
from fastapi import APIRouter, Depends, FastAPI, WebSocket
from fastapi.testclient import TestClient
from plugbay.errors import PluginRefused
from plugbay.plugins.routes import Contribution, RouteTable
from starlette.routing import Route
from starlette.staticfiles import StaticFiles


def router_with(path: str, answer: str, method: str = "GET") -> APIRouter:
    router = APIRouter()
    router.add_api_route(path, lambda: answer, methods=[method])
    return router


@pytest.fixture
def app() -> FastAPI:
    app = FastAPI()
    app.get("/own")(lambda: "the application's")
    return app


def test_a_router_is_served_and_taken_back_while_the_application_runs(app: FastAPI):
    table, client = RouteTable(app), TestClient(app)
    table.replace([Contribution("shop", router_with("/orders", "orders"), "/shop")])
    assert client.get("/shop/orders").json() == "orders"
    assert "/shop/orders" in client.get("/openapi.json").json()["paths"]
    table.replace([])
    assert client.get("/shop/orders").status_code == 404
    assert "/shop/orders" not in client.get("/openapi.json").json()["paths"]
    assert client.get("/own").json() == "the application's"


def test_dependencies_of_the_contribution_and_of_the_application_both_run():
    ran: list[str] = []
    app = FastAPI(dependencies=[Depends(lambda: ran.append("application"))])
    guard = Depends(lambda: ran.append("guard"))
    RouteTable(app).replace([Contribution("shop", router_with("/orders", ""), "/shop", [guard])])
    TestClient(app).get("/shop/orders")
    assert sorted(ran) == ["application", "guard"]


def test_the_applications_later_routes_win_over_ours(app: FastAPI):
    table = RouteTable(app)
    table.replace([Contribution("plugbay", router_with("/", "ours"))])
    app.get("/")(lambda: "the application's")
    table.keep_last()
    assert TestClient(app).get("/").json() == "the application's"


def test_routes_can_be_left_out_of_the_schema(app: FastAPI):
    RouteTable(app).replace(
        [Contribution("shop", router_with("/orders", ""), "/shop", include_in_schema=False)]
    )
    assert "/shop/orders" not in app.openapi()["paths"]


@pytest.mark.parametrize(
    ("taken", "wanted"),
    [
        ("/a/b", "/a/b"),
        ("/a/{x}", "/a/{y}"),
        ("/a/{x:path}", "/a/b/c"),
        ("/a/{x}", "/a/b"),
        ("/a/{x:int}", "/a/{y:int}"),
        ("/a/{x:uuid}", "/a/{y:uuid}"),
    ],
)
def test_a_path_that_another_would_answer_is_taken(app: FastAPI, taken: str, wanted: str):
    table = RouteTable(app)
    table.replace([Contribution("first", router_with(taken, ""))])
    with pytest.raises(PluginRefused, match="is already taken by first"):
        table.check(Contribution("second", router_with(wanted, "")))


@pytest.mark.parametrize(
    ("taken", "wanted", "method"),
    [
        ("/a/b", "/a/{x}", "GET"),
        ("/a/b", "/a/b", "POST"),
        ("/a/{x:int}", "/a/b", "GET"),
        ("/a", "/a/b", "GET"),
    ],
)
def test_a_path_that_nobody_would_answer_is_free(app: FastAPI, taken: str, wanted: str, method: str):
    table = RouteTable(app)
    table.replace([Contribution("first", router_with(taken, ""))])
    table.check(Contribution("second", router_with(wanted, "", method)))


def test_the_applications_routes_are_taken(app: FastAPI):
    with pytest.raises(PluginRefused, match="its route GET /own is already taken by the application"):
        RouteTable(app).check(Contribution("shop", router_with("/own", "")))


def test_a_websocket_is_checked_too(app: FastAPI):
    async def talk(socket: WebSocket) -> None:
        await socket.accept()

    first, second = APIRouter(), APIRouter()
    first.add_api_websocket_route("/talk", talk)
    second.add_api_websocket_route("/talk", talk)
    table = RouteTable(app)
    table.replace([Contribution("first", first)])
    with pytest.raises(PluginRefused, match="already taken by first"):
        table.check(Contribution("second", second))


@pytest.mark.parametrize("kind", ["Mount", "Route"])
def test_what_the_guard_cannot_stand_before_is_refused(app: FastAPI, kind: str, tmp_path: Path):
    router = APIRouter()
    if kind == "Mount":
        router.mount("/files", StaticFiles(directory=tmp_path))
    else:
        router.routes.append(Route("/plain", lambda request: None))
    with pytest.raises(PluginRefused, match=f"is a {kind}, which the login cannot guard"):
        RouteTable(app).check(Contribution("shop", router, "/shop"))


def test_the_routes_of_an_owner_have_their_full_paths(app: FastAPI):
    table = RouteTable(app)
    table.replace(
        [Contribution("shop", router_with("/orders", ""), "/shop"), Contribution("x", router_with("/y", ""))]
    )
    assert [route.path for route in table.of_owner("shop")] == ["/shop/orders"]
