"""No runner, and no query, outlives the server: however it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import mariadb
import psutil
import psycopg
import pytest
import sqlalchemy as sa
from runner_kit import eventually, is_gone

ROOT = Path(__file__).parents[2]
SERVER = """
import json, sys, threading
from runner_kit import Asker, eventually
from plugbay_scheduled_query.executor import Executor

executor = Executor(4)
url, sql, how = sys.argv[1:]
if sql:
    started = Asker(executor).start(url, sql, timeout_s=600)
    eventually(lambda: any(runner.is_busy for runner in executor.runners()))
eventually(lambda: len(executor.runners()) >= 2)
print(json.dumps([runner.pid for runner in executor.runners()]), flush=True)
line = sys.stdin.readline()
if how == "exit":
    sys.exit()
if how == "exec":
    import os
    os.execv(sys.executable, [sys.executable, "-c", "import sys; print('new', flush=True); sys.stdin.read()"])
if how == "close":
    executor.close()
    print("closed", flush=True)
threading.Event().wait()
"""


class Server:
    """A process with an executor and a query that does not end."""

    def __init__(self, url: str, sql: str, how: str = "") -> None:
        path = os.pathsep.join([str(ROOT / "tests"), *filter(None, sys.path)])
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, url, sql, how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            text=True,
        )
        assert self.process.stdout is not None
        self.runners: list[int] = [
            int(pid) for pid in self.process.stdout.readline().strip(" []\n").split(",")
        ]

    def say(self, word: str = "go") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    made: list[Server] = []

    def make(*args: str) -> Server:
        made.append(Server(*args))
        return made[-1]

    yield make
    for server in made:
        server.end()


def gone(pids: list[int]) -> bool:
    return all(map(is_gone, pids))


ENDLESS_SQLITE = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
STUBBORN_SQLITE = "SELECT instr(hex(zeroblob(9000000)), hex(zeroblob(4000000)) || '1')"
ENDLESS_DUCKDB = "SELECT count(*) FROM range(1000000000000) WHERE hash(range) % 7 = 3"


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    (tmp_path / "empty.db").touch()
    return f"sqlite:///{tmp_path}/empty.db"


def works(server: Server) -> bool:
    """Whether some runner is at work, for as long as an endless query is."""
    return any(psutil.Process(pid).cpu_times().user > 0.5 for pid in server.runners)


@pytest.mark.parametrize("sql", [ENDLESS_SQLITE, STUBBORN_SQLITE, ""])
def test_runners_end_with_a_server_that_is_killed(serve: Callable[..., Server], sqlite_url: str, sql: str):
    server = serve(sqlite_url, sql)
    if sql:
        eventually(lambda: works(server))
    server.process.kill()
    eventually(lambda: gone(server.runners), "a runner is left")


def test_a_duckdb_query_ends_with_a_server_that_is_killed(serve: Callable[..., Server], tmp_path: Path):
    duckdb.connect(str(tmp_path / "x.duckdb")).close()
    server = serve(f"duckdb:///{tmp_path}/x.duckdb", ENDLESS_DUCKDB)
    eventually(lambda: works(server))
    server.process.kill()
    eventually(lambda: gone(server.runners), "a runner is left")


@pytest.mark.parametrize("how", ["exit", "exec"])
def test_runners_end_with_a_server_that_goes_without_a_word(
    serve: Callable[..., Server], sqlite_url: str, how: str
):
    server = serve(sqlite_url, STUBBORN_SQLITE, how)
    eventually(lambda: works(server))
    server.say()
    if how == "exec":
        assert server.hear() == "new"
    eventually(lambda: gone(server.runners), "a runner is left")


def test_runners_end_when_the_executor_is_closed_even_in_mid_statement(
    serve: Callable[..., Server], sqlite_url: str
):
    server = serve(sqlite_url, STUBBORN_SQLITE, "close")
    eventually(lambda: works(server))
    server.say()
    assert server.hear() == "closed"
    assert gone(server.runners)


def test_ctrl_c_is_for_the_server_not_for_its_runners(serve: Callable[..., Server], sqlite_url: str):
    server = serve(sqlite_url, ENDLESS_SQLITE)
    assert all(os.getpgid(pid) != os.getpgid(server.process.pid) for pid in server.runners)


def postgresql_queries(connection: "psycopg.Connection[Any]") -> list[Any]:
    return connection.execute(
        "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT ''orphan''%'"
    ).fetchall()


@pytest.mark.parametrize("victim", ["server", "runner"])
def test_a_postgresql_query_ends_with_whoever_asked(
    serve: Callable[..., Server], postgres_url: str, victim: str
):
    plain = sa.make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        server = serve(postgres_url, "SELECT 'orphan', pg_sleep(600)")
        eventually(lambda: postgresql_queries(connection))
        kill(server, victim)
        eventually(lambda: postgresql_queries(connection) == [], "the query is still there")
        if victim == "server":
            eventually(lambda: gone(server.runners), "a runner is left")


def mariadb_queries(cursor: Any) -> list[Any]:
    cursor.execute(
        "SELECT id FROM information_schema.processlist"
        " WHERE command = 'Query' AND info LIKE 'SELECT ''orphan''%'"
    )
    return list(cursor.fetchall())


@pytest.mark.parametrize("victim", ["server", "runner"])
def test_a_mariadb_query_ends_with_whoever_asked(serve: Callable[..., Server], mariadb_url: str, victim: str):
    with mariadb.connect(mariadb_url) as connection, connection.cursor() as cursor:
        server = serve(mariadb_url, "SELECT 'orphan', SLEEP(600)")
        eventually(lambda: mariadb_queries(cursor))
        kill(server, victim)
        eventually(lambda: gone(server.runners), "a runner is left")
        eventually(lambda: mariadb_queries(cursor) == [], "the query is still there")


def kill(server: Server, victim: str) -> None:
    pids = [server.process.pid] if victim == "server" else server.runners
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
