"""What requests cost: pages, history, Run Now, scrapes, saving and importing, three rounds each.

    .venv/bin/python bench/bench_requests.py [--store postgresql://…] [--rounds 3]

Starts `plugbay serve` and asks from this process. Beside the rate it tells the CPU time of the server's own
process per request, which is what counts on a busy machine, and for Run Now that of its runners too.
"""

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import httpx2
import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

from bench_api import Connection, token  # noqa: E402
from servers import PASSWORD, Server, environment  # noqa: E402

GAUGES = 1_000
IMPORTED = 10_000
HISTORY = 200  # executions of the query that is asked about
PLUGBAY = Path(sys.executable).with_name("plugbay")


@dataclass
class Figures:
    """One kind of request, measured in several rounds."""

    name: str
    rates: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    p99_ms: list[float] = field(default_factory=list)

    def line(self) -> str:
        texts = [f"{median(self.rates):8.0f} a second", f"{median(self.cpu_ms):7.2f} ms CPU each"]
        texts.append(f"p99 {median(self.p99_ms):6.1f} ms")
        return f"{self.name:40}{'   '.join(texts)}   ({', '.join(f'{each:.2f}' for each in self.cpu_ms)})"


class Bench:
    """A server that is asked, and what it used."""

    def __init__(self, server: Server, folder: Path, rounds: int) -> None:
        self.folder = folder
        self.port = int(server.url.rpartition(":")[2])
        self.url = server.url
        self.process = psutil.Process(server.process.pid)
        self.bearer = token(folder)
        self.rounds = rounds

    def post(self, path: str, body: object) -> dict[str, object]:
        status, answer = Connection(self.port, self.bearer).ask("POST", path, json.dumps(body))
        assert status in (200, 201), answer
        found: dict[str, object] = json.loads(answer)
        return found

    def cpu_s(self) -> float:
        times = [self.process.cpu_times(), *(child.cpu_times() for child in self.process.children(True))]
        return sum(each.user + each.system for each in times)

    def measure(
        self, name: str, requests: int, clients: int, ask: Callable[[Connection, int], None], warm: int = 50
    ) -> None:
        self.load(warm, clients, ask)
        figures = Figures(name)
        for _ in range(self.rounds):
            before, began = self.cpu_s(), time.perf_counter()
            took = self.load(requests, clients, ask)
            figures.rates.append(len(took) / (time.perf_counter() - began))
            figures.cpu_ms.append((self.cpu_s() - before) / len(took) * 1000)
            figures.p99_ms.append(sorted(took)[int(len(took) * 0.99) - 1] * 1000)
        print(figures.line(), flush=True)

    def load(self, requests: int, clients: int, ask: Callable[[Connection, int], None]) -> list[float]:
        """How long each request took, in seconds."""
        took: list[float] = []

        def work(client: int) -> None:
            connection = Connection(self.port, self.bearer)
            for number in range(requests // clients):
                began = time.perf_counter()
                ask(connection, number * clients + client)
                took.append(time.perf_counter() - began)

        threads = [threading.Thread(target=work, args=(client,)) for client in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return took


def get(path: str) -> Callable[[Connection, int], None]:
    def ask(connection: Connection, number: int) -> None:
        status, _ = connection.ask("GET", path)
        assert status == 200, (path, status)

    return ask


def fill(bench: Bench) -> int:
    """A source, a query with a history, and a thousand queries with a gauge each."""
    with closing(sqlite3.connect(bench.folder / "shop.db")) as shop, shop:
        shop.execute("CREATE TABLE orders (region TEXT, n INTEGER)")
        shop.executemany("INSERT INTO orders VALUES (?, ?)", [("eu", 1204), ("us", 987), ("apac", 411)])
    bench.post("/api/data-sources", {"name": "shop", "url": f"sqlite:///{bench.folder / 'shop.db'}"})
    made = bench.post("/api/scheduled-queries", definition(0, "SELECT region, n FROM orders"))
    for _ in range(HISTORY):
        bench.post(f"/api/run-now/{made['id']}", {})
    return int(str(made["id"]))


def definition(number: int, query: str = "SELECT 1 AS one") -> dict[str, object]:
    fields = {"cron_schedule": f"{number % 60} {number % 24} 1 1 *", "data_source": "shop"}
    return {"name": f"Query {number}", "query": query, **fields}


def publish(bench: Bench) -> None:
    """Queries with a gauge each, which have run once."""
    for number in range(GAUGES):
        metric = {"metric_name": f"orders_{number}", "labels": {"shop": "bench", "region": "eu"}}
        made = bench.post(
            "/api/scheduled-queries", definition(number + 1) | {"monitor_metric_config": metric}
        )
        bench.post(f"/api/run-now/{made['id']}", {})


def measure_page(bench: Bench) -> None:
    """A page whose own content costs next to nothing, with a session."""
    with httpx2.Client(base_url=bench.url, verify=False) as browser:
        browser.post("/login", data={"username": "admin", "password": PASSWORD})
        cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())

    def ask(connection: Connection, number: int) -> None:
        connection._head = f"Host: 127.0.0.1\r\nCookie: {cookie}\r\n"
        status, _ = connection.ask("GET", "/docs")
        assert status == 200

    bench.measure("page with a session, menu included", 1_000, 1, ask)


def measure_saving(bench: Bench) -> None:
    made = int(str(bench.post("/api/scheduled-queries", definition(-1))["id"]))

    def edit(connection: Connection, number: int) -> None:
        body = json.dumps({"description": f"Edit {number} at {time.time()}"})
        assert connection.ask("PATCH", f"/api/scheduled-queries/{made}", body)[0] == 200

    def create(connection: Connection, number: int) -> None:
        body = json.dumps(definition(number, f"SELECT {number} AS n, {time.time_ns()} AS t"))
        assert connection.ask("POST", "/api/scheduled-queries", body)[0] == 201

    bench.measure("saving an edit by the API", 300, 1, edit)
    bench.measure("creating by the API, SQL never seen", 300, 1, create)


def measure_import(folder: Path, store: str) -> None:
    """The command line, on a store of its own."""
    queries = [definition(n, f"SELECT {n} AS n FROM orders") for n in range(IMPORTED)]
    file = folder / "queries.json"
    file.write_text(json.dumps({"plugbay_queries": 1, "queries": queries}))
    variables = {"PLUGBAY_DATABASE_URL": store} if store else {}
    began = time.perf_counter()
    command = [str(PLUGBAY), "queries", "import", str(file), "--data-dir", str(folder / "data")]
    done = subprocess.run(
        command, cwd=folder, env=environment(**variables), stderr=subprocess.PIPE, check=False
    )
    assert done.returncode == 0, done.stderr
    print(f"importing {IMPORTED:,} definitions{'':18}{time.perf_counter() - began:8.1f} s", flush=True)


@contextmanager
def serving(folder: Path, store: str) -> Iterator[Server]:
    variables = {"SCHEDULED_QUERY_INTERVAL": "0", **({"PLUGBAY_DATABASE_URL": store} if store else {})}
    os.environ.update(variables)  # for the command that makes the token
    server = Server(folder, "--data-dir", str(folder / "data"), **variables)
    try:
        yield server
    finally:
        server.stop()


def measure_history(bench: Bench, query_id: int) -> None:
    history = get(f"/api/execution-history/{query_id}")
    bench.measure("history, page of 50, alone", 500, 1, history)
    bench.measure("history, page of 50, 8 clients", 2_000, 8, history)


def measure_runs(bench: Bench) -> None:
    made = [bench.post("/api/scheduled-queries", definition(-n)) for n in range(16)]
    query_ids = [query["id"] for query in made]

    def run(connection: Connection, number: int) -> None:
        status, answer = connection.ask("POST", f"/api/run-now/{query_ids[number % 16]}")
        assert status == 200, answer
        assert json.loads(answer)["status"] == "success", answer

    bench.measure("Run Now, 16 clients", 1_600, 16, run)


def measure_scrapes(bench: Bench) -> None:
    bench.measure("scrape without a gauge", 500, 1, get("/metrics"))
    publish(bench)
    bench.measure(f"scrape of {GAUGES:,} gauges", 500, 1, get("/metrics"))


PARTS: dict[str, Callable[[Bench, int], None]] = {
    "page": lambda bench, _: measure_page(bench),
    "history": measure_history,
    "run": lambda bench, _: measure_runs(bench),
    "saving": lambda bench, _: measure_saving(bench),
    "scrape": lambda bench, _: measure_scrapes(bench),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--store", default="", help="A PostgreSQL URL; SQLite unless given.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[*PARTS, "import"], choices=[*PARTS, "import"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with serving(folder, options.store) as server:
            bench = Bench(server, folder, options.rounds)
            query_id = fill(bench)
            for part, measure in PARTS.items():
                if part in options.only:
                    measure(bench, query_id)
        if "import" in options.only:
            measure_import(folder, options.store)


if __name__ == "__main__":
    main()
