"""What a database driver reports, under our names; what is the programmer's fault keeps its own."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import ExceptionContext

from plugbay.errors import (
    PlugbayError,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreNotADatabase,
    StoreUnavailable,
)

WAIT_S = 10  # for a connection, and on SQLite for the writes of other processes
DISK_FULL_STATE = "53100"
NO_SERVICE_STATES = ("08", "28", "3D", "53", "57P")  # connection, login, name, resources, shutdown
UNREACHABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}


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
