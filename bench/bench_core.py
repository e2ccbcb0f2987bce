"""What the pure parts cost: schedules, missed times, numbers, previews, exports, comparisons, gauges.

Each line is the best of several rounds, so that a busy machine shows least.
"""

import json
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from plugbay_scheduled_query.core import missed, schedule
from plugbay_scheduled_query.core.capacity import Load, Pace, measure
from plugbay_scheduled_query.core.diff import compare
from plugbay_scheduled_query.core.draft import DraftRules, check_new
from plugbay_scheduled_query.core.metric import gauge_value
from plugbay_scheduled_query.core.model import MetricConfig
from plugbay_scheduled_query.core.paging import NumberRange, numbers_of_page
from plugbay_scheduled_query.core.results import csv_chunks, iter_rows, preview
from plugbay_scheduled_query.core.schedule import parse, zone
from plugbay_scheduled_query.metrics.board import GaugeBoard
from plugbay_scheduled_query.repository.gauges import Publication

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
ROUNDS = 7


def report(what: str, work: Callable[[], object], times: int = 1) -> None:
    """Prints the CPU time of one call: the best round of several calls each."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(times):
            work()
        best = min(best, (time.process_time() - start) / times)
    print(f"{what:<66}{_duration(best):>12}")


def _duration(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.2f} µs"


def forget() -> None:
    """Empties the caches, so that the first call is what is measured."""
    for cached in (schedule._read, schedule._next, missed._passed_over, missed._count_one_by_one):
        cached.cache_clear()


def bench_schedule() -> None:
    berlin = zone("Europe/Berlin")

    def first_time(expression: str) -> object:
        forget()
        return parse(expression).next_after(NOON, berlin)

    for expression in ("*/5 * * * *", "30 2 * * *"):
        report(f"read and next time, nothing cached: {expression}", lambda e=expression: first_time(e), 200)
    known = parse("*/5 * * * *")
    report(
        "next time of a schedule that another query just asked for",
        lambda: known.next_after(NOON, berlin),
        2000,
    )
    moments = [NOON + timedelta(minutes=n) for n in range(1000)]
    report(
        "1,000 next times, each another question",
        lambda: (forget(), [known.next_after(moment) for moment in moments]),
    )
    report("claim of 1,000 queries due together, 20 schedules", claim_thousand)


def claim_thousand() -> None:
    forget()
    for n in range(1000):
        missed.advance(f"{n % 20} * * * *", "Europe/Berlin", NOON, NOON + timedelta(seconds=3))


def bench_missed() -> None:
    for expression in ("* * * * *", "*/20 2 * * *", "0 6 * * 1"):
        for timezone in ("UTC", "Europe/Berlin"):

            def count(expression: str = expression, timezone: str = timezone) -> object:
                forget()
                return missed.advance(expression, timezone, NOON - timedelta(days=365), NOON)

            report(f"missed in a year of downtime: {expression} in {timezone}", count)


def bench_results() -> None:
    columns = [f"c{n}" for n in range(10)]
    rows = [[n, f"name {n}", n * 1.5, None, True, "text äöü", n * 7, "x" * 20, n, n] for n in range(10_000)]
    table = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    changed = table.replace('"name 77"', '"name seventy-seven"')
    report("first numeric value of one cell", lambda: gauge_value(iter_rows("[[42]]")), 2000)
    report(
        "first numeric value of 10,000 rows by 10 (in the first row)",
        lambda: gauge_value(iter_rows(table)),
        200,
    )
    words = json.dumps([["a", "b", None, True] for _ in range(10_000)])
    report("first numeric value that is not there, 10,000 rows by 4", lambda: gauge_value(iter_rows(words)))
    report("preview of one cell", lambda: preview("[[42]]"), 2000)
    report(f"preview of 10,000 rows by 10 ({len(table) // 1000} kB)", lambda: preview(table), 20)
    report("CSV of 10,000 rows by 10", lambda: sum(map(len, csv_chunks(columns, table))))
    report(
        "what changed between two results of 10,000 rows by 10",
        lambda: compare(columns, table, columns, changed),
    )


def bench_gauges() -> None:
    samples = [
        Publication(
            query_id=n,
            query_name=f"Query {n}",
            query_text="SELECT count(*) FROM orders WHERE day = current_date " * 4,
            metrics=(MetricConfig(f"orders_{n}", {"region": "eu", "team": "core"}),),
            changed_at=NOON,
            value=n * 1.5,
            is_up=True,
            last_success_at=NOON,
        )
        for n in range(10_000)
    ]
    board = GaugeBoard(samples)
    board.text()
    size = len(board.text()) // 1000
    report(f"exposition of 10,000 gauges, joined ({size} kB)", board.text, 5)
    report("one new sample of 10,000", lambda: board.put(samples[5_000]), 500)

    def scrape_after_runs() -> bytes:
        for sample in samples[:1000]:
            board.put(sample)
        return board.text()

    report("exposition of 10,000 gauges, 1,000 of them new", scrape_after_runs)
    report("exposition of 10,000 gauges from nothing", lambda: GaugeBoard(samples).text())


def bench_others() -> None:
    loads = [Load(f"{n % 60} * * * *", "Europe/Berlin", n % 50) for n in range(10_000)]
    report("capacity of a source with 10,000 queries", lambda: measure(loads, Pace(30, 8), NOON))
    live = NumberRange(1, 1_000_000)
    report("numbers of a page of 1,000,000 rows", lambda: numbers_of_page(live, 12_345, 50), 2000)
    given = {"name": "Orders", "query": "SELECT 1 " * 50, "cron_schedule": "*/5 * * * *", "tags": ["shop"]}
    rules = DraftRules(data_sources={"sales"})
    report("check of a definition", lambda: check_new(given, rules), 500)


def main() -> None:
    print(f"Python {platform.python_version()}, {platform.machine()}, best of {ROUNDS}, CPU time\n")
    bench_schedule()
    bench_missed()
    bench_results()
    bench_gauges()
    bench_others()


if __name__ == "__main__":
    main()
