"""The product's own database: one store for the host and its plugins, on SQLite or PostgreSQL."""

from plugbay.store.metadata import new_metadata
from plugbay.store.store import HOST_MIGRATIONS, Store, open_store
from plugbay.store.times import UTCDateTime

__all__ = ["HOST_MIGRATIONS", "Store", "UTCDateTime", "new_metadata", "open_store"]
