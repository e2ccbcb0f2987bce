"""From what the operator wrote to the database that is meant."""

from pathlib import Path

import sqlalchemy as sa

from plugbay.errors import StoreUrlRefused

DEFAULT_FILE = "plugbay.db"
POSTGRESQL_NAMES = {"postgres", "postgresql", "postgresql+psycopg"}
SQLITE_NAMES = {"sqlite", "sqlite+pysqlite"}


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
