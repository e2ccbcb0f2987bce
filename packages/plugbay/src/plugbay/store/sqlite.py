"""The store on SQLite: one file, one writer at a time, readers that never wait."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from plugbay.errors import DataDirUnusable, StoreWithoutWal
from plugbay.private_files import file_lock, make_private_dir, make_private_file
from plugbay.store.failures import WAIT_S, name_failures, sqlite_failure

READERS_KEPT, READERS_MOST = 4, 40  # as many as Starlette has worker threads
CONNECTION_PRAGMAS = (
    "PRAGMA foreign_keys=ON",
    "PRAGMA synchronous=FULL",  # a commit is on the disk before it is reported
    f"PRAGMA journal_size_limit={64 * 1024 * 1024}",  # bytes: what a burst of writes leaves behind
)


def open_sqlite(url: sa.URL) -> tuple[sa.Engine, sa.Engine]:
    """The engine for writing and the engine for reading."""
    assert url.database is not None
    prepare_file(Path(url.database))
    # one writing connection: threads queue for it in order, where SQLite itself would have them poll
    writer = _engine(url, pool_size=1, max_overflow=0)
    reader = _engine(url, pool_size=READERS_KEPT, max_overflow=READERS_MOST - READERS_KEPT)
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
