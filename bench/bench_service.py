"""The service on a SQLite store: cycles, claims, history pages, /metrics. For runs see `bench_runs.py`."""

import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from types import SimpleNamespace
from typing import Any

import raw_sqlite
import sqlalchemy as sa
from plugbay import EventBus, Store, SystemClock
from plugbay.store import open_store
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.assembly import Assembly
from plugbay_scheduled_query.core.draft import Draft
from plugbay_scheduled_query.core.model import MetricConfig
from plugbay_scheduled_query.core.source import Target
from plugbay_scheduled_query.executor import Executor
from plugbay_scheduled_query.metrics.gauges import GaugeKeeper
from plugbay_scheduled_query.repository.claims import Claims
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.gauges import StoredGauges
from plugbay_scheduled_query.repository.history import Histories, HistoryFilter
from plugbay_scheduled_query.repository.pauses import Pauses
from plugbay_scheduled_query.repository.pruning import Housekeeping
from plugbay_scheduled_query.repository.retiming import Retiming
from plugbay_scheduled_query.repository.standstills import Standstills
from plugbay_scheduled_query.runs.executing import Executing
from plugbay_scheduled_query.runs.node import Node
from plugbay_scheduled_query.runs.service import Service
from plugbay_scheduled_query.runs.stuck import StuckSessions
from plugbay_scheduled_query.settings import Settings
from plugbay_task_worker.embedded import EmbeddedEngine
from plugbay_task_worker.tick_claims import MemoryTickClaims

