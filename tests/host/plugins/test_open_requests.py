"""Visitors of a plugin's pages while it comes and goes: they get an answer or a 404, never a failure."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi import Depends, FastAPI, WebSocket
from fastapi.testclient import TestClient
from plugbay import Plugbay
from plugbay.plugins import OpenRequests

BODY = """
from fastapi import APIRouter, Depends
from fastapi.responses import PlainTextResponse
from plugbay import BaseModule, Plugbay

class Slow(BaseModule):
    def on_load(self):
        self.module_router = APIRouter()
        self.module_router.add_api_route("/", self.page)

    def on_load_complete(self, fast_pluggy):
        world.completing(fast_pluggy)
        self.host = fast_pluggy

    def page(self):
        world.inside.set()
        world.let_go.wait(60)
        return self.host.config.app_name

    def on_unload(self):
        world.told.append("unload")
        del self.host
"""


class World:
    """What the plugin and the test see of each other."""

    def __init__(self) -> None:
        self.inside, self.let_go = threading.Event(), threading.Event()
        self.told: list[Any] = []
        self.completing: Callable[[Plugbay], object] = lambda host: None


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A plugin whose page takes as long as the test wants."""
    world = World()
    monkeypatch.setattr("builtins.world", world, raising=False)
    folder = tmp_path / "plugins/slow"
    folder.mkdir(parents=True)
    (folder / "plugin.py").write_text(BODY)
    return world


def test_a_plugin_goes_after_the_last_request_has_been_answered(
    world: World, make_host, client_of, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("plugbay.plugins.activation.LEAVE_LIMIT_S", 60)
    host = make_host()
    client = client_of(host)
    with ThreadPoolExecutor(2) as pool:
        page = pool.submit(client.get, "/slow/")
        assert world.inside.wait(60)
        going = pool.submit(host.modules.disable, "slow")
        stranger = TestClient(host.app, follow_redirects=False)
        while stranger.get("/slow/").status_code != 404:
            pass  # its routes are gone at once
        assert world.told == []
        world.let_go.set()
        assert page.result().json() == "Plugbay"
        assert going.result().state.value == "disabled"
    assert world.told == ["unload"]


def test_a_plugin_does_not_wait_for_ever(
    world: World, make_host, client_of, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr("plugbay.plugins.activation.LEAVE_LIMIT_S", 0.05)
    host = make_host()
    client = client_of(host)
    client.raise_server_exceptions = False
    with ThreadPoolExecutor(1) as pool:
        page = pool.submit(client.get, "/slow/")
        assert world.inside.wait(60)
        host.modules.disable("slow")
        assert world.told == ["unload"]
        world.let_go.set()
        page.exception()
    assert "requests_left_behind plugin=slow" in caplog.text


def test_nobody_is_let_in_before_a_plugin_is_complete(world: World, make_host):
    world.let_go.set()

    def visit(host: Plugbay) -> None:
        with ThreadPoolExecutor(1) as pool:
            world.told.append(pool.submit(TestClient(host.app).get, "/slow/").result().status_code)

    world.completing = visit
    host = make_host()
    assert world.told == [404]
    client = TestClient(host.app, follow_redirects=False)
    assert client.get("/slow/").status_code == 303  # to the login
    host.reload()
    assert world.told == [404, "unload", 404]


def test_who_was_on_the_way_when_it_went_is_told_that_it_is_gone() -> None:
    app, visits = FastAPI(), OpenRequests()
    app.add_api_route("/", lambda: "here", dependencies=[Depends(visits)])
    assert TestClient(app).get("/").status_code == 404
    visits.open()
    assert TestClient(app).get("/").json() == "here"
    assert not visits.close(0)  # no middleware of ours stands around this application: nobody left
    assert TestClient(app).get("/").status_code == 404


def test_a_websocket_holds_nobody_up() -> None:
    app, visits = FastAPI(), OpenRequests()

    async def talk(websocket: WebSocket) -> None:
        await visits(websocket)
        await websocket.accept()
        await websocket.send_text(str(visits.close(0)))
        await websocket.close()

    app.add_api_websocket_route("/talk", talk)
    with TestClient(app).websocket_connect("/talk") as socket:
        assert socket.receive_text() == "True"
