"""Real servers that are killed in mid-run, and several on one store: nothing is lost, nothing is double."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from runner_kit import eventually, is_gone
from servers import NO_TLS, PASSWORD, START_S, Server, get, plugbay, serving

SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e15) SELECT COUNT(*) FROM n"
YEARLY = "0 0 1 1 *"
DUE = f"{datetime.now(UTC):%Y}-01-01 00:00:00"  # the last time of that schedule: none was missed since


def shop_in(folder: Path) -> dict[str, str]:
    """The variables of a server that knows one database and paces nothing."""
    path = folder / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE orders (total REAL)")
    return {"SCHEDULED_QUERY_SOURCES": f'{{"shop": "sqlite:///{path}"}}', "SCHEDULED_QUERY_INTERVAL": "0"}


@pytest.fixture
def shop(tmp_path: Path) -> dict[str, str]:
    return shop_in(tmp_path)


def ask(server: Server, method: str, path: str, **fields: Any) -> httpx2.Response:
    options = {"auth": ("admin", PASSWORD), "timeout": START_S, **NO_TLS}
    return httpx2.request(method, f"{server.url}/api/{path}", **options, **fields)


def add_query(server: Server, name: str, sql: str, **fields: object) -> int:
    given = {"name": name, "query": sql, "cron_schedule": YEARLY, **fields}
    answer = ask(server, "POST", "scheduled-queries", json=given)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


def add_due(folder: Path, shop: dict[str, str], *queries: dict[str, object]) -> None:
    """Leaves queries in the store that are due when the first server comes."""
    given = json.dumps([{"cron_schedule": YEARLY, **query} for query in queries])
    added = plugbay(folder, "queries", "import", "-", text=given, **shop)
    assert added.returncode == 0, added.stderr
    change_all(folder, "next_run_at = ?", f"{DUE}.000000")


def change_all(folder: Path, change: str, value: object) -> None:
    """Changes every query behind the back of whoever serves them."""
    with closing(sqlite3.connect(folder / "data/plugbay.db", timeout=START_S)) as store, store:
        store.execute(f"UPDATE scheduled_queries SET {change}", (value,))


def history(server: Server, query_id: int) -> list[dict[str, object]]:
    return list(ask(server, "GET", f"execution-history/{query_id}").json()["data"])


def is_running(server: Server, query_id: int) -> bool:
    return bool(ask(server, "GET", f"scheduled-queries/{query_id}").json()["running"])


def executed(folder: Path) -> Counter[int]:
    """How often each query was executed."""
    with closing(sqlite3.connect(folder / "data/plugbay.db", timeout=START_S)) as store:
        rows = store.execute("SELECT query_id FROM scheduled_query_history").fetchall()
    return Counter(query_id for (query_id,) in rows)


def test_a_run_that_a_kill_interrupts_runs_again_once_under_the_same_due_time(tmp_path: Path, shop):
    add_due(tmp_path, shop, {"name": "slow", "query": SLOW, "timeout": 300})
    with serving(tmp_path, **shop) as server:
        eventually(lambda: is_running(server, 1))
        server.kill()
    change_all(tmp_path, "timeout = ?", 1)
    with serving(tmp_path, **shop) as server:
        eventually(lambda: len(history(server, 1)) == 1)
        eventually(lambda: not is_running(server, 1))
        (item,) = history(server, 1)
    assert (item["due_at"], item["attempt"], item["status"]) == (DUE, 2, "timeout")
    assert item["missed"] == 0


def test_three_servers_on_one_store_execute_each_due_time_once(tmp_path: Path, shop):
    add_due(tmp_path, shop, *({"name": f"q{n}", "query": f"SELECT {n}"} for n in range(40)))
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(tmp_path, **shop)) for _ in range(3)]
        assert all(server.url for server in servers)
        eventually(lambda: executed(tmp_path).total() >= 40)
    assert executed(tmp_path) == dict.fromkeys(range(1, 41), 1)


# one kill, and what the next server finds


@dataclass
class Killed:
    """The server after one that was killed while somebody waited for the slow query."""

    server: Server
    slow: int
    runners: list[int]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killed]:
    folder = tmp_path_factory.mktemp("killed")
    shop = shop_in(folder)
    metric = {"metric_name": "answers", "labels": {"to": 'every"thing'}}
    with serving(folder, **shop) as server:
        answer = add_query(server, "answer", "SELECT 42", monitor_metric_config=metric)
        ask(server, "POST", f"run-now/{answer}?wait=60")
        slow = add_query(server, "slow", SLOW, timeout=300)
        ask(server, "POST", f"run-now/{slow}?wait=0")
        runners = [child.pid for child in psutil.Process(server.process.pid).children(recursive=True)]
        server.kill()
    with serving(folder, **shop) as server:
        yield Killed(server, slow, runners)


def test_runners_do_not_outlive_a_server_that_is_killed(killed: Killed):
    assert killed.runners
    eventually(lambda: all(map(is_gone, killed.runners)))


def test_a_run_now_that_a_kill_interrupts_is_said_to_be_and_not_repeated(killed: Killed):
    eventually(lambda: len(history(killed.server, killed.slow)) == 1)
    assert not is_running(killed.server, killed.slow)
    (item,) = history(killed.server, killed.slow)
    assert (item["status"], item["error_message"]) == ("failed", "interrupted by a restart")


def test_a_gauge_is_there_again_after_a_kill(killed: Killed):
    text = get(f"{killed.server.url}/metrics", auth=("admin", PASSWORD)).text
    assert 'answers{to="every\\"thing"} 42.0\n' in text
