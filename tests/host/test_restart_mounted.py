"""A restart of an application that mounts Plugbay, under a server that is not ours."""

import shutil
from pathlib import Path

import httpx2
import pytest
from plugbay.server import RELOADER
from servers import NO_TLS, PASSWORD, START_S, UVICORN, get, serving

ADMIN = ("admin", PASSWORD)
PLAIN_APP = Path(__file__).parents[2] / "examples/plain_app"
STARTED = "Application startup complete"

ENDLESS = """
import asyncio
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from plugbay import Plugbay

app = FastAPI()

@app.get("/endless")
async def endless():
    async def parts():
        yield b"begun"
        await asyncio.Event().wait()
    return StreamingResponse(parts())

bay = Plugbay(app)
"""


@pytest.fixture
def plain_app(tmp_path: Path) -> Path:
    folder = tmp_path / "plain_app"
    shutil.copytree(PLAIN_APP, folder, ignore=shutil.ignore_patterns("data", "__pycache__"))
    return folder


def post(url: str) -> httpx2.Response:
    return httpx2.post(url, auth=ADMIN, timeout=START_S, **NO_TLS)


@pytest.mark.parametrize("how", ["restart", "restart/force"])
def test_under_another_server_a_restart_comes_back_in_the_same_process(plain_app: Path, how: str):
    with serving(plain_app, "app:app", program=UVICORN) as server:
        assert post(f"{server.url}/admin/{how}").status_code == 303
        server.wait_for("running on http", times=2)
        assert get(f"{server.url}/readyz").status_code == 200
        assert get(f"{server.url}/notes/", auth=ADMIN).status_code == 200
    assert "Traceback" not in server.text


def test_under_another_server_a_forced_restart_waits_for_no_open_request(tmp_path: Path):
    (tmp_path / "app.py").write_text(ENDLESS)
    with (
        serving(tmp_path, "app:app", program=UVICORN) as server,
        httpx2.stream("GET", f"{server.url}/endless", timeout=START_S) as answer,
    ):
        parts = answer.iter_raw()  # kept, for it hangs up when it is let go
        assert next(parts) == b"begun"
        post(f"{server.url}/admin/restart/force")
        server.wait_for("running on http", times=2)
        assert get(f"{server.url}/readyz").status_code == 200


@pytest.mark.parametrize("how", ["restart", "restart/force"])
def test_a_worker_that_restarts_is_replaced_by_its_supervisor(plain_app: Path, how: str):
    with serving(plain_app, "app:app", "--workers", "2", program=UVICORN) as server:
        server.wait_for(STARTED, times=2)
        post(f"{server.url}/admin/{how}")
        server.wait_for(STARTED, times=3)
        assert get(f"{server.url}/readyz").status_code == 200


@pytest.mark.parametrize("how", ["restart", "restart/force"])
def test_below_a_reloader_which_would_not_bring_it_back_a_restart_is_refused(plain_app: Path, how: str):
    with serving(plain_app, "app:app", "--reload", program=UVICORN) as server:
        server.wait_for(STARTED)
        with httpx2.Client(base_url=server.url, auth=ADMIN, timeout=START_S) as client:
            page = client.post(f"/admin/{how}", follow_redirects=True).text
        assert RELOADER in page
        assert get(f"{server.url}/readyz").status_code == 200
        assert server.text.count("Shutting down") == 0
