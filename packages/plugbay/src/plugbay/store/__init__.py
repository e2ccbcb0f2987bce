"""The product's own database: one store for the host and its plugins, on SQLite or PostgreSQL."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import sqlalchemy as sa

from plugbay.clock import Clock, StoreClock, SystemClock
from plugbay.errors import BackupFailed
from plugbay.private_files import PRIVATE_FILE, make_private_dir, make_private_file, sync_dir
from plugbay.store.engines import (
    busy_by_name,
    connect_arguments,
    open_postgresql,
    open_sqlite,
    sqlite_failure,
    store_url,
)
from plugbay.store.migrating import migrate
from plugbay.store.tables import UTCDateTime, metadata, new_metadata

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite
    from sqlalchemy.orm import Session

__all__ = [
    "HOST_MIGRATIONS",
    "Store",
    "UTCDateTime",
    "UntilChanged",
    "after_commit",
    "clock_of",
    "new_metadata",
    "open_store",
]

T = TypeVar("T")

HOST_MODULE = "plugbay"
AFTER_COMMIT = "plugbay_after_commit"  # where a connection keeps what is to be called then
PING = {"sqlite": "SELECT 1 FROM sqlite_master LIMIT 1", "postgresql": "SELECT 1"}
NOW = sa.select(sa.func.clock_timestamp(type_=UTCDateTime))
HOST_MIGRATIONS = Path(__file__).parent / "migrations"
PAGES_PER_STEP = 1024  # 4 MB: between two steps a Ctrl-C is heard


class Store:
    """The product's database, opened and answering; an empty URL is the SQLite file in the data directory."""

    def __init__(self, url: str, data_dir: Path) -> None:
        make_private_dir(data_dir)
        self.data_dir = data_dir
        self.url = store_url(url, data_dir)
        self.dialect = self.url.get_backend_name()
        opener = open_sqlite if self.dialect == "sqlite" else open_postgresql
        self.engine, self._reader = opener(self.url)
        self._watching: sqlite3.Connection | None = None  # asks for nothing but the stamp
        self._watch_lock = threading.Lock()
        self.ping()

    @property
    def place(self) -> str:
        """Where it is, for people: a file, or a database without its secrets and options."""
        if self.dialect == "sqlite":
            return str(self.url.database)
        parts = (self.url.username, None, self.url.host, self.url.port, self.url.database)
        return sa.URL.create("postgresql", *parts).render_as_string()

    @property
    def driver_arguments(self) -> dict[str, Any]:
        """What psycopg needs to open a connection of its own to a PostgreSQL store."""
        return connect_arguments(self.url)

    @contextmanager
    def begin(self) -> Iterator[sa.Connection]:
        """A connection in a write transaction: committed at the block's end, taken back on an exception."""
        later: list[Callable[[], object]] = []
        with busy_by_name(), self.engine.begin() as connection:
            info = connection.info  # asked once: a connection that was lost meanwhile has none
            info[AFTER_COMMIT] = later
            try:
                yield connection
            finally:
                info.pop(AFTER_COMMIT, None)
        for call in later:
            call()

    @contextmanager
    def connect(self) -> Iterator[sa.Connection]:
        """A connection for reading, which sees one moment of the store (on PostgreSQL, one per statement)."""
        with busy_by_name(), self._reader.connect() as connection:
            yield connection

    @contextmanager
    def session(self) -> "Iterator[Session]":
        """An ORM session in a write transaction: committed at the block's end, taken back on an exception."""
        from sqlalchemy.orm import Session  # 6 MB that a host without ORM plugins does not need

        with busy_by_name(), Session(self.engine, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def read_session(self) -> "Iterator[Session]":
        """An ORM session that only reads and keeps no writer waiting."""
        from sqlalchemy.orm import Session

        with busy_by_name(), Session(self._reader, expire_on_commit=False) as session:
            yield session

    def insert(self, table: sa.Table) -> "sqlite.Insert | postgresql.Insert":
        """An INSERT that also knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
        if self.dialect == "sqlite":
            from sqlalchemy.dialects import sqlite

            return sqlite.insert(table)
        from sqlalchemy.dialects import postgresql  # a 20th of a second that SQLite does not need

        return postgresql.insert(table)

    @property
    def own_tables(self) -> list[str]:
        """The names of the host's tables, for those who must keep others away from them."""
        return list(metadata.tables)

    def now(self) -> datetime:
        """The time by the clock of a PostgreSQL store."""
        with self.connect() as connection:
            return connection.execute(NOW).scalar_one()

    def migrate(self, module: str, scripts: Path) -> None:
        """Brings one module's tables up to the newest of its `versions/*.py`."""
        migrate(self.engine, self._reader, module, scripts)

    def backup(self, target: Path) -> None:
        """Copies a SQLite store to a new file, as it is at this moment, while others go on writing."""
        backup_store(self.url, target)

    def stamp(self) -> object:
        """The same as before if nobody has changed anything since: what was read after it still holds.

        On SQLite it costs next to nothing, on PostgreSQL a trip.
        """
        if self.dialect == "sqlite":
            return self._sqlite_stamp()
        with self.connect() as connection:
            return connection.exec_driver_sql("SELECT txid_current_snapshot()::text").scalar_one()

    def _sqlite_stamp(self) -> object:
        with self._watch_lock:
            try:
                if self._watching is None:
                    self._watching = sqlite3.connect(str(self.url.database), check_same_thread=False)
                return self._watching.execute("PRAGMA data_version").fetchone()[0]
            except sqlite3.Error as error:
                raise sqlite_failure(error, self.place) or error from error

    def ping(self) -> None:
        """Raises a named error when the store does not answer."""
        with self.connect() as connection:
            connection.exec_driver_sql(PING[self.dialect])

    def close(self) -> None:
        """Lets all connections go."""
        with self._watch_lock:
            if self._watching:
                self._watching.close()
                self._watching = None
        self._reader.dispose()
        self.engine.dispose()


class UntilChanged(Generic[T]):
    """What was read from a store, kept until somebody changes something there: for what each page shows."""

    def __init__(self, store: Store, read: Callable[[], T]) -> None:
        self._store = store
        self._read = read
        self._kept: tuple[object, T] | None = None

    def __call__(self) -> T:
        stamp = self._store.stamp()  # before the reading: what changes in between is read the next time
        kept = self._kept
        if kept is None or kept[0] != stamp:
            kept = self._kept = stamp, self._read()
        return kept[1]


def clock_of(store: Store) -> Clock:
    """The clock that all who share the store go by: on PostgreSQL its own, on SQLite the machine's."""
    return SystemClock() if store.dialect == "sqlite" else StoreClock(store.now)


def after_commit(connection: sa.Connection, call: Callable[[], object]) -> None:
    """Calls when the transaction of a `store.begin()` is committed, and never if it is taken back."""
    connection.info[AFTER_COMMIT].append(call)


def open_store(url: str, data_dir: Path) -> Store:
    """The store with the host's own tables in it."""
    store = Store(url, data_dir)
    store.migrate(HOST_MODULE, HOST_MIGRATIONS)
    return store


def backup_store(url: sa.URL, target: Path) -> None:
    """Copies the store at this URL, opened by others or not, as it is: without migrating it first."""
    if url.get_backend_name() != "sqlite":
        raise BackupFailed(target=target, reason="a PostgreSQL store is copied with pg_dump")
    assert url.database is not None
    if not Path(url.database).is_file():
        raise BackupFailed(target=target, reason=f"there is no store at {url.database}")
    _backup_sqlite(Path(url.database), target)


def _backup_sqlite(source: Path, target: Path) -> None:
    try:
        if target.exists():
            raise FileExistsError(f"{target.name} exists already")
        # a folder of its own: what SQLite puts beside the copy goes with it, whatever happens
        with TemporaryDirectory(prefix=".plugbay-backup-", dir=target.parent) as folder:
            part = Path(folder, "copy")
            make_private_file(part)
            _copy(source, part)
            _publish(part, target)
    except (OSError, sqlite3.Error) as error:
        raise BackupFailed(target=target, reason=getattr(error, "strerror", None) or error) from error


def _copy(source: Path, part: Path) -> None:
    address = f"{source.as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as reader:
        # one read transaction around all steps: without it, every write by others starts the copy anew
        reader.execute("BEGIN")
        reader.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        with closing(sqlite3.connect(part, isolation_level=None)) as copy:
            reader.backup(copy, pages=PAGES_PER_STEP)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file that stands alone


def _publish(part: Path, target: Path) -> None:
    with part.open("rb") as file:
        os.fsync(file.fileno())
    try:
        os.link(part, target)  # unlike a rename, it never replaces a file that came in between
    except FileExistsError:
        raise
    except OSError:
        _publish_without_link(part, target)
    sync_dir(target.parent)


def _publish_without_link(part: Path, target: Path) -> None:
    """For file systems without hard links, such as exFAT: an empty file takes the name first."""
    target.touch(PRIVATE_FILE, exist_ok=False)
    try:
        part.replace(target)
    except BaseException:
        target.unlink()
        raise
