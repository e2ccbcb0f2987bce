"""100 queries of 1,000 rows each, a series for each row, under `plugbay serve` and under query-exporter.

All are due each minute. Between two full minutes, when all have run and nothing changes, each server is
scraped several times: told are the CPU time of a scrape, its size, the CPU of a minute and the memory.
"""

import json
import os
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
from bench_peers import (
    PEER,
    Contestant,
    Server,
    environment,
    install,
    next_minute,
    sleep_until,
    wait_until_up,
)
from bench_peers import PLUGBAY as COMMAND

QUERIES, ROWS, SCRAPES = 100, 1_000, 10
QUIET_S = 25  # after a full minute, when all that was due has run
SQL = "SELECT country, n, '{}' AS q FROM orders"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_shop(folder / "shop.db")
        peer = install(folder / "peer")
        with plugbay(folder / "ours") as ours:
            report("plugbay", ours)
        with exporter(peer, folder / "theirs") as theirs:
            report(PEER, theirs)


def report(name: str, contestant: Contestant) -> None:
    sleep_until(next_minute() - 2)
    before = contestant.cpu_s()
    sleep_until(next_minute() + QUIET_S)
    minute_s = contestant.cpu_s() - before
    contestant.scrape()
    before = contestant.cpu_s()
    sizes = [len(contestant.scrape()) for _ in range(SCRAPES)]
    scrape_ms = (contestant.cpu_s() - before) * 1000 / SCRAPES
    family = [contestant.process, *contestant.process.children(recursive=True)]
    memory = sum(member.memory_info().rss for member in family)
    print(
        f"{name}: a scrape of {sizes[-1] / 1e6:.1f} MB took {scrape_ms:.1f} ms CPU; a minute's runs"
        f" {minute_s:.1f} s CPU; memory {memory / 1e6:.0f} MB",
        flush=True,
    )


def make_shop(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE orders (country TEXT, n REAL)")
        rows = [(f"country {n}", n * 1.5) for n in range(ROWS)]
        connection.executemany("INSERT INTO orders VALUES (?, ?)", rows)


@contextmanager
def plugbay(folder: Path) -> Iterator[Contestant]:
    folder.mkdir()
    sources = json.dumps({"shop": f"sqlite:///{folder.parent}/shop.db"})
    settings = {"SCHEDULED_QUERY_SOURCES": sources, "SCHEDULED_QUERY_INTERVAL": "0"}
    queries = [
        {
            "name": f"orders {n}",
            "query": SQL.format(n),
            "cron_schedule": "* * * * *",
            "metrics": [{"metric_name": "orders", "labels": {"q": str(n)}, "label_columns": ["country"]}],
        }
        for n in range(QUERIES)
    ]
    (folder / "queries.json").write_text(json.dumps(queries))
    subprocess.run(
        [COMMAND, "queries", "import", "queries.json"],
        cwd=folder,
        env=environment(PLUGBAY_SAMPLES="false", **settings),
        check=True,
        stderr=subprocess.DEVNULL,
    )
    server = Server(folder, **settings)
    try:
        yield Contestant(psutil.Process(server.process.pid), f"{server.url}/metrics", "")
    finally:
        server.stop()


@contextmanager
def exporter(command: Path, folder: Path) -> Iterator[Contestant]:
    folder.mkdir()
    query = {"databases": ["shop"], "metrics": ["n"], "schedule": "* * * * *"}
    document = {
        "databases": {"shop": {"dsn": f"sqlite:///{folder.parent}/shop.db"}},
        "metrics": {"n": {"type": "gauge", "labels": ["country", "q"]}},
        "queries": {f"orders {n}": {**query, "sql": SQL.format(n)} for n in range(QUERIES)},
    }
    (folder / "config.yaml").write_text(json.dumps(document))
    process = subprocess.Popen(
        [command, "--port", "19560", "--host", "127.0.0.1", "--log-level", "critical"],
        cwd=folder,
        env={**os.environ, "TZ": "UTC"},
        stderr=subprocess.DEVNULL,
    )
    try:
        contestant = Contestant(psutil.Process(process.pid), "http://127.0.0.1:19560/metrics", "")
        wait_until_up(contestant)
        time.sleep(1)
        yield contestant
    finally:
        process.terminate()
        process.wait(30)


if __name__ == "__main__":
    main()
