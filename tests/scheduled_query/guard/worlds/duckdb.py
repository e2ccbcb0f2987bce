import os
import tempfile
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
from scheduled_query.guard.banks import duckdb as bank

from .world import Outcome, World


@cache
def _templates() -> dict[str, bytes]:
    """The two databases as files: making them anew for each statement would take most of the time."""
    schemas = {"shop.db": bank.SCHEMA, "other.db": "CREATE TABLE secrets AS SELECT 'secret' AS a"}
    with tempfile.TemporaryDirectory() as folder:
        for name, schema in schemas.items():
            with duckdb.connect(Path(folder) / name) as connection:
                connection.execute(schema)
        return {name: (Path(folder) / name).read_bytes() for name in schemas}


class DuckdbWorld(World):
    """A DuckDB file and one connection, standing in the folder with the secrets."""

    def __init__(self) -> None:
        super().__init__()
        self._home = Path.cwd()
        os.chdir(self.folder)
        for name, content in _templates().items():
            (self.folder / name).write_bytes(content)
        options = {
            "extension_directory": str(self.folder / "extensions"),
            "python_enable_replacements": "false",
        }
        self.connection = duckdb.connect(self.folder / "shop.db", config=options)

    def run(self, sql: str, limit_s: float | None = None) -> Outcome:
        started = time.monotonic()
        alarm = threading.Timer(limit_s or 60, self.connection.interrupt)
        alarm.start()
        try:
            rows, error = self._rows(self.connection, sql), ""
        except duckdb.Error as failure:
            rows, error = [], str(failure)
        finally:
            alarm.cancel()
            alarm.join()
        columns = [column[0] for column in self.connection.description or []]
        return Outcome(rows, error, time.monotonic() - started, columns)

    def _rows(self, connection: Any, sql: str) -> list[Any]:
        result = connection.execute(sql)
        return [] if result.description is None else result.fetchall()

    def _ask(self, sql: str) -> list[Any]:
        return self._rows(self.connection, sql)

    def data(self) -> object:
        with suppress(duckdb.Error):
            self._ask("COMMIT")
        names = [name for (name,) in self._ask("SELECT table_name FROM duckdb_tables() WHERE NOT temporary")]
        return {name: self._ask(f'SELECT * FROM "{name}" ORDER BY ALL') for name in names}

    def schema(self) -> object:
        return (
            self._ask("SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"),
            self._ask("SELECT table_name, comment FROM duckdb_tables()"),
            self._ask("SELECT view_name FROM duckdb_views() WHERE NOT internal"),
            self._ask("SELECT sequence_name, last_value FROM duckdb_sequences()"),
            self._ask("SELECT index_name FROM duckdb_indexes()"),
            self._ask("SELECT schema_name FROM duckdb_schemas()"),
            self._ask("SELECT type_name FROM duckdb_types() WHERE NOT internal"),
            self._ask("SELECT function_name FROM duckdb_functions() WHERE NOT internal"),
        )

    def session(self) -> object:
        return (
            self._ask("SELECT name, value FROM duckdb_settings()"),
            self._ask("SELECT name FROM duckdb_variables()"),
            self._ask("SELECT database_name FROM duckdb_databases()"),
            self._ask("SELECT table_name FROM duckdb_tables() WHERE temporary"),
            self._ask("SELECT function_name FROM duckdb_functions() WHERE NOT internal"),
            self._ask("SELECT name FROM duckdb_secrets()"),
            self._ask("SELECT name FROM duckdb_prepared_statements()"),
        )

    def close(self) -> None:
        self.connection.close()
        os.chdir(self._home)
        super().close()
