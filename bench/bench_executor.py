"""Running queries in runners: cost beside the raw driver, executions a second, memory, time to gone.

PostgreSQL comes from the wheel that the tests use, MariaDB from the `mariadbd` on the PATH; without one,
it is left out.
"""

import contextlib
import os
import platform
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import duckdb  # noqa: E402
import mariadb  # noqa: E402
import postgres  # noqa: E402
import psutil  # noqa: E402
import psycopg  # noqa: E402
import pymysql  # noqa: E402
import sqlalchemy as sa  # noqa: E402
from plugbay_scheduled_query.core.model import Outcome  # noqa: E402
from plugbay_scheduled_query.core.source import Target  # noqa: E402
from plugbay_scheduled_query.executor import Executor, Statement  # noqa: E402
from runner_kit import Asker, eventually, is_gone, target  # noqa: E402

TRIVIAL = "SELECT 1"
SAMPLES = {"duckdb": 200}
SAMPLES_ELSE = 2_000
SECONDS = 3.0  # of each throughput
ROUNDS = 3  # the best one counts, so that a busy machine shows least
ROWS = 10_000_000
LIMIT_S = 1.0


@dataclass
class Place:
    """One database to measure: how to reach it, raw and through a runner, and what to ask it."""

    name: str
    url: str
    raw: Callable[[], object]
    many_rows: str
    endless: str
    running: Callable[[], bool] | None = None  # whether the endless query is seen in the server

    @property
    def target(self) -> Target:
        return target(self.url)


def main() -> None:
    print(f"# {os.cpu_count()} cores, {_gigabytes()} GB, Python {platform.python_version()}, load {_load()}")
    with contextlib.ExitStack() as stack:
        places = [stack.enter_context(make()) for make in (_sqlite, _postgresql, _mariadb, _duckdb) if make]
        for print_part in (print_overhead, print_rate, print_memory, print_gone, print_orphans):
            print_part([place for place in places if place is not None])


def print_overhead(places: list[Place]) -> None:
    print(f"\n## One `{TRIVIAL}`, a warm runner beside the raw driver (µs)")
    for place in places:
        with _executor(1) as asker:
            asker.value(place.target, TRIVIAL)
            request = Statement("one", place.target, TRIVIAL, 30)
            count = SAMPLES.get(place.name, SAMPLES_ELSE)
            cpu = _cpu(asker.executor)
            through = _times(lambda run=asker.executor.run, r=request: _checked(run(r)), count)  # type: ignore[misc]
            used = [after - before for before, after in zip(cpu, _cpu(asker.executor), strict=True)]
            runs = count * ROUNDS
            print(
                f"{place.name:<12} raw {_middle_and_slowest(_times(place.raw, count))}"
                f"   runner {_middle_and_slowest(through)}"
                f"   CPU a run: parent {used[0] / runs * 1e6:.0f}, runner {used[1] / runs * 1e6:.0f}"
            )


def print_rate(places: list[Place]) -> None:
    print(f"\n## `{TRIVIAL}` executions a second, with as many threads as runners")
    for place in places:
        rates = []
        for runners in (1, 4, 8):
            with _executor(runners) as asker:
                best = max(_rate(asker, place.target, runners) for _ in range(ROUNDS))
                rates.append(f"{runners}: {best:,.0f}/s")
        print(f"{place.name:<12} {'   '.join(rates)}")


def print_memory(places: list[Place]) -> None:
    print(f"\n## Memory for a result of {ROWS:,} rows (10,000 are kept): resident MB, before → highest")
    for place in places:
        with _executor(1) as asker:
            asker.value(place.target, TRIVIAL)
            [runner] = asker.executor.runners()
            parent, child = psutil.Process(), psutil.Process(runner.pid)
            before = parent.memory_info().rss, child.memory_info().rss
            with _highest(parent, child) as highest:
                outcome = asker.ask(place.target, place.many_rows, timeout_s=120)
            assert outcome.truncated, outcome
            print(
                f"{place.name:<12} parent {_mb(before[0])} → {_mb(highest[0])}"
                f"   runner {_mb(before[1])} → {_mb(highest[1])}   in {outcome.duration_ms} ms"
            )


