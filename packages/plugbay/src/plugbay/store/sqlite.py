"""The store on SQLite: one file, one writer at a time, readers that never wait."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from plugbay.errors import StoreNotADatabase, StoreWithoutWal
from plugbay.store.failures import WAIT_S, name_failures
from plugbay.store.private_files import file_lock, make_private_dir, make_private_file

MAGIC = b"SQLite format 3\0"
IN_WAL_MODE = b"\2\2"  # bytes 18 and 19 of the file: read and write version
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
    if _is_ready(path):
        return
    # two processes that turn it on at once would get "database is locked" whatever the timeout
    with file_lock(lock_file(path)):
        make_private_file(path)
        with closing(sqlite3.connect(path, timeout=WAIT_S)) as connection:
            mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
    if mode != "wal":
        raise StoreWithoutWal(path=path)


def lock_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _is_ready(path: Path) -> bool:
    if not path.is_file() or path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        head = file.read(20)
    if not head.startswith(MAGIC):
        raise StoreNotADatabase(path=path)
    return head.endswith(IN_WAL_MODE)


def _engine(url: sa.URL, **pool: int) -> sa.Engine:
    # isolation_level=None: the driver begins nothing by itself, so DDL is part of a transaction like all else
    arguments = {"isolation_level": None, "timeout": WAIT_S}
    engine = sa.create_engine(url, connect_args=arguments, pool_timeout=WAIT_S, **pool)
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
