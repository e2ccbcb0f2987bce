"""Several hosts in one process share the routes that FastAPI has read, and nothing else."""

import asyncio
import sys
from base64 import b64encode
from collections.abc import Callable
from importlib.metadata import EntryPoint
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Depends, FastAPI
from fastapi.concurrency import run_in_threadpool
from fastapi.testclient import TestClient
from host.conftest import PASSWORD
from own_thread import in_own_thread
from plugbay import BaseModule, Plugbay
from plugbay.plugins.discovery import PluginSource
from starlette.routing import BaseRoute

MakeHost = Callable[..., Plugbay]
ClientOf = Callable[..., TestClient]


def greeting() -> str:
    return "hello"


shared = APIRouter()


@shared.get("/greeting")
def greet(said: Annotated[str, Depends(greeting)]) -> str:
    return said


@shared.post("/parcel")
async def take(parcel: dict[str, str]) -> str:
    return "taken"


class Greeter(BaseModule):
    """A plugin of an installed package, whose router is the module's."""

    module_name = "greeter"
    module_router = shared

    def on_load(self) -> None: ...


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, alone: None) -> None:
    package = ModuleType("greeter_package")
    package.Greeter = Greeter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "greeter_package", package)
    point = EntryPoint("greeter", "greeter_package:Greeter", "plugbay.plugins")
    sources = [PluginSource("greeter", "package", entry_point=point)]
    monkeypatch.setattr("plugbay.plugins.manager.find_installed", lambda: sources)


@pytest.fixture
def make_two(make_host: MakeHost, tmp_path: Path) -> Callable[[], tuple[Plugbay, Plugbay]]:
    return lambda: (make_host(), make_host(config={"data_dir": tmp_path / "other"}))


def our_routes(host: Plugbay) -> list[BaseRoute]:
    return [route for route in host.app.router.routes if type(route).__name__ == "_IncludedRouter"]


@pytest.mark.usefixtures("installed")
def test_a_route_is_read_once_in_a_process(make_two):
    first, second = make_two()
    assert len(our_routes(first)) > 5
    assert list(map(id, our_routes(first))) == list(map(id, our_routes(second)))


def test_each_host_answers_with_what_is_its_own(make_two, client_of: ClientOf):
    first, second = make_two()
    first.metrics.add("shop", lambda: "orders 1\n")
    second.metrics.add("shop", lambda: "orders 2\n")
    second.health.add("shop", lambda: "it is closed")
    answers = [client_of(host).get("/metrics").text for host in (first, second)]
    assert answers == ["orders 1\n", "orders 2\n"]
    assert [client_of(host).get("/readyz").status_code for host in (first, second)] == [200, 503]


@pytest.mark.usefixtures("installed")
def test_a_plugin_that_goes_in_one_host_stays_in_the_other(make_two, client_of: ClientOf):
    first, second = make_two()
    clients = [client_of(host) for host in (first, second)]
    assert [client.get("/greeter/greeting").status_code for client in clients] == [200, 200]
    first.modules.disable("greeter")
    assert [client.get("/greeter/greeting").status_code for client in clients] == [404, 200]
    first.modules.enable("greeter")
    assert [client.get("/greeter/greeting").status_code for client in clients] == [200, 200]


@pytest.mark.usefixtures("installed")
def test_an_application_overrides_dependencies_for_itself_alone(make_two, client_of: ClientOf):
    first, second = make_two()
    first.app.dependency_overrides[greeting] = lambda: "good day"
    said = [client_of(host).get("/greeter/greeting").json() for host in (first, second)]
    assert said == ["good day", "hello"]


@pytest.mark.usefixtures("installed")
def test_dependencies_of_an_application_hold_for_itself_alone(make_host: MakeHost, tmp_path: Path, client_of):
    asked: list[str] = []
    strict = make_host(app=FastAPI(dependencies=[Depends(lambda: asked.append("strict"))]))
    plain = make_host(config={"data_dir": tmp_path / "other"})
    assert client_of(plain).get("/greeter/greeting").json() == "hello"
    assert asked == []
    assert client_of(strict).get("/greeter/greeting").json() == "hello"
    assert asked == ["strict"]


@pytest.mark.usefixtures("installed")
def test_a_request_on_its_way_to_an_earlier_load_is_told_that_it_is_gone(make_host: MakeHost):
    host = make_host()
    assert in_own_thread(asyncio.run, posted(host, "/greeter/parcel")) == 200
    assert in_own_thread(asyncio.run, posted(host, "/greeter/parcel", host.reload)) == 404
    assert in_own_thread(asyncio.run, posted(host, "/greeter/parcel")) == 200


async def posted(host: Plugbay, path: str, meanwhile: Callable[[], object] = bool) -> int:
    """The status of a request before whose body something happens."""
    basic = b64encode(f"admin:{PASSWORD}".encode())
    heads = {b"host": b"x", b"authorization": b"Basic " + basic, b"content-type": b"application/json"}
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": [*heads.items()]}
    answers: list[Any] = []

    async def receive() -> dict[str, Any]:
        await run_in_threadpool(meanwhile)
        return {"type": "http.request", "body": b"{}"}

    async def send(message: Any) -> None:
        answers.append(message)

    async with host.app.router.lifespan_context(host.app):
        await host.app(scope | {"client": ("127.0.0.1", 1), "server": ("x", 80)}, receive, send)
    return int(answers[0]["status"])


def test_an_application_with_dependencies_of_its_own_is_forgotten(make_host: MakeHost):
    app = FastAPI(dependencies=[Depends(lambda: app.title)])
    host = make_host(app=app)
    assert not [
        key
        for item in host._routes.contributions
        for key in vars(item.router).get("plugbay_included", {})
        if any(id(gate.dependency) in map(itemgetter(0), key[3:]) for gate in app.router.dependencies)
    ]
