"""The store: what a read, a write, a time value, a start with nothing to migrate and a backup cost.

Give a PostgreSQL URL in TEST_POSTGRES_URL to measure that too. Each figure is the median of the best round.
"""

import os
import platform
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa
from plugbay.store import HOST_MIGRATIONS, Store, UTCDateTime, open_store
from plugbay.store.tables import menu_overrides

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from migration_scripts import write_step

ROUNDS, THREADS, BACKUP_MB = 5, 16, 200
NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def main() -> None:
    print(f"# {os.cpu_count()} cores, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}")
    with tempfile.TemporaryDirectory() as folder:
        for url in ("", os.environ.get("TEST_POSTGRES_URL")):
            if url is not None:
                bench_store(url, Path(folder))
        bench_backup(Path(folder))
    bench_times()


def bench_store(url: str, folder: Path) -> None:
    store = open_store(url, folder / "data")
    print(f"## {store.dialect}")
    by_key = sa.select(menu_overrides).where(menu_overrides.c.entry_key == "1")
    report("read one row by key", 300, lambda: read(store, by_key))
    report("write one row, committed", 100, lambda: write(store))
    report(
        f"write one row, {THREADS} threads at once (per row)", 1, lambda: write_together(store), THREADS * 20
    )
    report("ping", 300, store.ping)
    report(
        "start with nothing to migrate, one module of 1 step",
        50,
        lambda: store.migrate("plugbay", HOST_MIGRATIONS),
    )
    bench_long_chain(store, folder / store.dialect)
    report("open and close a store that is up to date", 10, lambda: open_store(url, folder / "data").close())
    store.close()


def bench_long_chain(store: Store, scripts: Path) -> None:
    for number in range(1, 51):
        write_step(scripts, f"{number:04}", f"{number - 1:04}" if number > 1 else None)
    store.migrate("bench", scripts)
    report("nothing to migrate: module of 50 steps", 20, lambda: store.migrate("bench", scripts))


def read(store: Store, query: sa.Select[tuple[object, ...]]) -> None:
    with store.connect() as connection:
        connection.execute(query).all()


def write(store: Store) -> None:
    upsert = store.insert(menu_overrides).values(entry_key="1", position=time.monotonic_ns() % 1000)
    with store.begin() as connection:
        connection.execute(
            upsert.on_conflict_do_update(
                index_elements=["entry_key"], set_={"position": upsert.excluded.position}
            )
        )


def write_together(store: Store) -> None:
    def work() -> None:
        for _ in range(20):
            write(store)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def bench_times() -> None:
    print("## UTCDateTime")
    for dialect in (sa.create_engine("sqlite://").dialect, sa.create_engine("postgresql+psycopg://").dialect):
        bind = UTCDateTime().bind_processor(dialect)
        result = UTCDateTime().result_processor(dialect, None)
        stored = bind(NOON)
        report(f"{dialect.name}: one value in", 10_000, lambda bind=bind: bind(NOON))
        report(f"{dialect.name}: one value out", 10_000, lambda result=result, stored=stored: result(stored))


def bench_backup(folder: Path) -> None:
    store = open_store("", folder / "big")
    with store.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE big (id INTEGER PRIMARY KEY, data BLOB)")
        for _ in range(BACKUP_MB):
            connection.exec_driver_sql("INSERT INTO big (data) VALUES (randomblob(1000000))")
    began = time.perf_counter()
    store.backup(folder / "copy.db")
    print(f"{f'backup of {BACKUP_MB} MB':<66}{time.perf_counter() - began:>10.2f} s")
    with closing(sqlite3.connect(folder / "copy.db")) as copy:
        assert copy.execute("SELECT count(*) FROM big").fetchone() == (BACKUP_MB,)
    store.close()


def report(what: str, times: int, work: Callable[[], object], share: int = 1) -> None:
    best = min(median_of(times, work) for _ in range(ROUNDS)) / share
    print(f"{what:<66}{best * 1e6:>10.1f} µs")


def median_of(times: int, work: Callable[[], object]) -> float:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
