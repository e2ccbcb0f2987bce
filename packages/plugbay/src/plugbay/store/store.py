"""The store as host and plugins see it: four ways in, migrations, backup."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from plugbay.private_files import make_private_dir
from plugbay.store.backup import backup_store
from plugbay.store.failures import busy_by_name
from plugbay.store.migrate import migrate
from plugbay.store.postgresql import open_postgresql
from plugbay.store.sqlite import open_sqlite
from plugbay.store.tables import metadata
from plugbay.store.urls import store_url

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite
    from sqlalchemy.orm import Session

HOST_MODULE = "plugbay"
PING = {"sqlite": "SELECT 1 FROM sqlite_master LIMIT 1", "postgresql": "SELECT 1"}
HOST_MIGRATIONS = Path(__file__).parent / "migrations"


class Store:
    """The product's database, opened and answering; an empty URL is the SQLite file in the data directory."""

    def __init__(self, url: str, data_dir: Path) -> None:
        make_private_dir(data_dir)
        self.data_dir = data_dir
        self.url = store_url(url, data_dir)
        self.dialect = self.url.get_backend_name()
        opener = open_sqlite if self.dialect == "sqlite" else open_postgresql
        self.engine, self._reader = opener(self.url)
        self.ping()

    @property
    def place(self) -> str:
        """Where it is, for people: a file, or a database without its secrets and options."""
        if self.dialect == "sqlite":
            return str(self.url.database)
        parts = (self.url.username, None, self.url.host, self.url.port, self.url.database)
        return sa.URL.create("postgresql", *parts).render_as_string()

    @contextmanager
    def begin(self) -> Iterator[sa.Connection]:
        """A connection in a write transaction: committed at the block's end, taken back on an exception."""
        with busy_by_name(), self.engine.begin() as connection:
            yield connection

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

    def migrate(self, module: str, scripts: Path) -> None:
        """Brings one module's tables up to the newest of its `versions/*.py`."""
        migrate(self.engine, self._reader, module, scripts)

    def backup(self, target: Path) -> None:
        """Copies a SQLite store to a new file, as it is at this moment, while others go on writing."""
        backup_store(self.url, target)

    def ping(self) -> None:
        """Raises a named error when the store does not answer."""
        with self.connect() as connection:
            connection.exec_driver_sql(PING[self.dialect])

    def close(self) -> None:
        """Lets all connections go."""
        self._reader.dispose()
        self.engine.dispose()


def open_store(url: str, data_dir: Path) -> Store:
    """The store with the host's own tables in it."""
    store = Store(url, data_dir)
    store.migrate(HOST_MODULE, HOST_MIGRATIONS)
    return store
