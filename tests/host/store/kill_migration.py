"""A program: at every point of a migration a process is killed (-9), and a new one must finish the work.

Usage: kill_migration.py URL FOLDER SCRIPTS; an empty URL is SQLite. Prints the number of points.
The parent only forks, so that the many processes need not import everything anew.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from plugbay.store import Store
from plugbay.store import migrate as _alembic_is_loaded_before_forking  # noqa: F401

for name in ("sqlite://", "postgresql+psycopg://"):
    sa.create_engine(name)  # and so are the drivers

EXPECTED = {
    "SELECT version_num FROM alembic_version_garden": [("0003",)],
    "SELECT id, name, width FROM beds ORDER BY id": [(1, "north", 4), (2, "south", 4)],
    "SELECT id, bed FROM plants ORDER BY id": [(1, 1), (2, 1), (3, 2)],
    "SELECT name FROM names ORDER BY name": [("north",), ("south",)],
}


def in_a_process(work: Callable[[], None]) -> int:
    """Runs the work in a child and returns its exit code, negative for a signal."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def die_at(engine: sa.Engine, point: int) -> None:
    """Kills this process before its n-th statement or commit."""
    passed = 0

    def pass_one(*_: Any) -> None:
        nonlocal passed
        passed += 1
        if passed == point:
            os.kill(os.getpid(), signal.SIGKILL)

    for event in ("before_cursor_execute", "commit"):
        sa.event.listen(engine, event, pass_one)


def migrate(url: str, data_dir: Path, scripts: Path, point: int = 0) -> None:
    store = Store(url, data_dir)
    die_at(store.engine, point)
    store.migrate("garden", scripts)
    store.close()


def finish(url: str, data_dir: Path, scripts: Path) -> None:
    migrate(url, data_dir, scripts)
    store = Store(url, data_dir)
    with store.connect() as connection:
        for query, expected in EXPECTED.items():
            found = [tuple(row) for row in connection.exec_driver_sql(query)]
            assert found == expected, (query, found)
    store.close()


def empty(url: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")


def main(url: str, folder: Path, scripts: Path) -> int:
    for point in range(1, 1000):
        data_dir = folder / str(point)
        if url:
            assert in_a_process(lambda: empty(url)) == 0
        end = in_a_process(lambda data_dir=data_dir, point=point: migrate(url, data_dir, scripts, point))  # type: ignore[misc]
        if end == 0:
            return point - 1
        assert end == -signal.SIGKILL, end
        assert in_a_process(lambda data_dir=data_dir: finish(url, data_dir, scripts)) == 0, point  # type: ignore[misc]
    raise AssertionError("it never ends")


if __name__ == "__main__":
    print(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
