"""Writing many rows for little: a statement is compiled once, and new ids are known before they are written.

SQLAlchemy makes a dictionary, a bound value and a way back of each row; of a run that is written a hundred at
a time these would cost more than all the rest.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.visitors import InternalTraversal

_SEQUENCES = sa.text("SELECT name, seq FROM sqlite_sequence")


class Ids(sa.types.TypeDecorator[Sequence[int]]):
    """Any number of ids as one value, so that the text of a statement is always the same."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        return sa.Text() if dialect.name == "sqlite" else sa.ARRAY(sa.Integer)

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> Any:
        return json.dumps(value) if dialect.name == "sqlite" else value


class among(sa.ColumnElement[bool]):  # noqa: N801 - reads like `in_`
    """Whether a column is one of the ids that a parameter brings."""

    inherit_cache = True
    type = sa.Boolean()
    _traverse_internals = [  # noqa: RUF012 - as SQLAlchemy has it
        ("column", InternalTraversal.dp_clauseelement),
        ("ids", InternalTraversal.dp_clauseelement),
    ]

    def __init__(self, column: sa.Column[int], parameter: str = "ids") -> None:
        self.column = column
        self.ids = sa.bindparam(parameter, type_=Ids)


@compiles(among)
def _by_array(element: among, compiler: SQLCompiler, **options: Any) -> str:
    return f"{compiler.process(element.column, **options)} = ANY ({compiler.process(element.ids, **options)})"


@compiles(among, "sqlite")
def _by_json(element: among, compiler: SQLCompiler, **options: Any) -> str:
    given = sa.func.json_each(element.ids).table_valued("value")
    return compiler.process(element.column.in_(sa.select(given.c.value)), **options)


def take_ids(connection: sa.Connection, count: int, *tables: sa.Table) -> list[Sequence[int]]:
    """For each table so many ids that no row had and none will have; within a write transaction."""
    if count == 0:
        return [() for _ in tables]
    if connection.dialect.name == "sqlite":  # nobody else writes meanwhile
        last = dict(map(tuple, connection.execute(_SEQUENCES)))
        return [range(first := last.get(table.name, 0) + 1, first + count) for table in tables]
    series = sa.func.generate_series(1, sa.bindparam("count")).table_valued("n")
    wanted = sa.select(*(sa.func.nextval(_sequence(table)) for table in tables)).select_from(series)
    return list(zip(*connection.execute(wanted, {"count": count}), strict=True))


def _sequence(table: sa.Table) -> Any:
    return sa.func.pg_get_serial_sequence(sa.literal(table.name), sa.literal("id"))


@dataclass(frozen=True, slots=True)
class _Ready:
    """A statement as a driver takes it, what each value must go through, and the order they are given in."""

    text: str
    processors: list[tuple[str, Any]]
    in_order: Callable[[dict[str, Any]], Any]


class Bulk:
    """A statement for many rows at once, each a dictionary of all its values."""

    def __init__(self, statement: sa.Insert | sa.Update) -> None:
        self._statement = statement
        self._ready: dict[str, _Ready] = {}  # by dialect

    def __call__(self, connection: sa.Connection, rows: list[dict[str, Any]]) -> int:
        """Writes the rows, which are its own from now on; returns how many it wrote."""
        if not rows:
            return 0
        ready = self._compiled(connection.dialect)
        for row in rows:
            for name, process in ready.processors:
                row[name] = process(row[name])
        return connection.exec_driver_sql(ready.text, list(map(ready.in_order, rows))).rowcount

    def _compiled(self, dialect: sa.Dialect) -> _Ready:
        if dialect.name not in self._ready:
            compiled: Any = self._statement.compile(dialect=dialect)
            found = ((name, bind.type.bind_processor(dialect)) for name, bind in compiled.binds.items())
            processors = [(name, process) for name, process in found if process]
            # SQLite takes values by their place a quarter faster than by name
            in_order = itemgetter(*compiled.positiontup) if compiled.positional else dict
            self._ready[dialect.name] = _Ready(str(compiled), processors, in_order)
        return self._ready[dialect.name]
