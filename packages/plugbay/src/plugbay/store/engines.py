"""From what the operator wrote to open engines, on SQLite or PostgreSQL, whose failures have names."""

import importlib.util
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import ExceptionContext

from plugbay.errors import (
    DataDirUnusable,
    PlugbayError,
    PostgresqlDriverMissing,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreNotADatabase,
    StoreUnavailable,
    StoreUrlRefused,
    StoreWithoutWal,
)
from plugbay.private_files import file_lock, make_private_dir, make_private_file

WAIT_S = 10  # for a connection, and on SQLite for the writes of other processes
DEFAULT_FILE = "plugbay.db"
POSTGRESQL_NAMES = {"postgres", "postgresql", "postgresql+psycopg"}
SQLITE_NAMES = {"sqlite", "sqlite+pysqlite"}
READERS_KEPT, READERS_MOST = 16, 40  # opening one costs as much as a page; as many as Starlette has threads
CONNECTION_PRAGMAS = (
    "PRAGMA foreign_keys=ON",
    "PRAGMA synchronous=FULL",  # a commit is on the disk before it is reported
    f"PRAGMA journal_size_limit={64 * 1024 * 1024}",  # bytes: what a burst of writes leaves behind
)
CONNECTIONS_KEPT, CONNECTIONS_MOST = 5, 20  # per process; a server's default limit is 100
CONNECT_ARGUMENTS = {
    "connect_timeout": WAIT_S,
    "application_name": "plugbay",
    # a peer that vanished without a word is noticed after a minute, not after two hours
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "options": "-c timezone=UTC",
}
DISK_FULL_STATE = "53100"
NO_SERVICE_STATES = ("08", "28", "3D", "53", "57P")  # connection, login, name, resources, shutdown
UNREACHABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}


def store_url(text: str, data_dir: Path) -> sa.URL:
    """The URL of the store; an empty one is the SQLite file in the data directory."""
    if not text:
        return sqlite_url(data_dir / DEFAULT_FILE)
    url = _parse(text)
    if url.drivername in POSTGRESQL_NAMES:
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in SQLITE_NAMES:
        raise StoreUrlRefused(reason=f"it names {url.drivername!r}")
    if not url.database or url.database == ":memory:" or url.query:
        raise StoreUrlRefused(reason="a SQLite store is a plain file, without options")
    return sqlite_url(Path(url.database))


def sqlite_url(path: Path) -> sa.URL:
    return sa.URL.create("sqlite+pysqlite", database=str(path.absolute()))


def _parse(text: str) -> sa.URL:
    try:
        return sa.make_url(text)
    except sa.exc.ArgumentError:
        # the text itself may hold a password: it is not repeated, and neither is the cause that quotes it
        raise StoreUrlRefused(reason="it is no URL") from None


def open_sqlite(url: sa.URL) -> tuple[sa.Engine, sa.Engine]:
    """The engine for writing and the engine for reading."""
    assert url.database is not None
    prepare_file(Path(url.database))
    # one writing connection: threads queue for it in order, where SQLite itself would have them poll
    writer = _engine(url, pool_size=1, max_overflow=0)
    more = READERS_MOST - READERS_KEPT
    reader = _engine(url, pool_size=READERS_KEPT, max_overflow=more, pool_use_lifo=True)
    sa.event.listen(writer, "connect", _prepare_writer)
    sa.event.listen(writer, "begin", _begin_immediate)
    sa.event.listen(reader, "connect", _prepare_reader)
    sa.event.listen(reader, "begin", _begin_deferred)
    return writer, reader


def prepare_file(path: Path) -> None:
    """Makes the file, closed to others, and turns the write-ahead log on, which is kept in the file."""
    make_private_dir(path.parent)
    _refuse_read_only(path if path.exists() else path.parent)
    if path.exists() and _ask(path, "PRAGMA journal_mode") == "wal":
        return
    # two processes that turn it on at once would get "database is locked" whatever the timeout
    with sqlite_lock(path):
        make_private_file(path)
        if _ask(path, "PRAGMA journal_mode=WAL") != "wal":
            raise StoreWithoutWal(path=path)


def _refuse_read_only(path: Path) -> None:
    if not os.access(path, os.W_OK):
        raise DataDirUnusable(path=path, reason="it is read-only")


