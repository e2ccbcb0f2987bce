import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugbay_scheduled_query.executor import Executor
from runner_kit import Asker


@pytest.fixture(scope="module")
def asker() -> Iterator[Asker]:
    """One small pool for all tests of a file."""
    executor = Executor(4, memory_bytes=300_000_000)
    yield Asker(executor)
    executor.close()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A file with a table of three orders."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """
            CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT, price REAL, deleted_at TEXT);
            INSERT INTO orders VALUES (1, 'tea', 2.5, NULL), (2, 'milk', 1, NULL), (3, 'drop', 0, 'yes');
            """
        )
    connection.close()
    return f"sqlite:///{path}"
