"""Real servers that are killed in mid-run, and several on one store: nothing is lost, nothing is double."""

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import httpx2
import pytest
from servers import PASSWORD, START_S, Server, serving

ADMIN = ("admin", PASSWORD)
SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e15) SELECT COUNT(*) FROM n"
DUE = "2026-01-01 00:00:00.000000"


@pytest.fixture
def shop(tmp_path: Path) -> dict[str, str]:
    """The variables of a server that knows one database and paces nothing."""
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE orders (total REAL)")
    return {"SCHEDULED_QUERY_SOURCES": f'{{"shop": "sqlite:///{path}"}}', "SCHEDULED_QUERY_INTERVAL": "0"}


def add_query(server: Server, name: str, sql: str, **fields: object) -> int:
    given = {"name": name, "query": sql, "cron_schedule": "0 0 1 1 *", **fields}
    answer = httpx2.post(f"{server.url}/api/scheduled-queries", json=given, auth=ADMIN, timeout=START_S)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


def make_all_due(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "data/plugbay.db", timeout=START_S)) as store, store:
        store.execute("UPDATE scheduled_queries SET next_run_at = ?, last_due_at = NULL", (DUE,))


def history(server: Server, query_id: int) -> list[dict[str, object]]:
    url = f"{server.url}/api/execution-history/{query_id}"
    return list(httpx2.get(url, auth=ADMIN, timeout=START_S).json()["data"])


def wait_until(is_so: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(START_S * 10):
        if is_so():
            return
        pause.wait(0.1)
    raise AssertionError("it did not happen")


def is_running(server: Server, query_id: int) -> bool:
    url = f"{server.url}/api/scheduled-queries/{query_id}"
    return bool(httpx2.get(url, auth=ADMIN, timeout=START_S).json()["running"])


def test_a_run_that_a_kill_interrupts_runs_again_once_under_the_same_due_time(tmp_path: Path, shop):
    with serving(tmp_path, **shop) as server:
        query_id = add_query(server, "slow", SLOW, timeout=2)
    make_all_due(tmp_path)
    with serving(tmp_path, **shop) as server:
        wait_until(lambda: is_running(server, query_id))
        server.kill()
    with serving(tmp_path, **shop) as server:
        wait_until(lambda: len(history(server, query_id)) == 1)
        wait_until(lambda: not is_running(server, query_id))
        (item,) = history(server, query_id)
    assert (item["due_at"], item["attempt"], item["status"]) == ("2026-01-01 00:00:00", 2, "timeout")
    assert item["missed"] == 0


def test_a_run_now_that_a_kill_interrupts_is_said_to_be_and_not_repeated(tmp_path: Path, shop):
    with serving(tmp_path, **shop) as server:
        query_id = add_query(server, "slow", SLOW, timeout=60)
        httpx2.post(f"{server.url}/api/run-now/{query_id}?wait=0", auth=ADMIN, timeout=START_S)
        server.kill()
    with serving(tmp_path, **shop) as server:
        wait_until(lambda: len(history(server, query_id)) == 1)
        (item,) = history(server, query_id)
    assert (item["status"], item["error_message"]) == ("failed", "interrupted by a restart")


def test_three_servers_on_one_store_execute_each_due_time_once(tmp_path: Path, shop):
    with serving(tmp_path, **shop) as server:
        ids = [add_query(server, f"q{n}", f"SELECT {n}") for n in range(40)]
    make_all_due(tmp_path)
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(tmp_path, **shop)) for _ in range(3)]
        wait_until(lambda: sum(len(history(servers[0], query_id)) for query_id in ids) >= 40)
        found = Counter(query_id for query_id in ids for _ in history(servers[1], query_id))
    assert found == dict.fromkeys(ids, 1)


def test_a_gauge_is_there_again_after_a_kill(tmp_path: Path, shop):
    metric = {"metric_name": "answers", "labels": {"to": 'every"thing'}}
    with serving(tmp_path, **shop) as server:
        query_id = add_query(server, "answer", "SELECT 42", monitor_metric_config=metric)
        httpx2.post(f"{server.url}/api/run-now/{query_id}", auth=ADMIN, timeout=START_S)
        server.kill()
    with serving(tmp_path, **shop) as server:
        text = httpx2.get(f"{server.url}/metrics", auth=ADMIN, timeout=START_S).text
    assert 'answers{to="every\\"thing"} 42.0\n' in text


def test_runners_do_not_outlive_a_server_that_is_killed(tmp_path: Path, shop):
    import psutil

    with serving(tmp_path, **shop) as server:
        query_id = add_query(server, "slow", SLOW, timeout=60)
        httpx2.post(f"{server.url}/api/run-now/{query_id}?wait=0", auth=ADMIN, timeout=START_S)
        runners = psutil.Process(server.process.pid).children(recursive=True)
        assert runners
        server.kill()
        _, alive = psutil.wait_procs(runners, timeout=START_S)
    assert alive == []
