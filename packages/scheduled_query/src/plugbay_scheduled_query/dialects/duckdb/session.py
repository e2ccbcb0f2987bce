"""DuckDB: a file opened read-only for one statement; what Python's types would lose comes as text."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from plugbay_scheduled_query.core.errors import SourceError
from plugbay_scheduled_query.dialects.contract import (
    NESTING_LIMIT,
    SCHEMA_COLUMN_LIMIT,
    JsonText,
    NumberText,
    Params,
    Report,
    Rows,
    Session,
    Table,
    group_columns,
    iso_text,
)

THREADS = 2
PLACES = ("allowed_directories", "allowed_paths", "secret_directory")  # settings that tell where files lie
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

# a statement cannot have the original: the guard refuses it with a schema before it
_HIDE_PLACES = f"""
    CREATE TEMP MACRO duckdb_settings() AS TABLE (
        SELECT * FROM system.main.duckdb_settings() WHERE name NOT IN ({", ".join(f"'{n}'" for n in PLACES)})
    )
"""  # noqa: S608

# infinite dates, nanoseconds, months in an interval: Python's types have none of these
_TEXT_TYPES = ("date", "interval", "geometry", "time", "timestamp")


class DuckdbSession(Session):
    """A read-only connection that serves one statement."""

    is_watched = True
    limits_address_space = False  # DuckDB reserves far more than it uses

    def __init__(self, params: Params) -> None:
        self._path = Path(params.values["path"])
        if not self._path.is_file():
            raise SourceError(f"cannot open {self._path.name}: No such file or directory")
        settings: dict[str, Any] = {**_SETTINGS, "memory_limit": f"{params.memory_bytes // 1_000_000}MB"}
        with self._without_path():
            self._connection = duckdb.connect(str(self._path), read_only=True, config=settings)
            self._connection.execute(_HIDE_PLACES)

    def begin(self, timeout_s: float) -> None:
        pass  # the watch thread keeps the time: DuckDB has no limit of its own

    def execute(self, sql: str) -> Rows:
        with self._without_path():
            return self._execute(sql)

    @contextlib.contextmanager
    def _without_path(self) -> Iterator[None]:
        """Where a file lies is nobody's business who may only ask it."""
        try:
            yield
        except duckdb.Error as error:
            text = str(error)
            for place in (str(self._path), os.path.realpath(self._path)):
                text = text.replace(place, self._path.name)
            raise (type(error)(text) if text != str(error) else error) from None

    def _execute(self, sql: str) -> Rows:
        statements = self._connection.extract_statements(sql)
        if len(statements) != 1:
            raise SourceError("exactly one statement is allowed")
        if statements[0].type not in _ALLOWED:
            raise SourceError("only a statement that reads is allowed")
        if statements[0].type == duckdb.StatementType.SELECT:
            return self._select(statements[0].query)
        return self._rows(sql, None, ())

    def _select(self, sql: str) -> Rows:
        relation = self._connection.query(sql)
        conversions = [conversion_of(kind) for kind in relation.types]
        if any(conversion.cast for conversion in conversions):
            return self._rows(_wrap(sql, conversions), list(relation.columns), conversions)
        return self._rows(sql, None, conversions)

    def _rows(self, sql: str, names: list[str] | None, conversions: Sequence["Conversion"]) -> Rows:
        result = self._connection.execute(sql)
        loads = {at: conversion.load for at, conversion in enumerate(conversions) if conversion.load}
        names = names or [column[0] for column in result.description or ()]
        return Rows(names, lambda count: _load_all(result.fetchmany(count), loads))

    def cancel(self) -> None:
        self._connection.interrupt()

    def close(self) -> None:
        self._connection.close()

    def tables(self) -> list[Table]:
        return group_columns(self._connection.execute(_TABLES, [SCHEMA_COLUMN_LIMIT]).fetchall())

    def self_test(self) -> Report:
        return Report(f"DuckDB {duckdb.__version__}, opened read-only")


def _wrap(sql: str, conversions: Sequence["Conversion"]) -> str:
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


@dataclass(frozen=True)
class Conversion:
    """The type to cast a column to in the database, and what to make of the value here."""

    cast: str | None = None
    load: Callable[[Any], Any] | None = None


def conversion_of(kind: Any) -> Conversion:
    """What to do with a column of this type."""
    if str(kind) == "JSON":
        return Conversion(None, JsonText)
    if kind.id == "bignum":
        return Conversion(None, NumberText)
    if kind.id == "variant":
        return Conversion("JSON", JsonText)
    if _is_text(kind):
        return Conversion("VARCHAR", iso_text)
    return Conversion(cast_of(kind))


def cast_of(kind: Any, depth: int = 0) -> str | None:
    """The same type with text in the place of what Python cannot hold; None when it can hold all of it."""
    if _is_text(kind) or depth > NESTING_LIMIT:
        return "VARCHAR"
    make = _NESTED.get(kind.id)
    return make(kind, depth + 1) if make else None


def _is_text(kind: Any) -> bool:
    return str(kind.id).startswith(_TEXT_TYPES)


def _list(kind: Any, depth: int) -> str | None:
    child = cast_of(kind.children[0][1], depth)
    return f"{child}[]" if child else None


def _array(kind: Any, depth: int) -> str | None:
    (_, element), (_, size) = kind.children
    child = cast_of(element, depth)
    return f"{child}[{size}]" if child else None


def _map(kind: Any, depth: int) -> str | None:
    parts = [(cast_of(child, depth), child) for _, child in kind.children]
    return f"MAP({', '.join(cast or str(child) for cast, child in parts)})" if _any_cast(parts) else None


def _struct(kind: Any, depth: int) -> str | None:
    parts = [(cast_of(child, depth), child) for _, child in kind.children]
    names = (_quote(name) for name, _ in kind.children)
    fields = (f"{name} {cast or child}" for name, (cast, child) in zip(names, parts, strict=True))
    return f"STRUCT({', '.join(fields)})" if _any_cast(parts) else None


def _as_text(kind: Any, depth: int) -> str | None:
    parts = [(cast_of(child, depth), child) for _, child in kind.children]
    return "VARCHAR" if _any_cast(parts) else None


def _any_cast(parts: list[tuple[str | None, Any]]) -> bool:
    return any(cast for cast, _ in parts)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


_NESTED: dict[str, Callable[[Any, int], str | None]] = {
    "array": _array,
    "list": _list,
    "map": _map,
    "struct": _struct,
    "tuple": _as_text,
    "union": _as_text,
}
