"""`plugbay serve` as a process: start, stop, restart in place."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import httpx2
import pytest
from plugbay.server import LISTEN_FD, Restarter, listen
from servers import PASSWORD, START_S, get, plugbay, serving

ADMIN = ("admin", PASSWORD)


def csrf_login(client: httpx2.Client) -> str:
    """Logs a browser-like client in and returns its CSRF token."""
    client.post("/login", data={"username": "admin", "password": PASSWORD, "next": "/"})
    page = client.get("/account").text
    return page.split('name="csrf-token" content="')[1].split('"')[0]


def test_it_says_where_it_is_and_stops_cleanly(tmp_path: Path):
    with serving(tmp_path) as server:
        assert get(f"{server.url}/readyz").json() == {"status": "ready"}
        assert server.stop() in (0, -signal.SIGTERM)
    assert "Traceback" not in server.text


def test_a_second_start_leaves_for_later_what_a_ready_server_does_not_need(tmp_path: Path):
    program = """
        import sys
        from plugbay import server
        from plugbay.application import create_app
        host = create_app(config={"samples": False}).state.plugbay
        assert {plugin.name for plugin in host.modules.loaded()} > {"scheduled_query"}
        host.stop(0)
        heavy = ("sqlglot", "alembic", "sqlalchemy.orm", "sqlalchemy.dialects.postgresql", "duckdb")
        print([name for name in heavy if name in sys.modules])
    """
    for _ in range(2):
        command = [sys.executable, "-c", textwrap.dedent(program)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_the_generated_password_is_printed_once_and_works(tmp_path: Path):
    with serving(tmp_path, PLUGBAY_ADMIN_PASSWORD="") as server:
        url = server.url
        password = server.text.split("with the password ")[1].split(" ")[0]
        assert get(f"{url}/metrics", auth=("admin", password)).status_code == 200
    with serving(tmp_path, PLUGBAY_ADMIN_PASSWORD="") as server:
        assert server.url
        assert "with the password" not in server.text


def test_a_port_that_is_taken_is_named(tmp_path: Path):
    with serving(tmp_path) as server:
        port = server.url.rsplit(":", 1)[1]
        done = plugbay(tmp_path, "serve", "--port", port)
        assert done.returncode == 2
        assert f"127.0.0.1:{port}" in done.stderr


@pytest.mark.parametrize("how", ["restart", "restart/force"])
def test_a_restart_comes_back_in_the_same_process_on_the_same_port(tmp_path: Path, how: str):
    with serving(tmp_path) as server, httpx2.Client(base_url=server.url, timeout=START_S) as client:
        url, pid = server.url, server.process.pid
        token = csrf_login(client)
        answer = client.post(f"/admin/{how}", data={"csrf_token": token}, follow_redirects=False)
        assert answer.status_code == 303
        server.wait_for("running on http", times=2)
        assert server.url == url
        assert get(f"{url}/readyz").status_code == 200
        os.kill(pid, 0)
        assert client.get("/account", follow_redirects=False).status_code == 200


def test_a_sub_path_of_a_reverse_proxy_is_honoured(tmp_path: Path):
    with serving(tmp_path, "--root-path", "/bay") as server:
        root = server.url.removesuffix("/bay")
        answer = get(f"{root}/docs", follow_redirects=False)
        assert answer.headers["location"].startswith("/bay/login?next=")


def test_two_servers_on_one_store_share_users_and_sessions(tmp_path: Path):
    with (
        serving(tmp_path) as first,
        serving(tmp_path) as second,
        httpx2.Client(base_url=first.url, timeout=START_S) as client,
    ):
        csrf_login(client)
        cookies = dict(client.cookies)
        answer = get(f"{second.url}/account", cookies=cookies, follow_redirects=False)
        assert answer.status_code == 200


def test_the_socket_of_the_former_life_is_taken_over_and_kept_from_children(monkeypatch: pytest.MonkeyPatch):
    with listen("127.0.0.1", 0) as first:
        kept = os.dup(first.fileno())
        os.set_inheritable(kept, True)
        monkeypatch.setenv(LISTEN_FD, str(kept))
        with listen("127.0.0.1", 0) as second:
            assert second.getsockname() == first.getsockname()
            assert not second.get_inheritable()
    assert LISTEN_FD not in os.environ


@pytest.mark.parametrize("stale", ["", "nothing", "-1", "9999"])
def test_a_stale_variable_of_a_former_life_is_ignored(monkeypatch: pytest.MonkeyPatch, stale: str):
    monkeypatch.setenv(LISTEN_FD, stale)
    with listen("127.0.0.1", 0) as sock:
        assert sock.getsockname()[1] > 0


def test_a_second_wish_to_restart_never_takes_back_a_forced_one():
    restarter = Restarter()
    restarter.stop_server = lambda force: None
    restarter.request(force=True)
    restarter.request(force=False)
    assert restarter.is_requested
    assert restarter.is_forced


THREAD = """
import threading
from plugbay import BaseModule

class Ticks(BaseModule):
    def on_load(self):
        self.over = threading.Event()
        threading.Thread(target=self.over.wait).start()

    def on_unload(self):
        self.over.set()
"""


@pytest.mark.parametrize("command", ["plugins", "check"])
def test_a_thread_of_a_plugin_holds_up_no_command_and_no_stop(tmp_path: Path, command: str):
    (tmp_path / "plugins/ticks").mkdir(parents=True)
    (tmp_path / "plugins/ticks/plugin.py").write_text(THREAD)
    assert plugbay(tmp_path, command).returncode == 0
    with serving(tmp_path) as server:
        assert server.url
        assert server.stop() in (0, -signal.SIGTERM)
