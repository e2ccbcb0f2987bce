"""DuckDB: a file opened read-only for each statement anew, shut off from files, network and settings."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb

from plugbay_scheduled_query.sources.dialects.duckdb_values import Conversion, conversion_of
from plugbay_scheduled_query.sources.dialects.session import (
    SCHEMA_COLUMN_LIMIT,
    Answer,
    Params,
    Report,
    SourceError,
    Table,
    group_columns,
)

THREADS = 2
_SETTINGS = {
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",
    "max_temp_directory_size": "0B",
    "python_enable_replacements": "false",
    "temp_directory": "",
    "threads": str(THREADS),
}
_ALLOWED = {
    duckdb.StatementType.SELECT,
    duckdb.StatementType.EXPLAIN,
    duckdb.StatementType.PRAGMA,
    duckdb.StatementType.MULTI,  # PIVOT
}
_TABLES = """
    SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns()
    WHERE NOT internal ORDER BY schema_name, table_name, column_index LIMIT ?
"""


class DuckdbSession:
    """A read-only connection that serves one statement."""

    is_watched = True
    limits_address_space = False  # DuckDB reserves far more than it uses
    number = 0

    def __init__(self, params: Params) -> None:
        path = Path(params.values["path"])
        if not path.is_file():
            raise SourceError(f"cannot open {path}: No such file or directory")
        settings: dict[str, Any] = {**_SETTINGS, "memory_limit": f"{params.memory_bytes // 1_000_000}MB"}
        self._connection = duckdb.connect(str(path), read_only=True, config=settings)

    def begin(self, timeout_s: float) -> None:
        pass  # the watch thread keeps the time: DuckDB has no limit of its own

    def execute(self, sql: str) -> Answer:
        statements = self._connection.extract_statements(sql)
        if len(statements) != 1:
            raise SourceError("exactly one statement is allowed")
        if statements[0].type not in _ALLOWED:
            raise SourceError("only a statement that reads is allowed")
        if statements[0].type == duckdb.StatementType.SELECT:
            return self._select(statements[0].query)
        return self._answer(sql, None, ())

    def _select(self, sql: str) -> Answer:
        relation = self._connection.query(sql)
        conversions = [conversion_of(kind) for kind in relation.types]
        if any(conversion.cast for conversion in conversions):
            return self._answer(_wrap(sql, conversions), list(relation.columns), conversions)
        return self._answer(sql, None, conversions)

    def _answer(self, sql: str, names: list[str] | None, conversions: Sequence[Conversion]) -> Answer:
        result = self._connection.execute(sql)
        loads = {at: conversion.load for at, conversion in enumerate(conversions) if conversion.load}
        names = names or [column[0] for column in result.description or ()]
        return Answer(names, lambda count: _load_all(result.fetchmany(count), loads))

    def cancel(self) -> None:
        self._connection.interrupt()

    def is_timeout(self, error: Exception) -> bool:
        return False

    def reset(self) -> bool:
        return False

    def close(self) -> None:
        self._connection.close()

    def tables(self) -> list[Table]:
        return group_columns(self._connection.execute(_TABLES, [SCHEMA_COLUMN_LIMIT]).fetchall())

    def self_test(self) -> Report:
        return Report(f"DuckDB {duckdb.__version__}, opened read-only")


def _wrap(sql: str, conversions: Sequence[Conversion]) -> str:
    names = [f"c{at}" for at in range(len(conversions))]
    columns = (
        f"CAST({name} AS {conversion.cast})" if conversion.cast else name
        for name, conversion in zip(names, conversions, strict=True)
    )
    return f"SELECT {', '.join(columns)} FROM (\n{_bare(sql)}\n) AS result({', '.join(names)})"  # noqa: S608


def _bare(sql: str) -> str:
    # one statement was found, so the first semicolon that is a token of its own ends it
    raw = sql.encode()
    operators = (at for at, kind in duckdb.tokenize(sql) if kind == duckdb.token_type.operator)
    return raw[: next((at for at in operators if raw[at] == ord(";")), len(raw))].decode()


def _load_all(rows: list[Any], loads: dict[int, Callable[[Any], Any]]) -> list[Any]:
    return [_load(row, loads) for row in rows] if loads else rows


def _load(row: Sequence[Any], loads: dict[int, Callable[[Any], Any]]) -> list[Any]:
    values = list(row)
    for at, load in loads.items():
        if values[at] is not None:
            values[at] = load(values[at])
    return values


def open_session(params: Params) -> DuckdbSession:
    """A new session on the file that `path` names."""
    return DuckdbSession(params)
