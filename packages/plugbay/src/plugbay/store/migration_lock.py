"""One process migrates at a time, whichever module; the others wait until it is done or dead."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from plugbay.logs import get_logger
from plugbay.store.sqlite import sqlite_lock

log = get_logger(__name__)
ADVISORY_KEY = 0x706C_7567_6261_79  # "plugbay" in ASCII
POLL_S = 0.2


@contextmanager
def migration_lock(writer: sa.Engine) -> Iterator[None]:
    """Holds the one lock around all migrations of a store."""
    lock = _advisory_lock(writer) if writer.dialect.name == "postgresql" else _file_lock(writer)
    with lock:
        yield


@contextmanager
def _file_lock(writer: sa.Engine) -> Iterator[None]:
    assert writer.url.database is not None
    with sqlite_lock(Path(writer.url.database)):
        yield


@contextmanager
def _advisory_lock(writer: sa.Engine) -> Iterator[None]:
    key = sa.literal(ADVISORY_KEY, sa.BigInteger)
    with writer.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        # asked again and again: who waits inside the server holds up CREATE INDEX CONCURRENTLY
        while not connection.scalar(sa.select(sa.func.pg_try_advisory_lock(key))):
            time.sleep(POLL_S)
        try:
            yield
        finally:
            connection.execute(sa.select(sa.func.pg_advisory_unlock(key)))
