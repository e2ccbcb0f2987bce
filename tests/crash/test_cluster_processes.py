"""Two web servers and two workers on one PostgreSQL, as real processes: what one starts another does."""

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx2
import postgres
import psycopg
import pytest
import sqlalchemy as sa
from runner_kit import eventually
from servers import NO_TLS, PASSWORD, PLUGBAY, START_S, Server, environment, serving

SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e15) SELECT COUNT(*) FROM n"
YEARLY = "0 0 1 1 *"
SHOP = """
import os
from fastapi import APIRouter
from plugbay import BaseModule

router = APIRouter()

class Shop(BaseModule):
    depends_on = {"task_worker": ">=0.3.0"}

    def on_load(self):
        self.module_router = router

    def on_load_complete(self, fast_pluggy):
        engine = fast_pluggy.get_module("task_worker").engine
        engine.handle(owner="shop", name="pack", call=self.pack)
        router.post("/pack/{n}")(lambda n: {"id": engine.submit("shop", "pack", {"n": n})})

    def pack(self, job):
        print("packed", job.payload["n"], flush=True)
"""
AHEAD = """
import sys
from datetime import timedelta
from plugbay.clock import SystemClock
right = SystemClock.now
SystemClock.now = lambda self: right(self) + timedelta(minutes=5)
from plugbay.cli import main
sys.exit(main())
"""


