"""Moving a store: from SQLite to PostgreSQL and back, table by table, in steps that can be repeated."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from plugbay.errors import OperatorError, PlugbayError
from plugbay.store import Store
from plugbay.store.tables import UTCDateTime, new_metadata

STEP = 5_000  # rows that are copied in one transaction, and lost to nobody if it is cut off
STEP_BYTES = 32_000_000  # of their values, if that is less: a result may have many megabytes
FETCHED = 100  # rows that a server hands over at a time
VERSIONS = "alembic_version_"  # the tables in which migrations note how far they are

Told = Callable[[str, int, int], None]
"""Hears of a table how many of its rows are copied."""


class MoveRefused(OperatorError):
    """Nothing was moved: {reason}."""


class MoveFailed(OperatorError):
    """The table {table} could not be moved: {reason}. The same command goes on from here."""


class MoveDiffers(OperatorError):
    """Not the same in both stores: {tables}. Stop every server, and begin again with an empty target."""


@dataclass(frozen=True, slots=True)
class MovedTable:
    """One table that is the same in both stores now."""

    name: str
    rows: int
    checksum: str


@dataclass(frozen=True, slots=True)
class Moved:
    """What was moved, and the tables that only the source knows, which stay behind."""

    tables: tuple[MovedTable, ...]
    left: tuple[str, ...]


class Move:
    """From one store into an empty one of the other kind; `make_tables` gives that one all of its tables."""

    def __init__(self, source: Store, target: Store, make_tables: Callable[[], None]) -> None:
        if source.dialect == target.dialect:
            raise MoveRefused(
                reason="both are the same kind of database; copy it with the database's own tools"
            )
        self._source, self._target, self._make_tables = source, target, make_tables
        self._progress = sa.Table(
            "plugbay_move",
            new_metadata(),
            sa.Column("name", sa.String(63), primary_key=True),
            sa.Column("copied", sa.BigInteger, nullable=False),
            sa.Column("began_at", UTCDateTime, nullable=False),
        )

    def run(self, told: Told = lambda table, done, rows: None) -> Moved:
        """Copies what is not copied yet, compares all of it, and hands the target over."""
        self._begin()
        self._make_tables()
        tables, left = self._tables()
        self._clear(tables)
        for table in tables:
            try:
                self._copy(table, told)
            except PlugbayError:
                raise
            except Exception as error:  # whatever a driver says of a value that it cannot hold
                reason = str(getattr(error, "orig", None) or error).partition("\n")[0]
                raise MoveFailed(table=table.name, reason=reason) from error
        moved = tuple(self._compared(tables))
        self._follow_numbers(tables)
        self._progress.drop(self._target.engine)
        return Moved(moved, tuple(left))

    def _tables(self) -> tuple[list[sa.Table], list[str]]:
        """Those that both have, those that others refer to first; PostgreSQL says of which types they are."""
        stores = (self._source, self._target)
        names = [set(sa.inspect(store.engine).get_table_names()) for store in stores]
        both = {name for name in names[0] & names[1] if not name.startswith(VERSIONS)}
        typed = next(store for store in stores if store.dialect == "postgresql")
        found = new_metadata()
        found.reflect(typed.engine, only=sorted(both))
        for table in found.tables.values():
            _read_alike(table)
        left = [name for name in sorted(names[0] - names[1]) if self._count(self._source, sa.table(name))]
        return [table for table in found.sorted_tables if table.name in both], left

    def _begin(self) -> None:
        """An empty target is ours; one that was begun is gone on with; any other is somebody's."""
        names = sa.inspect(self._target.engine).get_table_names()
        if names and self._progress.name not in names:
            raise MoveRefused(reason=f"the store at {self._target.place} is not empty")
        self._progress.create(self._target.engine, checkfirst=True)

    def _clear(self, tables: Sequence[sa.Table]) -> None:
        """At the first step: what migrations put into new tables is in the source too, if it is wanted."""
        with self._target.begin() as connection:
            if connection.scalar(sa.select(sa.func.count()).select_from(self._progress)) == 0:
                for table in reversed(tables):
                    connection.execute(sa.delete(table))

    def _copy(self, table: sa.Table, told: Told) -> None:
        rows, done = self._count(self._source, table), self._copied(table)
        told(table.name, done, rows)
        while step := self._step_of(table, done):
            with self._target.begin() as connection:
                _write(connection, table, step)
                done += len(step)
                self._note(connection, table, done)
            told(table.name, done, rows)

    def _step_of(self, table: sa.Table, done: int) -> Sequence[sa.Row[Any]]:
        """The rows after those that the target has, by the key; all at once of a table without one."""
        if not table.primary_key and done:
            return []
        select = sa.select(table).order_by(*_key_of(table, self._source))
        if done:
            select = select.where(sa.tuple_(*_key_of(table, self._source)) > self._last_key(table))
        with self._source.connect() as connection:
            if not table.primary_key:
                return connection.execute(select).all()
            rows = connection.execution_options(yield_per=FETCHED).execute(select.limit(STEP))
            return list(_up_to(STEP_BYTES, rows))

    def _last_key(self, table: sa.Table) -> Any:
        key = _key_of(table, self._target)
        last = sa.select(*table.primary_key).order_by(*(part.desc() for part in key)).limit(1)
        with self._target.connect() as connection:
            values = connection.execute(last).one()
        pairs = zip(values, table.primary_key, strict=True)
        return sa.tuple_(*(sa.bindparam(None, value, column.type) for value, column in pairs))

    def _copied(self, table: sa.Table) -> int:
        copied = sa.select(self._progress.c.copied).where(self._progress.c.name == table.name)
        with self._target.connect() as connection:
            return connection.scalar(copied) or 0

    def _note(self, connection: sa.Connection, table: sa.Table, done: int) -> None:
        values = {"name": table.name, "copied": done, "began_at": datetime.now(UTC)}
        insert = self._target.insert(self._progress).values(values)
        connection.execute(insert.on_conflict_do_update(index_elements=["name"], set_={"copied": done}))

    def _compared(self, tables: Sequence[sa.Table]) -> Iterator[MovedTable]:
        differing = []
        for table in tables:
            here, there = (_checksum(store, table) for store in (self._source, self._target))
            if here != there:
                differing.append(table.name)
            yield MovedTable(table.name, *here)
        if differing:
            raise MoveDiffers(tables=", ".join(differing))

    def _follow_numbers(self, tables: Sequence[sa.Table]) -> None:
        """The next id is the same as it would have been: one that was given once never comes back."""
        set_number = _set_on_sqlite if self._target.dialect == "sqlite" else _set_on_postgresql
        with self._target.begin() as connection:
            for name, last in _given_numbers(self._source, tables).items():
                set_number(connection, name, last)

    @staticmethod
    def _count(store: Store, table: sa.FromClause) -> int:
        with store.connect() as connection:
            return connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0


