"""Alerts: what rules add to an execution, what they cost at rest, and how long a backtest takes.

With the URL of an empty PostgreSQL database as its argument it measures that store instead of SQLite.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import sqlalchemy as sa
from bench_service import MIGRATIONS
from plugbay import Store, SystemClock
from plugbay.store import open_store
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.alerts.backtest import Backtest, Question
from plugbay_scheduled_query.core.alerting.conditions import check_condition
from plugbay_scheduled_query.core.alerting.model import AlertDraft
from plugbay_scheduled_query.core.draft import Draft
from plugbay_scheduled_query.core.model import Outcome, Run, Status
from plugbay_scheduled_query.repository.alert_judging import AlertLooks
from plugbay_scheduled_query.repository.alerts import Alerts
from plugbay_scheduled_query.repository.claims import Claims
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.past import Past
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.repository.recording import Recording

GROUP = 100  # executions in a transaction
ROUNDS = 15
AT_REST = 10_000
PLAYED = 10_000
RULES = (
    {"kind": "value", "op": ">", "value": 1_000_000},
    {"kind": "rows", "op": "<", "value": 1},
    {"kind": "failing", "times": 3},
)


class Bench:
    """Queries with and without rules, and what records their executions."""

    def __init__(self, store: Store) -> None:
        self.store, self.clock = store, SystemClock()
        self.definitions, self.alerts = Definitions(store, self.clock), Alerts(store, self.clock)
        self.claims, self.recording = Claims(store, self.clock, "bench"), Recording(store, "bench")
        now = self.clock.now()
        row = {"id": 1, "name": "shop", "dialect": "sqlite", "secret_url": "x", "origin": "admin"}
        with store.begin() as connection:
            connection.execute(sa.insert(tables.data_sources), [row | {"created_at": now, "updated_at": now}])
            connection.execute(sa.insert(tables.lanes), [{"source_id": 1}])

    def add(self, name: str, rules: int) -> int:
        draft = Draft(name=name, query="SELECT 1", cron_schedule="0 0 1 1 *", data_source="shop")
        query_id = self.definitions.create(draft, 1, None, "UTC").id
        for n, rule in enumerate(RULES[:rules]):
            self.alerts.create(query_id, AlertDraft(name=f"rule {n}", condition=check_condition(rule)))
        return query_id

    def record_ms(self, query_ids: list[int]) -> float:
        """CPU of recording one execution, the median of rounds of a group."""
        return median(self._round(query_ids, n) for n in range(ROUNDS)) / len(query_ids)

    def _round(self, query_ids: list[int], n: int) -> float:
        runs = [self._claimed(query_id) for query_id in query_ids]
        batch = [(run, _outcome(n)) for run in runs]
        return cpu_ms(lambda: self.recording.record(batch, self.clock.now(), Keeping()))

    def _claimed(self, query_id: int) -> Run:
        run, _ = self.claims.start_now(query_id, "bench")
        assert run
        return run


def _outcome(n: int) -> Outcome:
    return Outcome(Status.SUCCESS, ("n",), f"[[{n}]]", 1, executed_at=datetime.now(UTC), duration_ms=3)


def cpu_ms(call: Callable[[], object]) -> float:
    before = time.process_time()
    call()
    return (time.process_time() - before) * 1000


def tell(what: str, figure: str) -> None:
    print(f"| {what} | {figure} |")


def bench_rules(bench: Bench) -> None:
    for rules in (0, 1, 3):
        ids = [bench.add(f"{rules} rules {n}", rules) for n in range(GROUP)]
        tell(f"recording an execution with {rules} rules", f"{bench.record_ms(ids) * 1000:.0f} µs CPU")


def bench_rest(bench: Bench) -> None:
    query_id = bench.add("resting", 0)
    stale = AlertDraft(name="", condition=check_condition({"kind": "stale", "minutes": 60}))
    bench.alerts.create(query_id, stale)
    copy = sa.select(*(c for c in tables.alerts.c if c.name not in ("id", "name")))
    names = [c.name for c in tables.alerts.c if c.name not in ("id", "name")]
    with bench.store.begin() as connection:
        row = connection.execute(copy.where(tables.alerts.c.query_id == query_id)).one()._mapping
        rows = [{**{name: row[name] for name in names}, "name": f"rule {n}"} for n in range(AT_REST)]
        connection.execute(sa.insert(tables.alerts), rows)
    looks = AlertLooks(bench.store, bench.clock)
    cost = median(cpu_ms(looks.look) for _ in range(ROUNDS))
    tell(f"a minute's look at {AT_REST:,} rules that rest", f"{cost:.2f} ms CPU")


def bench_backtest(bench: Bench) -> None:
    query_id = bench.add("played", 0)
    for start in range(0, PLAYED, GROUP):
        at = datetime.now(UTC) - timedelta(minutes=PLAYED - start)
        batch = []
        for n in range(start, start + GROUP):
            run = bench._claimed(query_id)
            text = json.dumps([[f"row {k}", n % 97 + k] for k in range(20)])
            outcome = Outcome(Status.SUCCESS, ("name", "n"), text, 20, executed_at=at, duration_ms=3)
            batch.append((run, outcome))
            bench.recording.record(batch[-1:], bench.clock.now(), Keeping(limit_history=-1))
    backtest = Backtest(Past(bench.store), bench.clock)
    for rule in ({"kind": "value", "op": ">", "value": 90}, _any_row()):
        draft = AlertDraft(name="", condition=check_condition(rule))
        began = time.perf_counter()
        cost = cpu_ms(lambda draft=draft: backtest.play(Question(query_id, draft, 3650)))
        wall = time.perf_counter() - began
        tell(
            f"backtest of {PLAYED:,} results of 20 rows, {rule.get('rows', 'first')}",
            f"{wall:.2f} s, {cost / 1000:.2f} s CPU",
        )


def _any_row() -> dict[str, object]:
    return {"kind": "value", "op": ">", "value": 100, "column": "n", "rows": "any"}


def main() -> None:
    url = sys.argv[1] if len(sys.argv) > 1 else ""
    print("| what | cost |\n|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(url, Path(folder) / "data")
        store.migrate("scheduled_query", MIGRATIONS)
        bench = Bench(store)
        for part in (bench_rules, bench_rest, bench_backtest):
            part(bench)
        store.close()


if __name__ == "__main__":
    main()
