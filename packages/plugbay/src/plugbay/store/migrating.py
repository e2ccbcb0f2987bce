"""The connection that migrates: it holds the one lock around all migrations and is thrown away after."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from plugbay.logs import get_logger
from plugbay.store.sqlite import sqlite_lock

log = get_logger(__name__)
ADVISORY_KEY = 0x706C_7567_6261_79  # "plugbay" in ASCII
POLL_S = 0.2


@contextmanager
def migrating_connection(writer: sa.Engine) -> Iterator[sa.Connection]:
    """Waits until no other process migrates this store; who dies in the middle has let go of the lock."""
    lock = _on_postgresql if writer.dialect.name == "postgresql" else _on_sqlite
    with lock(writer) as connection:
        yield connection


@contextmanager
def _on_sqlite(writer: sa.Engine) -> Iterator[sa.Connection]:
    assert writer.url.database is not None
    with sqlite_lock(Path(writer.url.database)), _own_connection(writer) as connection:
        driver: Any = connection.connection.dbapi_connection
        # with foreign keys on, rebuilding a table, as most ALTERs do here, deletes the rows that refer to it
        driver.execute("PRAGMA foreign_keys=OFF")
        yield connection


@contextmanager
def _on_postgresql(writer: sa.Engine) -> Iterator[sa.Connection]:
    # the lock belongs to the session that migrates, so it is held until the server too is done with that
    with _own_connection(writer) as connection:
        if not _try_lock(connection):
            log.info("migration_waiting", store=writer.url.render_as_string())
            # asked again and again: who waits inside the server holds up CREATE INDEX CONCURRENTLY
            while not _try_lock(connection):
                time.sleep(POLL_S)
        yield connection


def _try_lock(connection: sa.Connection) -> bool:
    key = sa.literal(ADVISORY_KEY, sa.BigInteger)
    locked = connection.scalar(sa.select(sa.func.pg_try_advisory_lock(key)))
    connection.commit()
    return bool(locked)


@contextmanager
def _own_connection(writer: sa.Engine) -> Iterator[sa.Connection]:
    with writer.connect() as connection:
        try:
            yield connection
        finally:
            connection.invalidate()