@contextmanager
def sqlite_lock(path: Path) -> Iterator[None]:
    """The lock of one SQLite store."""
    # never the store's own file: closing that anywhere in a process lets go of the locks SQLite holds on it
    lock = path.with_name(f"{path.name}-lock")
    make_private_file(lock)
    with file_lock(lock):
        yield


def _ask(path: Path, pragma: str) -> str:
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=WAIT_S)) as connection:
            return str(connection.execute(pragma).fetchone()[0])
    except sqlite3.Error as error:
        raise sqlite_failure(error, str(path)) or error from error


def _engine(url: sa.URL, **pool: int) -> sa.Engine:
    # isolation_level=None: the driver begins nothing by itself, so DDL is part of a transaction like all else
    arguments = {"isolation_level": None, "timeout": WAIT_S}
    # what is stored may be secret, and an error is logged: without the values
    engine = sa.create_engine(url, connect_args=arguments, pool_timeout=WAIT_S, hide_parameters=True, **pool)
    name_failures(engine)
    return engine


def _prepare_writer(connection: sqlite3.Connection, _record: Any) -> None:
    for pragma in CONNECTION_PRAGMAS:
        connection.execute(pragma)


def _prepare_reader(connection: sqlite3.Connection, _record: Any) -> None:
    connection.execute("PRAGMA query_only=ON")


def _begin_immediate(connection: sa.Connection) -> None:
    # a transaction that reads first and asks for the write lock later can be refused in its middle
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin_deferred(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def open_postgresql(url: sa.URL) -> tuple[sa.Engine, sa.Engine]:
    """The engine for writing and the engine for reading: one pool, two kinds of transaction."""
    if importlib.util.find_spec("psycopg") is None:
        raise PostgresqlDriverMissing
    engine = sa.create_engine(
        url,
        connect_args=_given(url),
        pool_size=CONNECTIONS_KEPT,
        max_overflow=CONNECTIONS_MOST - CONNECTIONS_KEPT,
        pool_timeout=WAIT_S,
        pool_pre_ping=True,
        hide_parameters=True,  # what is stored may be secret, and an error is logged
    )
    name_failures(engine)
    return engine, engine.execution_options(postgresql_readonly=True)


def connect_arguments(url: sa.URL) -> dict[str, Any]:
    """What the driver is given for a connection to a PostgreSQL store."""
    _, arguments = url.get_dialect()().create_connect_args(url)
    return {**arguments, **_given(url)}


def _given(url: sa.URL) -> dict[str, Any]:
    return {name: value for name, value in CONNECT_ARGUMENTS.items() if name not in url.query}


@contextmanager
def busy_by_name() -> Iterator[None]:
    """Waiting in vain for a pool's connection is the store being busy."""
    try:
        yield
    except sa.exc.TimeoutError as error:
        raise StoreBusy(seconds=WAIT_S) from error


def name_failures(engine: sa.Engine) -> None:
    """Every failure of this engine that an operator must mend is raised under a name of ours."""
    where = engine.url.render_as_string(hide_password=True)

    def rename(context: ExceptionContext) -> PlugbayError | None:
        error = context.original_exception
        if context.is_pre_ping:
            return None  # the pool replaces the connection, and nobody need know
        if isinstance(error, sqlite3.Error):
            return sqlite_failure(error, where)
        return _postgresql_failure(error, where, context.is_disconnect or context.connection is None)

    sa.event.listen(engine, "handle_error", rename)


def sqlite_failure(error: sqlite3.Error, where: str) -> PlugbayError | None:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest is the extended code
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(where=where)
    if code == sqlite3.SQLITE_BUSY:
        return StoreBusy(seconds=WAIT_S)
    if code == sqlite3.SQLITE_NOTADB:
        return StoreNotADatabase(where=where)
    if code == sqlite3.SQLITE_CORRUPT:
        return StoreDamaged(where=where, reason=error)
    return StoreUnavailable(where=where, reason=error) if code in UNREACHABLE else None


def _postgresql_failure(error: BaseException, where: str, lost: bool) -> PlugbayError | None:
    state: Any = getattr(error, "sqlstate", None) or ""
    if state == DISK_FULL_STATE:
        return StoreFull(where=where)
    if lost or state.startswith(NO_SERVICE_STATES):
        return StoreUnavailable(where=where, reason=str(error).strip().partition("\n")[0])
    return None
