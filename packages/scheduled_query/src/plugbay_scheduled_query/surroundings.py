"""What every source is checked against: the product's own store and files, which no query may read."""

from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from plugbay import Clock, Store

from plugbay_scheduled_query.sources.own_store import IDENTITY_SQL, StoreIdentity
from plugbay_scheduled_query.sources.source import Surroundings
from plugbay_scheduled_query.tables import metadata

SAMPLE_FILE = "samples.db"  # the only file of the data directory that a source may be


class Host(Protocol):
    """The part of the host that a source must keep away from."""

    data_dir: Path
    store: Store
    clock: Clock


def surroundings_of(host: Host) -> Surroundings:
    """Where this process keeps what is its own."""
    store = host.store
    return Surroundings(
        data_dir=host.data_dir,
        store_url=_url(store),
        sample=host.data_dir / SAMPLE_FILE,
        store_identity=_identity(store) if store.dialect == "postgresql" else None,
    )


def _url(store: Store) -> str:
    if store.dialect == "sqlite":
        return f"sqlite:///{quote(store.url.database or '')}"
    return store.url.render_as_string(hide_password=False)


def _identity(store: Store) -> StoreIdentity:
    with store.connect() as connection:
        identity = connection.exec_driver_sql(IDENTITY_SQL).scalar_one()
    return StoreIdentity(identity, [*store.own_tables, *metadata.tables])
