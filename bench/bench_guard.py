"""What a verdict of the SQL guard costs: remembered, new, and for the longest texts.

    .venv/bin/python bench/bench_guard.py

Times are CPU times of this process, because a new verdict is found on a thread of its own.
"""

import statistics
import time
from collections.abc import Callable

from plugbay_scheduled_query.core.guard import Rules
from plugbay_scheduled_query.core.guard.judging import judge
from plugbay_scheduled_query.dialects import check, language_named

SHORT = "SELECT count(*) FROM orders WHERE deleted_at IS NULL"
REPORT = """
WITH monthly AS (
  SELECT c.country, sum(o.amount) AS total, count(*) AS orders
  FROM orders o JOIN customers c ON c.id = o.customer_id
  WHERE o.deleted_at IS NULL AND o.status IN ('paid', 'shipped') AND c.country <> 'XX'
  GROUP BY c.country
)
SELECT country, total, orders, round(total / nullif(orders, 0), 2) AS average,
       rank() OVER (ORDER BY total DESC) AS place, total - lag(total) OVER (ORDER BY total) AS distance
FROM monthly WHERE total > (SELECT avg(total) FROM monthly) ORDER BY total DESC LIMIT 20
"""
TEXTS = {
    "50 characters": SHORT,
    "600 characters": REPORT,
    "3 kB": " UNION ALL ".join(
        ["SELECT a, b + 1, coalesce(c, 0) FROM t WHERE x = 1 AND y IN (1, 2, 3)"] * 38
    ),
    "100 kB, a list": "SELECT a FROM t WHERE a IN (" + ", ".join(map(str, range(15_000))) + ")",
    "100 kB, a text": "SELECT '" + "x" * 99_900 + "'",
}
DIALECTS = ("sqlite", "postgresql", "mysql", "duckdb")
RULES = Rules()


def main() -> None:
    print("| Verdict | " + " | ".join(DIALECTS) + " |\n|---|" + "---|" * len(DIALECTS))
    print("| remembered | " + " | ".join(microseconds(remembered(dialect)) for dialect in DIALECTS) + " |")
    for name, sql in TEXTS.items():
        print(
            f"| new, {name} | " + " | ".join(microseconds(new(sql, dialect)) for dialect in DIALECTS) + " |"
        )


def remembered(dialect: str) -> float:
    check(REPORT, dialect, RULES)
    return median_cpu(lambda: [check(REPORT, dialect, RULES) for _ in range(1000)]) / 1000


def new(sql: str, dialect: str) -> float:
    return median_cpu(lambda: judge(sql, language_named(dialect), RULES))


def median_cpu(work: Callable[[], object], enough_s: float = 1.0) -> float:
    times: list[float] = []
    work()
    while len(times) < 3 or sum(times) < enough_s:
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return statistics.median(times)


def microseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.2f} ms" if seconds >= 1e-4 else f"{seconds * 1e6:,.1f} µs"


if __name__ == "__main__":
    main()