def _up_to(size: int, rows: Iterable[sa.Row[Any]]) -> Iterator[sa.Row[Any]]:
    """Rows until their values are so large, and one at the least."""
    for row in rows:
        yield row
        size -= sum(len(value) for value in row if isinstance(value, str | bytes))
        if size <= 0:
            return


def _read_alike(table: sa.Table) -> None:
    """Moments are the same values on both sides, however each of them writes them down."""
    for column in table.columns:
        if isinstance(column.type, sa.DateTime):
            column.type = UTCDateTime()


def _write(connection: sa.Connection, table: sa.Table, rows: Sequence[sa.Row[Any]]) -> None:
    if connection.dialect.name == "sqlite":
        connection.execute(sa.insert(table), [dict(row._mapping) for row in rows])
        return
    processors = [column.type.bind_processor(connection.dialect) for column in table.columns]
    quote = connection.dialect.identifier_preparer.quote
    columns = ", ".join(quote(column.name) for column in table.columns)
    driver: Any = connection.connection.driver_connection
    # a fifth of the time of as many INSERTs
    with driver.cursor() as cursor, cursor.copy(f"COPY {quote(table.name)} ({columns}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(
                [process(value) if process else value for value, process in zip(row, processors, strict=True)]
            )


def _checksum(store: Store, table: sa.Table) -> tuple[int, str]:
    """How many rows there are, and a digest of all their values in the order of the key."""
    digest, count = hashlib.blake2b(digest_size=16), 0
    for text in _row_texts(store, table):
        digest.update(text)
        count += 1
    return count, digest.hexdigest()


def _row_texts(store: Store, table: sa.Table) -> Iterator[bytes]:
    select = sa.select(table).order_by(*_key_of(table, store))
    with store.connect() as connection:
        rows = connection.execution_options(yield_per=FETCHED).execute(select)
        texts = (repr(tuple(row)).encode(errors="surrogatepass") for row in rows)
        yield from texts if table.primary_key else sorted(texts)


def _key_of(table: sa.Table, store: Store) -> list[sa.ColumnElement[Any]]:
    """The key in an order that both databases agree on: texts by their bytes, not by a language's rules."""
    by_bytes = "C" if store.dialect == "postgresql" else "BINARY"
    return [
        sa.collate(column, by_bytes) if isinstance(column.type, sa.String) else column
        for column in table.primary_key
    ]


def _given_numbers(store: Store, tables: Sequence[sa.Table]) -> dict[str, int]:
    """Of each table that numbers its rows, the last number that was given."""
    numbered = [table for table in tables if "id" in table.c and isinstance(table.c.id.type, sa.Integer)]
    found: dict[str, int] = {}
    with store.connect() as connection:
        for table in numbered:
            largest = connection.scalar(sa.select(sa.func.max(table.c.id))) or 0
            given = _given_on_sqlite if store.dialect == "sqlite" else _given_on_postgresql
            found[table.name] = max(largest, given(connection, table.name))
    return {name: last for name, last in found.items() if last}


def _given_on_sqlite(connection: sa.Connection, table: str) -> int:
    if not _counts_for_ever(connection, table):
        return 0
    given = "SELECT seq FROM sqlite_sequence WHERE name = ?"
    return connection.exec_driver_sql(given, (table,)).scalar() or 0


def _given_on_postgresql(connection: sa.Connection, table: str) -> int:
    name = connection.scalar(sa.select(sa.func.pg_get_serial_sequence(table, "id")))
    if name is None:
        return 0
    select = f"SELECT last_value, is_called FROM {name}"  # noqa: S608 - a name of the catalogue
    last, is_called = connection.exec_driver_sql(select).one()
    return int(last) if is_called else 0


def _set_on_sqlite(connection: sa.Connection, table: str, last: int) -> None:
    if _counts_for_ever(connection, table):
        connection.exec_driver_sql("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        connection.exec_driver_sql("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, last))


def _set_on_postgresql(connection: sa.Connection, table: str, last: int) -> None:
    sequence = sa.func.pg_get_serial_sequence(table, "id")
    connection.execute(sa.select(sa.func.setval(sequence, last)))


def _counts_for_ever(connection: sa.Connection, table: str) -> bool:
    """Whether SQLite remembers the numbers that it gave, also of rows that are gone."""
    made = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?"
    return "AUTOINCREMENT" in (connection.exec_driver_sql(made, (table,)).scalar() or "").upper()