def print_gone(places: list[Place]) -> None:
    print("\n## From the time limit, or the click on Cancel, until the query is gone and the slot free (ms)")
    for place in places:
        with _executor(1) as asker:
            asker.value(place.target, TRIVIAL)
            outcome = asker.ask(place.target, place.endless, timeout_s=LIMIT_S)
            assert outcome.status == "timeout", outcome
            limit_ms = outcome.duration_ms - LIMIT_S * 1000 + _until_gone(place)
            started = asker.start(place.target, place.endless, timeout_s=600, run_id="endless")
            _await_running(place, asker)
            click = time.perf_counter()
            asker.executor.cancel("endless", "bench")
            assert started.outcome().error == "cancelled by bench"
            cancel_ms = (time.perf_counter() - click) * 1000 + _until_gone(place)
            print(f"{place.name:<12} limit {limit_ms:.0f}   cancel {cancel_ms:.0f}")
    with _executor(1) as asker:
        stubborn = "SELECT instr(hex(zeroblob(9000000)), hex(zeroblob(4000000)) || '1')"
        outcome = asker.ask(places[0].target, stubborn, timeout_s=LIMIT_S)
        print(
            f"{'sqlite':<12} limit {outcome.duration_ms - LIMIT_S * 1000:.0f}"
            " in a function that nothing interrupts"
        )


def print_orphans(places: list[Place]) -> None:
    print("\n## From kill -9 of the server until its runner, and the query, are gone (ms)")
    program = (
        "import sys; from runner_kit import Asker, eventually;"
        "from plugbay_scheduled_query.executor import Executor;"
        "e = Executor(1, ahead=1); s = Asker(e).start(sys.argv[1], sys.argv[2], timeout_s=600);"
        "print(eventually(lambda: [r.pid for r in e.runners() if r.is_busy])[0], flush=True); s.outcome()"
    )
    for place in places:
        path = os.pathsep.join(filter(None, sys.path))
        command = [sys.executable, "-c", program, place.url, place.endless]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
        ) as server:
            assert server.stdout is not None
            pid = int(server.stdout.readline())
            eventually(place.running or (lambda pid=pid: psutil.Process(pid).cpu_times().user > 1))  # type: ignore[misc]
            killed = time.perf_counter()
            os.kill(server.pid, signal.SIGKILL)
            while not is_gone(pid):
                time.sleep(0.001)
            runner_ms = (time.perf_counter() - killed) * 1000
            print(f"{place.name:<12} runner {runner_ms:.0f}   query {runner_ms + _until_gone(place):.0f}")


def _await_running(place: Place, asker: Asker) -> None:
    if place.running is not None:
        eventually(place.running)
        return
    [runner] = asker.executor.runners()
    before = psutil.Process(runner.pid).cpu_times().user
    eventually(lambda: psutil.Process(runner.pid).cpu_times().user > before + 0.2)


def _until_gone(place: Place) -> float:
    start = time.perf_counter()
    while place.running is not None and place.running():
        time.sleep(0.001)
    return (time.perf_counter() - start) * 1000


def _rate(asker: Asker, place: Target, threads: int) -> float:
    counts = [0] * threads
    stop = threading.Event()
    ready = threading.Barrier(threads + 1)

    def work(number: int) -> None:
        request = Statement(number, place, TRIVIAL, 30)
        _checked(asker.executor.run(request))
        ready.wait()
        while not stop.is_set():
            _checked(asker.executor.run(request))
            counts[number] += 1

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    ready.wait()
    start = time.perf_counter()
    stop.wait(SECONDS)
    stop.set()
    elapsed = time.perf_counter() - start
    for worker in workers:
        worker.join()
    return sum(counts) / elapsed


def _checked(outcome: Outcome) -> None:
    assert outcome.status == "success", outcome


