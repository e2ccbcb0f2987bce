"""Never the own store: which files and databases no query may read."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from plugbay_scheduled_query.sources.dialects.session import SourceError, SourceRefusedError
from plugbay_scheduled_query.sources.url import parse_url

# run on the product's own store; a source is the same database, or a replica of it, when it answers the same
IDENTITY_SQL = (
    "SELECT (SELECT system_identifier FROM pg_control_system())::text || '/' || oid"
    " FROM pg_database WHERE datname = current_database()"
)


@dataclass(frozen=True)
class StoreIdentity:
    """A PostgreSQL store: its answer to `IDENTITY_SQL`, and the tables that are private."""

    identity: str
    tables: Sequence[str]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


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
