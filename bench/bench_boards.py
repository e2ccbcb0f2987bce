"""Versions and boards: what a save and an import cost, and the lines of a board of 40 cards over a month."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import sqlalchemy as sa
from bench_service import cpu_and_wall, fresh_store
from plugbay import Store, SystemClock
from plugbay_scheduled_query.core.draft import Draft
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.trends import Trends
from plugbay_scheduled_query.repository.versions import KEPT, Versions
from plugbay_scheduled_query.tables import history

SAVES, IMPORTED = 1_000, 10_000
CARDS, MINUTES = 40, 30 * 24 * 60  # queries that ran each minute of a month
DRAFT = Draft(
    name="Orders",
    query="SELECT count(*) AS n\nFROM orders\n" * 10,
    cron_schedule="*/5 * * * *",
    data_source="shop",
    tags=("a", "b"),
)


def bench_versions(store: Store, definitions: Definitions) -> None:
    query, numbers = definitions.create(DRAFT, 1, "ada", "UTC"), count()

    def save() -> None:
        definitions.update(query.id, replace(DRAFT, description=f"{next(numbers)}"), 1, "ada", "UTC", None)

    for _ in range(KEPT):
        save()  # from here on each save also takes the oldest version away
    report("a save of a query with 200 versions", *cpu_and_wall(save, SAVES))
    edited = definitions.get(query.id)
    assert edited
    report("its first page of 50 versions", *cpu_and_wall(lambda: Versions(store).page(edited, 0, 50), 100))
    many = [(replace(DRAFT, name=f"Query {n}"), 1) for n in range(IMPORTED)]
    report(
        f"an import of {IMPORTED:,}",
        *cpu_and_wall(lambda: definitions.create_many(many, "ada", "UTC"), 1),
    )


def bench_lines(store: Store) -> None:
    now = SystemClock().now()
    for query_id in range(1, CARDS + 1):
        with store.begin() as connection:
            connection.execute(sa.insert(history), list(_month(query_id, now)))
    trends, ids = Trends(store), range(1, CARDS + 1)
    for hours in (1, 24, 7 * 24, 30 * 24):
        since = now - timedelta(hours=hours)
        figures = cpu_and_wall(lambda since=since: trends.values(ids, since, now), 10)
        report(f"the lines of {CARDS} cards over {hours} h", *figures)


def _month(query_id: int, now: datetime) -> Iterator[dict[str, Any]]:
    for n in range(1, MINUTES + 1):
        at = now - timedelta(minutes=MINUTES - n)
        run = {"executed_at": at, "due_at": at, "duration_ms": 5, "status": "success", "trigger": "schedule"}
        yield {"query_id": query_id, "number": n, "status_number": n, "metric_value": float(n), **run}


def report(what: str, cpu_ms: float, wall_ms: float) -> None:
    print(f"{what}: {cpu_ms:,.2f} ms of CPU, {wall_ms:,.2f} ms by the clock")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store, definitions = fresh_store(folder)
        bench_versions(store, definitions)
        bench_lines(store)
        store.close()


if __name__ == "__main__":
    main()
