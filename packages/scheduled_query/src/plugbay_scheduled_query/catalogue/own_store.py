"""Never the own store: which files and databases no query may read."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from plugbay import Clock, Store

from plugbay_scheduled_query.core.source import (
    IDENTITY_SQL,
    SourceError,
    SourceRefusedError,
    StoreIdentity,
    parse_url,
)
from plugbay_scheduled_query.tables import metadata


@dataclass(frozen=True)
class OwnPlaces:
    """What a source is checked against: the product's own places, and where references lead."""

    data_dir: Path
    store_url: str
    sample: Path | None = None
    store_identity: StoreIdentity | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)


def refuse_own_files(path: Path, data_dir: Path, store_url: str, sample: Path | None) -> None:
    """Raise when the path leads to the store, or into the data directory elsewhere than to the sample."""
    store = _store_file(store_url)
    if store is not None and _is_same(path, store):
        raise SourceRefusedError("this file is Plugbay's own store: a source must be another database")
    is_inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(data_dir))
    if is_inside and not (sample is not None and _is_same(path, sample)):
        raise SourceRefusedError("this file is in Plugbay's data directory: keep your databases elsewhere")


def _store_file(store_url: str) -> Path | None:
    try:
        parts = parse_url(store_url)
    except SourceError:
        return None  # not ours to judge, and no file
    is_file = parts.scheme.partition("+")[0] == "sqlite" and parts.database not in ("", ":memory:")
    return Path(parts.database).absolute() if is_file else None


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)  # also through a link of either kind
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


SAMPLE_FILE = "samples.db"  # the only file of the data directory that a source may be


class Host(Protocol):
    """The part of the host that a source must keep away from."""

    data_dir: Path
    store: Store
    clock: Clock


def own_places_of(host: Host) -> OwnPlaces:
    """Where this process keeps what is its own."""
    store = host.store
    return OwnPlaces(
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