MIGRATIONS = Path(tables.__file__).parent / "migrations"
PAST, FAR = datetime(2020, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


def cpu_and_wall(function: Callable[[], object], times: int) -> tuple[float, float]:
    """Median CPU and wall time of one call, in milliseconds."""
    cpu, wall = [], []
    for _ in range(times):
        c, w = time.thread_time(), time.perf_counter()
        function()
        cpu.append((time.thread_time() - c) * 1000)
        wall.append((time.perf_counter() - w) * 1000)
    return median(cpu), median(wall)


def fresh_store(folder: str) -> tuple[Store, Definitions]:
    store = open_store("", Path(folder) / "data")
    store.migrate("scheduled_query", MIGRATIONS)
    now = datetime.now(UTC)
    with store.begin() as connection:
        row = {"id": 1, "name": "shop", "dialect": "sqlite", "secret_url": "x", "origin": "admin"}
        connection.execute(
            sa.insert(tables.data_sources).values(row | {"created_at": now, "updated_at": now})
        )
        connection.execute(sa.insert(tables.lanes).values(source_id=1))
    return store, Definitions(store, SystemClock())


def fill(store: Store, count: int, next_run_at: datetime, metric: bool = False) -> None:
    """Copies of one definition, so many, in one transaction."""
    definitions = Definitions(store, SystemClock())
    metrics = (MetricConfig("orders", {"n": "0"}),) if metric else ()
    draft = Draft(
        name="q",
        query="SELECT 1",
        cron_schedule="@yearly",
        data_source="shop",
        metrics=metrics,
    )
    first = definitions.create(draft, 1, None, "UTC")
    with store.begin() as connection:
        row = dict(
            connection.execute(sa.select(tables.queries).where(tables.queries.c.id == first.id))
            .one()
            ._mapping
        )
        row["next_run_at"] = next_run_at
        now = datetime.now(UTC)
        for part in _batches(first.id + 1, first.id + count):
            connection.execute(
                sa.insert(tables.queries), [{**row, "id": n, **_gauge(n, metric)} for n in part]
            )
            state = {"changed_at": now, "last_status": "success", "last_success_at": now, "metric_value": 1.5}
            connection.execute(sa.insert(tables.states), [{"query_id": n, **state} for n in part])
        connection.execute(
            sa.update(tables.queries).where(tables.queries.c.id == first.id).values(next_run_at=next_run_at)
        )


def _gauge(n: int, metric: bool) -> dict[str, str | None]:
    if not metric:
        return {"series_key": None, "metric_config": None}
    return {"series_key": str(n), "metric_config": f'[{{"metric_name": "orders", "labels": {{"n": "{n}"}}}}]'}


def _batches(start: int, stop: int) -> list[range]:
    return [range(low, min(low + 10_000, stop)) for low in range(start, stop, 10_000)]


def bench_cycles() -> None:
    print("\n# An idle cycle, and claiming 1,000 due")
    for count in (100, 10_000, 1_000_000):
        with tempfile.TemporaryDirectory() as folder:
            store, _ = fresh_store(folder)
            fill(store, count, FAR)
            cpu, wall = idle_cycle(store, Path(folder))
            print(f"idle cycle with {count:>9,} definitions: {cpu:.2f} ms CPU, {wall:.2f} ms")
            if count == 1_000_000:
                claims = Claims(store, SystemClock(), "node")
                bench_claim(store, claims, Path(folder) / "data/plugbay.db")
            store.close()


def idle_cycle(store: Store, folder: Path) -> tuple[float, float]:
    """All that the task does each minute when nothing is due, with the default settings."""
    clock, settings = SystemClock(), Settings()
    executor = Executor(1, clock=clock)
    engine = EmbeddedEngine(clock, MemoryTickClaims(), workers=4)
    sessions = StuckSessions(clock, Pauses(store), executor, Shop(folder / "shop.db"), EventBus())
    service = Service(
        store=store,
        clock=clock,
        node=Node(folder / "data"),
        engine=engine,
        executing=Executing(clock, Shop(folder / "shop.db"), executor, lambda: settings, sessions),
        settings=lambda: settings,
        ears=(),
    )
    nothing: Any = None
    standstills = Standstills(store, clock)
    parts: Any = SimpleNamespace(
        service=service, sessions=sessions, standstills=standstills, settings=lambda: settings
    )
    assembly = Assembly(
        parts=parts,
        engine=engine,
        housekeeping=Housekeeping(store, clock),
        retiming=Retiming(store, clock),
        notifications=nothing,
        health=nothing,
    )
    figures = cpu_and_wall(assembly.cycle, 50)
    service.close()
    executor.close()
    return figures


def bench_claim(store: Store, claims: Claims, path: Path) -> None:
    due = tables.queries.c.id <= 2000
    change = {"next_run_at": PAST, "cron_schedule": "0 0 1 1 *"}
    with store.begin() as connection:
        connection.execute(sa.update(tables.queries).where(due).values(change))
    started, cpu_started = time.perf_counter(), time.thread_time()
    claimed = sum(len(claims.claim_batch(250, "UTC")) for _ in range(4))
    wall, cpu = (time.perf_counter() - started) * 1000, (time.thread_time() - cpu_started) * 1000
    raw = sum(raw_sqlite.claim(path, str(datetime.now(UTC)), 250) for _ in range(4))
    print(
        f"claiming {claimed:,} due of 1,000,000: {wall:.0f} ms, {cpu:.0f} ms CPU;"
        f" {wall / raw:.1f} times the raw driver, which works out no cron times"
    )


def bench_mixed() -> None:
    """What is due in a source without a pace, beside a source that half of all definitions wait for."""
    print("\n# Claiming 250 due of a source without a pace, beside a backlog of another that rests")
    for count in (1_000, 10_000, 100_000):
        with tempfile.TemporaryDirectory() as folder:
            store, _ = fresh_store(folder)
            fill(store, count, FAR)
            claims = Claims(store, SystemClock(), "node")
            _make_mixed(store, count)
            looks = cpu_and_wall(claims.due_sources, 50)
            figures = cpu_and_wall(partial(claim_beside, claims), 1)
            print(
                f"{count:>9,} definitions: looking {looks[0]:.2f} ms CPU, {looks[1]:.2f} ms;"
                f" claiming {figures[0]:.1f} ms CPU, {figures[1]:.1f} ms"
            )
            store.close()


def claim_beside(claims: Claims) -> None:
    assert claims.claim_paced("UTC", 30) == []
    claims.claim_batch(250, "UTC", {2: 8}, only_these=True)


def _make_mixed(store: Store, count: int) -> None:
    now, waits = datetime.now(UTC), tables.queries.c.id <= count // 2
    fast = {"id": 2, "name": "fast", "dialect": "sqlite", "secret_url": "x", "origin": "admin", "pace_s": 0}
    due = tables.queries.c.id.between(count - 249, count)
    with store.begin() as connection:
        times = {"created_at": now, "updated_at": now}
        connection.execute(sa.insert(tables.data_sources).values(fast | times))
        connection.execute(sa.update(tables.lanes).values(ended_at=now))
        connection.execute(sa.insert(tables.lanes).values(source_id=2))
        connection.execute(sa.update(tables.queries).where(waits).values(next_run_at=PAST))
        connection.execute(sa.update(tables.queries).where(due).values(next_run_at=PAST, source_id=2))


class Shop:
    def __init__(self, path: Path) -> None:
        self._target = Target("sqlite", {"path": str(path)})

    def target(self, source_id: int) -> Target:
        return self._target


def bench_history(count: int = 1_000_000) -> None:
    print(f"\n# History of {count:,} executions of one query")
    with tempfile.TemporaryDirectory() as folder:
        store, _ = fresh_store(folder)
        fill(store, 1, FAR)
        now = datetime.now(UTC)
        with store.begin() as connection:
            result = {"id": 1, "query_id": 1, "columns": '["n"]', "text": "[[1]]", "row_count": 1}
            connection.execute(sa.insert(tables.results).values(result))
            for part in _batches(1, count + 1):
                connection.execute(sa.insert(tables.history), [_history_row(n, now, count) for n in part])
            ends = {"last_number": count, "last_success": count - count // 10, "last_failed": count // 10}
            connection.execute(sa.update(tables.states).values(ends))
        histories = Histories(store)
        pages = count // 50
        for name, page in (("first", 1), ("middle", pages // 2), ("last", pages)):
            walls = []
            for _ in range(100):
                started = time.perf_counter()
                items, total = histories.page(1, HistoryFilter(), page, 50)
                walls.append((time.perf_counter() - started) * 1000)
            assert (len(items), total) == (50, count)
            p99, raw = quantiles(walls, n=100)[98], _raw_page(Path(folder), count - page * 50 + 1)
            print(
                f"{name} page of 50 with total: p50 {median(walls):.1f} ms, p99 {p99:.1f} ms;"
                f" {median(walls) / raw:.1f} times the raw driver"
            )
        wanted = HistoryFilter("failed", since=now - timedelta(days=30), until=now - timedelta(days=1))
        cpu, wall = cpu_and_wall(lambda: histories.page(1, wanted, 1, 50), 50)
        print(f"page by status and date: {cpu:.1f} ms CPU, {wall:.1f} ms")
        store.close()


def _raw_page(folder: Path, lowest: int) -> float:
    with closing(sqlite3.connect(folder / "data/plugbay.db")) as connection:
        return cpu_and_wall(lambda: raw_sqlite.page(connection, lowest, lowest + 49), 100)[1]


def _history_row(n: int, now: datetime, count: int) -> dict[str, Any]:
    failed, moment = n % 10 == 0, now - timedelta(minutes=count - n)
    return {
        "query_id": 1,
        "number": n,
        "status_number": n // 10 if failed else n - n // 10,
        "executed_at": moment,
        "duration_ms": 5,
        "status": "failed" if failed else "success",
        "result_id": None if failed else 1,
        "trigger": "schedule",
        "due_at": moment,
    }


def bench_metrics(count: int = 10_000) -> None:
    print(f"\n# /metrics with {count:,} gauges")
    with tempfile.TemporaryDirectory() as folder:
        store, _ = fresh_store(folder)
        fill(store, count, FAR, metric=True)
        with store.begin() as connection:
            connection.execute(
                sa.update(tables.states).values(changed_at=datetime.now(UTC) - timedelta(minutes=5))
            )
        keeper = GaugeKeeper(StoredGauges(store), SystemClock())
        started = time.perf_counter()
        size = len(keeper.text())
        print(
            f"first scrape (reads all): {(time.perf_counter() - started) * 1000:.0f} ms, {size / 1e6:.1f} MB"
        )
        cpu, wall = cpu_and_wall(keeper.text, 20)
        print(f"each further scrape: {cpu:.1f} ms CPU, {wall:.1f} ms")
        with store.begin() as connection:
            connection.execute(sa.update(tables.states).values(changed_at=datetime.now(UTC)))
        cpu, wall = cpu_and_wall(keeper.text, 1)
        print(f"the scrape after all changed: {cpu:.0f} ms CPU, {wall:.0f} ms")
        cpu, wall = cpu_and_wall(keeper.text, 20)
        print(f"each further one within the minute: {cpu:.1f} ms CPU, {wall:.1f} ms")
        store.close()


def main() -> None:
    bench_cycles()
    bench_mixed()
    bench_history()
    bench_metrics()


if __name__ == "__main__":
    main()
