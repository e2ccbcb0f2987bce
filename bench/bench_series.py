"""Metrics from rows: sampling, recording, memory, start and scrape, of 100,000 series in 100 queries.

With the URL of an empty PostgreSQL database as its argument it measures that store instead of SQLite.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median

import psutil
import sqlalchemy as sa
from plugbay import Store, SystemClock
from plugbay.store import open_store
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.core.draft import Draft
from plugbay_scheduled_query.core.model import Execution, MetricConfig, Outcome, Run, Status
from plugbay_scheduled_query.metrics.gauges import GaugeKeeper
from plugbay_scheduled_query.repository.claims import Claims
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.gauges import StoredGauges
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.repository.recording import Recording
from plugbay_scheduled_query.runs.executing import with_value

MIGRATIONS = Path(tables.__file__).parent / "migrations"
QUERIES, SERIES, GAUGES = 100, 1_000, 10_000
NODE = "bench"
COLUMNS = ("country", "status", "orders")
YEARLY = "0 0 1 1 *"


class Bench:
    """A store with queries of many series, and what records and shows them."""

    def __init__(self, store: Store) -> None:
        self.store, self.clock = store, SystemClock()
        self.definitions = Definitions(store, self.clock)
        self.claims, self.recording = Claims(store, self.clock, NODE), Recording(store, NODE)
        self.keeper = self.fresh_keeper()
        now = self.clock.now()
        row = {"id": 1, "name": "shop", "dialect": "sqlite", "secret_url": "x", "origin": "admin"}
        with store.begin() as connection:
            connection.execute(sa.insert(tables.data_sources), [row | {"created_at": now, "updated_at": now}])
            connection.execute(sa.insert(tables.lanes), [{"source_id": 1}])

    def fresh_keeper(self) -> GaugeKeeper:
        return GaugeKeeper(StoredGauges(self.store, NODE), self.clock)

    def add(self, name: str, metric: MetricConfig) -> int:
        draft = Draft(
            name=name, query="SELECT 1", cron_schedule=YEARLY, data_source="shop", metrics=(metric,)
        )
        return self.definitions.create(draft, 1, None, "UTC").id

    def claim(self, query_id: int) -> Run:
        run, _ = self.claims.start_now(query_id, "bench")
        assert run
        return run

    def record(self, run: Run, outcome: Outcome) -> Execution:
        """One execution from its result to the board."""
        sampled = with_value(outcome, run, 100_000)
        (execution,) = self.recording.record([(run, sampled)], self.clock.now(), Keeping(limit_history=1))
        assert execution
        assert execution.feed
        self.keeper.feed(execution.feed)
        return execution


@contextmanager
def bench_on(url: str) -> Iterator[Bench]:
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(url, Path(folder) / "data")
        store.migrate("scheduled_query", MIGRATIONS)
        yield Bench(store)
        store.close()


def result(rows: int, offset: int = 0, changed: int | None = None) -> Outcome:
    """A result of which all values, or some, depend on the offset."""
    most = rows if changed is None else changed
    cells = [[f"country {n}", "open", n + (offset if n < most else 0)] for n in range(rows)]
    text = json.dumps(cells, separators=(",", ":"))
    return Outcome(Status.SUCCESS, COLUMNS, text, rows, executed_at=datetime.now(UTC), duration_ms=3)


def cpu_ms(calls: Iterator[Callable[[], object]] | list[Callable[[], object]]) -> float:
    """The median CPU time of a call."""
    found = []
    for call in calls:
        before = time.process_time()
        call()
        found.append((time.process_time() - before) * 1000)
    return median(found)


def tell(what: str, figure: str) -> None:
    print(f"| {what} | {figure} |")


def bench_recording(bench: Bench) -> None:
    query = bench.add("one", MetricConfig("bench_one", {"shop": "a"}, ("country", "status")))
    bench.record(bench.claim(query), result(SERIES))
    outcomes = [result(SERIES, n + 1) for n in range(9)]
    every = cpu_ms(records(bench, query, outcomes))
    tell("recording 1,000 series, all changed", f"{every:.1f} ms CPU")
    outcomes = [result(SERIES, n + 20, changed=3) for n in range(9)]
    few = cpu_ms(records(bench, query, outcomes))
    tell("the same with 3 changed values", f"{few:.1f} ms CPU, {written(bench, query):,} bytes written")
    plain = bench.add("plain", MetricConfig("bench_plain"))
    one = cpu_ms(records(bench, plain, outcomes))
    tell("for comparison, the same result with one gauge", f"{one:.1f} ms CPU")


def records(bench: Bench, query: int, outcomes: list[Outcome]) -> Iterator[Callable[[], object]]:
    """The recording of each, claimed before."""
    for outcome in outcomes:
        yield partial(bench.record, bench.claim(query), outcome)


def written(bench: Bench, query: int) -> int:
    """The bytes of series that an execution with 3 changed values writes."""
    text = sa.select(tables.series.c.digest, sa.func.length(tables.series.c.text)).where(
        tables.series.c.query_id == query
    )
    with bench.store.connect() as connection:
        before = {digest for digest, _ in connection.execute(text)}
    bench.record(bench.claim(query), result(SERIES, 99, changed=3))
    with bench.store.connect() as connection:
        return sum(size for digest, size in connection.execute(text) if digest not in before)


def bench_scrapes(bench: Bench) -> None:
    ids = [
        bench.add(f"q{n}", MetricConfig(f"bench_orders_{n}", {"shop": "a"}, ("country", "status")))
        for n in range(QUERIES)
    ]
    for query in ids:
        bench.record(bench.claim(query), result(SERIES))
    as_if_long_ago(bench)
    process = psutil.Process()
    bench.keeper = bench.fresh_keeper()
    before = process.memory_info().rss
    started, cpu = time.perf_counter(), time.process_time()
    size = len(bench.keeper.text())
    wall_ms, cpu_used = (time.perf_counter() - started) * 1000, (time.process_time() - cpu) * 1000
    tell(
        f"start: the first text of {QUERIES * SERIES:,} series ({size / 1e6:.1f} MB)",
        f"{wall_ms:.0f} ms, {cpu_used:.0f} ms CPU",
    )
    tell("memory for them", f"{(process.memory_info().rss - before) / 1e6:.0f} MB")
    tell("scrape, nothing changed", f"{cpu_ms([bench.keeper.text] * 21):.2f} ms CPU")

    def one_changed() -> Iterator[Callable[[], object]]:
        for n in range(11):
            bench.record(bench.claim(ids[n]), result(SERIES, n + 1))
            yield bench.keeper.text

    tell("scrape, one query of 1,000 series changed here", f"{cpu_ms(one_changed()):.1f} ms CPU")
    other = Recording(bench.store, "another node")

    def changed_elsewhere() -> Iterator[Callable[[], object]]:
        for n in range(11):
            run = bench.claim(ids[n])
            outcome = with_value(result(SERIES, n + 50), run, 100_000)
            other.record([(run, outcome)], bench.clock.now(), Keeping(limit_history=1))
            yield bench.keeper.text

    tell("the same, changed by another node", f"{cpu_ms(changed_elsewhere()):.1f} ms CPU")


def as_if_long_ago(bench: Bench) -> None:
    with bench.store.begin() as connection:
        at = datetime.now(UTC) - timedelta(minutes=5)
        connection.execute(sa.update(tables.states).values(changed_at=at))


def bench_gauges(bench: Bench) -> None:
    ids = [bench.add(f"g{n}", MetricConfig(f"bench_gauge_{n}", {"shop": "a"})) for n in range(GAUGES)]
    bench.keeper = bench.fresh_keeper()
    bench.keeper.text()

    def all_changed() -> Iterator[Callable[[], object]]:
        for round_ in range(3):
            batch = []
            for query in ids:
                run = bench.claim(query)
                batch.append((run, with_value(result(1, round_), run, 1_000)))
            for start in range(0, GAUGES, 128):
                part = batch[start : start + 128]
                for execution in bench.recording.record(part, bench.clock.now(), Keeping(limit_history=1)):
                    assert execution
                    assert execution.feed
                    bench.keeper.feed(execution.feed)
            yield bench.keeper.text

    tell(f"scrape of {GAUGES:,} gauges that all changed", f"{cpu_ms(all_changed()):.1f} ms CPU")
    tell(
        f"scrape of {GAUGES:,} gauges, nothing changed since",
        f"{cpu_ms([bench.keeper.text] * 21):.2f} ms CPU",
    )


def main() -> None:
    url = sys.argv[1] if len(sys.argv) > 1 else ""
    print("| what | cost |\n|---|---|")
    for part in (bench_recording, bench_scrapes, bench_gauges):
        if url and part is not bench_recording:
            print("(one part for each empty database)")
            return
        with bench_on(url) as bench:
            part(bench)


if __name__ == "__main__":
    main()