class Worker:
    """One `plugbay worker`; its output is kept."""

    def __init__(self, cluster: "Cluster", *program: str) -> None:
        self.output: list[str] = []
        self._is_ready = threading.Event()
        number = len(list(cluster.folder.glob("worker-*")))
        command = [*(program or [str(PLUGBAY)]), "worker", "--concurrency", "4"]
        command += ["--data-dir", str(cluster.folder / f"worker-{number}")]
        self.process = subprocess.Popen(
            command,
            cwd=cluster.folder,
            env=environment(**cluster.variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._is_ready.wait(START_S)
        assert self.process.poll() is None, self.text

    @property
    def text(self) -> str:
        return "".join(self.output)

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(START_S)
        self._reader.join(START_S)
        assert self.process.stdout
        self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.output.append(line)
            if "is working on" in line:
                self._is_ready.set()
        self._is_ready.set()


class Cluster:
    """What all processes share."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self._plain = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        with closing(sqlite3.connect(folder / "shop.db")) as connection, connection:
            connection.execute("CREATE TABLE orders (total REAL)")
        plugin = folder / "plugins/shop"
        plugin.mkdir(parents=True)
        (plugin / "plugin.py").write_text(SHOP)
        self.variables = {
            "PLUGBAY_DATABASE_URL": url,
            "PLUGBAY_ADMIN_PASSWORD": PASSWORD,
            "PLUGBAY_SAMPLES": "false",
            "PLUGBAY_SESSION_SECRET_KEY": "a secret of more than thirty-two bytes",
            "PLUGBAY_ENCRYPTION_KEY": "mF0p6cXJvG3C6yL3mQkq8cZpH9rL1wQb2Vv0Yk3m3mA=",
            "SCHEDULED_QUERY_SOURCES": f'{{"shop": "sqlite:///{folder / "shop.db"}"}}',
            "SCHEDULED_QUERY_INTERVAL": "0",
        }

    def sql(self, text: str) -> list[Any]:
        with psycopg.connect(self._plain, autocommit=True) as connection:
            return connection.execute(text.encode()).fetchall()


@pytest.fixture(scope="module")
def cluster(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with postgres.database(postgres_server) as url:
        yield Cluster(tmp_path_factory.mktemp("cluster"), url)


@pytest.fixture(scope="module")
def servers(cluster: Cluster) -> Iterator[list[Server]]:
    """Two that start together on an empty database, and leave the work to workers."""
    with ExitStack() as stack:
        variables = {**cluster.variables, "TASK_WORKER_SERVER_WORKS": "false"}
        started = [
            stack.enter_context(
                serving(cluster.folder, "--data-dir", str(cluster.folder / name), **variables)
            )
            for name in ("one", "other")
        ]
        assert all(server.url for server in started)
        yield started


@pytest.fixture
def worker(servers: list[Server], cluster: Cluster) -> Iterator[Worker]:
    worker = Worker(cluster)
    yield worker
    worker.end()


def ask(server: Server, method: str, path: str, **fields: Any) -> httpx2.Response:
    options = {"auth": ("admin", PASSWORD), "timeout": START_S, **NO_TLS}
    return httpx2.request(method, f"{server.url}{path}", **options, **fields)


def add_query(server: Server, name: str, sql: str = "SELECT 1", **fields: object) -> int:
    given = {"name": name, "query": sql, "cron_schedule": YEARLY, **fields}
    answer = ask(server, "POST", "/api/scheduled-queries", json=given)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


def errors(server: Server, query_id: int) -> list[str | None]:
    found = ask(server, "GET", f"/api/execution-history/{query_id}").json()["data"]
    return [item["error_message"] for item in found]


def begin_slow(server: Server, cluster: Cluster, name: str) -> int:
    """A query that runs for as long as it may, in the hands of a worker."""
    query_id = add_query(server, name, SLOW, timeout=300)
    ask(server, "POST", f"/api/run-now/{query_id}?wait=0")
    taken = f"SELECT 1 FROM scheduled_query_runs WHERE query_id = {query_id} AND node <> ''"
    eventually(lambda: cluster.sql(taken))
    return query_id


def test_the_job_of_any_plugin_is_done_by_a_worker_and_seen_on_every_server(
    servers: list[Server], worker: Worker
) -> None:
    assert ask(servers[0], "POST", "/shop/pack/17", headers={"Origin": servers[0].url}).status_code == 200
    eventually(lambda: "packed 17" in worker.text)

    assert not any("packed" in server.text for server in servers)
    eventually(lambda: "pack</div>" in ask(servers[1], "GET", "/task_worker/").text)
    eventually(
        lambda: (
            'plugbay_job_runs_total{owner="shop",job="pack"} 1\n' in ask(servers[1], "GET", "/metrics").text
        )
    )


def test_run_now_on_a_server_is_executed_by_a_worker(servers: list[Server], worker: Worker) -> None:
    query_id = add_query(servers[0], "now")
    answer = ask(servers[1], "POST", f"/api/run-now/{query_id}?wait=60").json()

    assert answer["status"] == "success"
    assert "executed query=now" in worker.text


def test_a_run_is_cancelled_from_another_server(
    servers: list[Server], worker: Worker, cluster: Cluster
) -> None:
    query_id = begin_slow(servers[0], cluster, "cancelled")
    assert ask(servers[1], "POST", f"/api/cancel/{query_id}").status_code == 202
    eventually(lambda: errors(servers[0], query_id))

    assert errors(servers[0], query_id) == ["cancelled by admin"]


def test_a_worker_whose_clock_is_ahead_does_no_harm(servers: list[Server], cluster: Cluster) -> None:
    worker = Worker(cluster, sys.executable, "-c", AHEAD)
    query_id = add_query(servers[0], "by the clock")
    assert ask(servers[0], "POST", f"/api/run-now/{query_id}?wait=60").json()["status"] == "success"
    eventually(lambda: cluster.sql("SELECT 1 FROM task_worker_ticks WHERE task = 'task_worker.take_back'"))
    ahead = cluster.sql("SELECT max(tick) - extract(epoch FROM now()) FROM task_worker_ticks")[0][0]
    executed = "SELECT extract(epoch FROM now() - executed_at) FROM scheduled_query_history WHERE query_id"
    ago = cluster.sql(f"{executed} = {query_id}")[0][0]
    worker.end()

    assert ahead < 5
    assert 0 <= ago < START_S


def test_what_a_killed_worker_had_is_recorded_as_interrupted(servers: list[Server], cluster: Cluster) -> None:
    """Within a minute: 30 s of silence make a worker dead, and another looks every 15 s."""
    victim = Worker(cluster)
    query_id = begin_slow(servers[0], cluster, "killed")
    victim.process.kill()
    other = Worker(cluster)
    eventually(lambda: errors(servers[1], query_id))
    victim.end()
    other.end()

    assert errors(servers[1], query_id) == ["interrupted by a restart"]
