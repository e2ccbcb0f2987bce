import _sqlite3
import ctypes
import sqlite3
import time
from contextlib import closing
from typing import Any

from scheduled_query.guard.banks import sqlite as bank

from .world import Outcome, World

PRAGMAS = [
    "foreign_keys",
    "synchronous",
    "cache_size",
    "query_only",
    "temp_store",
    "busy_timeout",
    "recursive_triggers",
    "read_uncommitted",
    "locking_mode",
    "automatic_index",
    "secure_delete",
]


class SqliteWorld(World):
    """A SQLite file and one connection with every door open."""

    def __init__(self) -> None:
        super().__init__()
        self.path = self.folder / "shop.db"
        self.connection = self._connect()
        self.connection.executescript(bank.SCHEMA)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, isolation_level=None, timeout=0, uri=True)

    def run(self, sql: str, limit_s: float | None = None) -> Outcome:
        started = time.monotonic()
        if limit_s is not None:
            self.connection.set_progress_handler(lambda: time.monotonic() - started > limit_s, 10_000)
        try:
            rows, error = self._rows(sql), ""
        except (sqlite3.Error, sqlite3.Warning) as failure:
            rows, error = [], str(failure)
        return Outcome(rows, error, time.monotonic() - started)

    def _rows(self, sql: str) -> list[Any]:
        try:
            return self.connection.execute(sql).fetchall()
        except (sqlite3.ProgrammingError, sqlite3.Warning) as failure:
            if "one statement" not in str(failure):
                raise
            self.connection.executescript(sql)
            return []

    def run_unlocked(self, sql: str) -> Outcome:
        """As an application that lets SQLite load libraries: Python itself may be built without that."""
        library = ctypes.CDLL(_sqlite3.__file__)
        library.sqlite3_errmsg.restype = ctypes.c_char_p
        database = ctypes.c_void_p()
        library.sqlite3_open(str(self.path).encode(), ctypes.byref(database))
        library.sqlite3_enable_load_extension(database, 1)
        library.sqlite3_exec(database, sql.encode(), None, None, None)
        error = library.sqlite3_errmsg(database).decode()
        library.sqlite3_close(database)
        return Outcome(error=error)

    def data(self) -> object:
        with closing(self._connect()) as other:
            names = [name for (name,) in other.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {name: other.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}

    def schema(self) -> object:
        with closing(self._connect()) as other:
            return other.execute("SELECT type, name, sql FROM sqlite_master").fetchall()

    def session(self) -> object:
        settings = {name: self.connection.execute(f"PRAGMA {name}").fetchall() for name in PRAGMAS}
        temporary = self.connection.execute("SELECT * FROM sqlite_temp_master").fetchall()
        databases = self.connection.execute("PRAGMA database_list").fetchall()
        return settings, temporary, databases, self.connection.in_transaction

    def server(self) -> object:
        return self.path.read_bytes()

    def is_locked(self) -> bool:
        with closing(self._connect()) as other:
            try:
                other.execute("UPDATE orders SET amount = amount")
            except sqlite3.OperationalError as error:
                return "locked" in str(error)
        return False

    def close(self) -> None:
        self.connection.close()
        super().close()