@contextlib.contextmanager
def _executor(runners: int) -> Iterator[Asker]:
    executor = Executor(runners, ahead=min(2, runners))
    try:
        yield Asker(executor)
    finally:
        executor.close()


@contextlib.contextmanager
def _highest(*processes: psutil.Process) -> Iterator[list[int]]:
    """The highest resident memory of each process while the block runs."""
    highest = [0] * len(processes)
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.005):
            for number, process in enumerate(processes):
                highest[number] = max(highest[number], process.memory_info().rss)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield highest
    finally:
        done.set()
        watcher.join()


def _times(work: Callable[[], object], count: int) -> list[list[float]]:
    """How long each call took, round by round."""
    return [[_time(work) for _ in range(count)] for _ in range(ROUNDS)]


def _time(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _cpu(executor: Executor) -> tuple[float, float]:
    [runner] = executor.runners()
    times = psutil.Process(runner.pid).cpu_times()
    return time.process_time(), times.user + times.system


def _middle_and_slowest(rounds: list[list[float]]) -> str:
    cuts = [statistics.quantiles(times, n=100) for times in rounds]
    return f"p50 {min(cut[49] for cut in cuts) * 1e6:,.0f} p99 {min(cut[98] for cut in cuts) * 1e6:,.0f}"


def _mb(size: int) -> str:
    return f"{size / 1e6:.0f}"


def _gigabytes() -> int:
    return round(psutil.virtual_memory().total / 1e9)


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


@contextlib.contextmanager
def _sqlite() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        sqlite3.connect(path).execute("CREATE TABLE t (a)").connection.close()
        connection = sqlite3.connect(path)
        numbers = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c"
        yield Place(
            "sqlite",
            f"sqlite:///{path}",
            lambda: connection.execute(TRIVIAL).fetchall(),
            f"{numbers} LIMIT {ROWS}) SELECT x, 'row ' || x FROM c",
            f"{numbers}) SELECT count(*) FROM c",
        )
        connection.close()


@contextlib.contextmanager
def _duckdb() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "x.duckdb")
        duckdb.connect(path).close()

        def raw() -> None:
            with duckdb.connect(path, read_only=True) as connection:
                connection.execute(TRIVIAL).fetchall()

        yield Place(
            "duckdb",
            f"duckdb:///{path}",
            raw,
            f"SELECT range, 'row ' || range FROM range({ROWS})",
            "SELECT count(*) FROM range(1000000000000) WHERE hash(range) % 7 = 3",
        )


@contextlib.contextmanager
def _postgresql() -> Iterator[Place]:
    with postgres.server() as url:
        plain = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        with (
            psycopg.connect(plain, autocommit=True) as connection,
            psycopg.connect(plain, autocommit=True) as eye,
        ):
            seen = (
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE state = 'active' AND query LIKE 'SELECT ''endless''%'"
            )

            def running() -> bool:
                return bool(eye.execute(seen).fetchall()[0][0])

            yield Place(
                "postgresql",
                url,
                lambda: connection.execute(TRIVIAL).fetchall(),
                f"SELECT x, 'row ' || x FROM (SELECT generate_series(1, {ROWS}) AS x) AS c",
                "SELECT 'endless', pg_sleep(600)",
                running,
            )


@contextlib.contextmanager
def _mariadb() -> Iterator[Place | None]:
    if not mariadb.is_installed():
        yield None
        return
    with mariadb.server() as url, mariadb.connect(url) as connection, mariadb.connect(url) as eye:
        yield Place(
            "mariadb",
            url,
            lambda: _rows(connection, TRIVIAL),
            f"SELECT seq, CONCAT('row ', seq) FROM seq_1_to_{ROWS}",
            "SELECT 'endless', SLEEP(600)",
            lambda: bool(_rows(eye, _MARIADB_SEEN)[0][0]),
        )


_MARIADB_SEEN = (
    "SELECT count(*) FROM information_schema.processlist"
    " WHERE command = 'Query' AND info LIKE 'SELECT ''endless''%'"
)


def _rows(connection: "pymysql.Connection[Any]", sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


if __name__ == "__main__":
    main()
