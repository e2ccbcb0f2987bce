"""Requests a second for the details of a query and for a page of its history, on one core.

    .venv/bin/python bench/bench_api.py [--requests 4000] [--connections 16]

Starts `plugbay serve` pinned to the first core, fills a history, and asks from this process on another core.
Beside the wall clock it tells the CPU time of the server per request: on a busy machine that is the figure
that counts.
"""

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

PLUGBAY = Path(sys.executable).with_name("plugbay")
HISTORY = 1_000  # executions of the query that is asked about


@contextmanager
def server(folder: Path) -> Iterator[tuple[int, psutil.Process]]:
    """A server of its own on the first core: its port and its process."""
    environment = {**os.environ, "PLUGBAY_ADMIN_PASSWORD": "bench bench bench", "PLUGBAY_SAMPLES": "false"}
    environment["SCHEDULED_QUERY_INTERVAL"] = "0"
    process = subprocess.Popen(
        [PLUGBAY, "serve", "--port", "0", "--data-dir", folder / "data"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout
        for line in process.stdout:
            if found := re.search(r"running on http://127\.0\.0\.1:(\d+)", line):
                break
        else:
            raise SystemExit("the server did not start")
        threading.Thread(target=process.stdout.read, daemon=True).start()
        running = psutil.Process(process.pid)
        if hasattr(running, "cpu_affinity"):
            running.cpu_affinity([0])
        yield int(found[1]), running
    finally:
        process.terminate()
        process.wait(30)


def token(folder: Path) -> str:
    command = [
        PLUGBAY,
        "token",
        "create",
        "--user",
        "admin",
        "--name",
        "bench",
        "--data-dir",
        folder / "data",
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout.strip()


class Connection:
    """One keep-alive connection that asks and counts."""

    def __init__(self, port: int, bearer: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._file = self._socket.makefile("rb")
        self._head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {bearer}\r\n"

    def ask(self, method: str, path: str, body: str = "") -> tuple[int, bytes]:
        length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        if method == "POST" and not body:
            length = "Content-Length: 0\r\n"
        self._socket.sendall(f"{method} {path} HTTP/1.1\r\n{self._head}{length}\r\n{body}".encode())
        status = int(self._file.readline().split()[1])
        size = 0
        while (line := self._file.readline()) != b"\r\n":
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        return status, self._file.read(size)


def fill(asking: Connection, folder: Path) -> int:
    """A query with a long history; returns its id."""
    import json

    url = f"sqlite:///{folder / 'shop.db'}"
    import sqlite3

    with sqlite3.connect(folder / "shop.db") as shop:
        shop.execute("CREATE TABLE orders (region TEXT, n INTEGER)")
        shop.executemany("INSERT INTO orders VALUES (?, ?)", [("eu", 1204), ("us", 987), ("apac", 411)])
    status, _ = asking.ask("POST", "/api/data-sources", json.dumps({"name": "shop", "url": url}))
    assert status == 201
    given = {"name": "Orders", "query": "SELECT region, n FROM orders", "cron_schedule": "0 0 1 1 *"}
    given["monitor_metric_config"] = {"metric_name": "orders", "labels": {"shop": "bench"}}  # type: ignore[assignment]
    status, answer = asking.ask("POST", "/api/scheduled-queries", json.dumps(given))
    assert status == 201, answer
    query_id: int = json.loads(answer)["id"]
    for _ in range(HISTORY):
        assert asking.ask("POST", f"/api/run-now/{query_id}")[0] == 200
    return query_id


def load(port: int, bearer: str, path: str, requests: int, connections: int) -> float:
    """Seconds that so many requests take over so many connections."""
    each = requests // connections

    def work() -> None:
        connection = Connection(port, bearer)
        for _ in range(each):
            status, _ = connection.ask("GET", path)
            assert status == 200

    threads = [threading.Thread(target=work) for _ in range(connections)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--requests", type=int, default=4_000)
    parser.add_argument("--connections", type=int, default=16)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, server(Path(name)) as (port, process):
        folder = Path(name)
        bearer = token(folder)
        query_id = fill(Connection(port, bearer), folder)
        paths = {
            "details": f"/api/scheduled-queries/{query_id}",
            "history, page of 50": f"/api/execution-history/{query_id}",
            "history, last page": f"/api/execution-history/{query_id}?page={HISTORY // 50}",
        }
        for label, path in paths.items():
            load(port, bearer, path, options.connections * 5, options.connections)  # warm
            before = process.cpu_times()
            seconds = load(port, bearer, path, options.requests, options.connections)
            after = process.cpu_times()
            cpu = after.user + after.system - before.user - before.system
            done = options.requests // options.connections * options.connections
            print(
                f"{label:22} {done / seconds:7.0f} requests/s   {cpu / done * 1000:6.2f} ms CPU each"
                f"   {done / cpu:7.0f} requests per CPU second"
            )


if __name__ == "__main__":
    main()
