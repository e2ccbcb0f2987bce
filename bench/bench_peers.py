"""The same queries, all due each minute, under `plugbay serve` and under a peer: query-exporter.

The peer is installed into an environment of its own in a temporary folder. Both run as real servers for three
minutes and are scraped every 15 seconds, as Prometheus would; each fourth scrape falls on the full minute.
Told are how many of the due runs took place, how long a scrape took, and the CPU time of all processes. Takes
about a quarter of an hour.
"""

import base64
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from servers import PASSWORD, PLUGBAY, Server, environment

PEER = "query-exporter==5.0.2"
MINUTES, EVERY_S = 3, 15
ADMIN = "Basic " + base64.b64encode(f"admin:{PASSWORD}".encode()).decode()


@dataclass(frozen=True)
class Contestant:
    """A running server: its process, and where its metrics are."""

    process: psutil.Process
    metrics: str
    success: str
    """What its counter of successful executions begins with."""

    def cpu_s(self) -> float:
        """CPU time so far, of the server and of its children."""
        family = [self.process, *self.process.children(recursive=True)]
        return sum(sum(member.cpu_times()[:2]) for member in family)

    def scrape(self) -> str:
        request = urllib.request.Request(self.metrics, headers={"Authorization": ADMIN})
        with urllib.request.urlopen(request, timeout=60) as response:
            return str(response.read(), "utf-8")

    def ran(self) -> int:
        """How many executions went well so far."""
        found = re.findall(rf"^{self.success}.*status=\"success\".*\}} (\S+)$", self.scrape(), re.MULTILINE)
        return int(sum(map(float, found)))


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_shop(folder / "shop.db")
        peer = install(folder / "peer")
        for count in (100, 3000):
            with plugbay(folder / f"ours-{count}", count) as ours:
                report("plugbay", count, ours)
            with exporter(peer, folder / f"theirs-{count}", count) as theirs:
                report(PEER, count, theirs)


def report(name: str, count: int, contestant: Contestant) -> None:
    """Waits through some whole minutes and prints what became of them."""
    sleep_until(next_minute() - 5)
    ran, cpu = contestant.ran(), contestant.cpu_s()
    walls = list(scrapes(contestant, next_minute()))
    cpu = contestant.cpu_s() - cpu
    ran, due = contestant.ran() - ran, MINUTES * count
    print(
        f"{name}: {ran:,} of {due:,} due ran; {cpu / MINUTES:.1f} s CPU a minute;"
        f" a scrape took p50 {median(walls):.0f} ms, at worst {max(walls):.0f} ms",
        flush=True,
    )


def scrapes(contestant: Contestant, start: float) -> Iterator[float]:
    """Scrapes through the minutes, and says how many milliseconds each took."""
    for n in range(MINUTES * 60 // EVERY_S):
        sleep_until(start + n * EVERY_S)
        before = time.perf_counter()
        contestant.scrape()
        yield (time.perf_counter() - before) * 1000


def next_minute() -> float:
    return time.time() // 60 * 60 + 60


def sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.time()))


def make_shop(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE orders (total REAL)")
        connection.executemany("INSERT INTO orders VALUES (?)", [(n,) for n in range(100)])


@contextmanager
def plugbay(folder: Path, count: int) -> Iterator[Contestant]:
    folder.mkdir()
    sources = json.dumps({"shop": f"sqlite:///{folder.parent}/shop.db"})
    settings = {"SCHEDULED_QUERY_SOURCES": sources, "SCHEDULED_QUERY_INTERVAL": "0"}
    queries = [
        {
            "name": f"orders {n}",
            "query": "SELECT count(*) FROM orders",
            "cron_schedule": "* * * * *",
            "data_source": "shop",
            "monitor_metric_config": {"metric_name": "orders", "labels": {"n": str(n)}},
        }
        for n in range(count)
    ]
    (folder / "queries.json").write_text(json.dumps(queries))
    subprocess.run(
        [PLUGBAY, "queries", "import", "queries.json"],
        cwd=folder,
        env=environment(PLUGBAY_SAMPLES="false", **settings),
        check=True,
        stderr=subprocess.DEVNULL,
    )
    server = Server(folder, **settings)
    try:
        process = psutil.Process(server.process.pid)
        yield Contestant(process, f"{server.url}/metrics", "plugbay_scheduled_query_executions_total")
    finally:
        server.stop()


def install(folder: Path) -> Path:
    """The peer in an environment of its own; its command."""
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "-q", folder], check=True)
    subprocess.run([uv, "pip", "install", "-q", "--python", folder / "bin/python", PEER], check=True)
    return folder / "bin/query-exporter"


@contextmanager
def exporter(command: Path, folder: Path, count: int) -> Iterator[Contestant]:
    folder.mkdir()
    query = {"databases": ["shop"], "metrics": ["orders"], "schedule": "* * * * *"}
    document = {
        "databases": {"shop": {"dsn": f"sqlite:///{folder.parent}/shop.db"}},
        "metrics": {"orders": {"type": "gauge", "labels": ["n"]}},
        "queries": {
            f"orders {n}": {**query, "sql": f"SELECT count(*) AS orders, '{n}' AS n FROM orders"}
            for n in range(count)
        },
    }
    (folder / "config.yaml").write_text(json.dumps(document))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [command, "--port", str(port), "--host", "127.0.0.1", "--log-level", "critical"],
        cwd=folder,
        env={**os.environ, "TZ": "UTC"},
        stderr=subprocess.DEVNULL,
    )
    try:
        contestant = Contestant(
            psutil.Process(process.pid), f"http://127.0.0.1:{port}/metrics", "queries_total"
        )
        wait_until_up(contestant)
        yield contestant
    finally:
        process.terminate()
        process.wait(30)


def wait_until_up(contestant: Contestant) -> None:
    for _ in range(300):
        try:
            contestant.scrape()
            return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the peer did not start")


if __name__ == "__main__":
    main()
