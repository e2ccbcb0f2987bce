"""From a source to its target: what a runner opens, with references looked up and the own store refused.

A reference is `env:NAME` or `file:PATH`, in the place of a URL, a password or an option: a secret that stays
where the operator keeps it.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

from plugbay import Clock, Store

from plugbay_scheduled_query.core.errors import SourceError, SourceRefusedError
from plugbay_scheduled_query.core.source import (
    IDENTITY_SQL,
    OwnStore,
    Source,
    StoreIdentity,
    Target,
    is_secret,
    parse_url,
    reference_of,
)
from plugbay_scheduled_query.dialects import dialect_of
from plugbay_scheduled_query.dialects.contract import PROCESSES, refuse_own_path
from plugbay_scheduled_query.dialects.unguarded import UNGUARDED
from plugbay_scheduled_query.tables import metadata

FILE_LIMIT_BYTES = 64 * 1024
# What a source may refer to. The environment alone says it: a setting could be widened by whoever it limits.
SECRET_VARIABLES = "SCHEDULED_QUERY_SECRET_VARIABLES"  # noqa: S105 - a name, not a secret
USUAL_VARIABLES = "*_PASSWORD,*_URL"
SECRET_FOLDERS = "SCHEDULED_QUERY_SECRET_FOLDERS"  # noqa: S105
USUAL_FOLDERS = "/run/secrets,/run/credentials"  # of containers, and of systemd
OWN_PREFIXES = ("PLUGBAY_", "SCHEDULED_QUERY_", "TASK_WORKER_")
CLUSTER_FOLDER = "kubernetes.io"  # below the usual folder, and no secret of a database
SAMPLE_FILE = "samples.db"  # the only file of the data directory that a source may be


def resolve(source: Source, own: OwnStore, environment: Mapping[str, str] = os.environ) -> Target:
    """What a runner needs to open the source; raises SourceError, or SourceRefusedError where it must not."""
    references = References(own.data_dir, environment)
    parts = parse_url(references.resolve(source.url))
    password = None if parts.password is None else references.resolve(parts.password)
    options = {name: references.resolve(value) for name, value in parts.options}
    hidden = [options[name] for name, value in parts.options if is_secret(name) or reference_of(value)]
    secrets = tuple(filter(None, [password, *hidden]))
    dialect = dialect_of(parts.scheme)
    if dialect is UNGUARDED and not source.accepts_unguarded:
        raise SourceRefusedError(
            f"Plugbay has no proven guard for {parts.scheme}: a query could write, or outlive its limit;"
            " an admin may accept that for this source"
        )
    for value in (parts.database, *options.values()):
        refuse_own_path(value, own)
    url = replace(parts, password=password, options=tuple(options.items()))
    return Target(dialect.name, dialect.params(url, own), secrets)


def language_of(source: Source, own: OwnStore) -> str:
    """Whose SQL a source speaks; `unknown` for a reference that leads nowhere yet."""
    try:
        return resolve(source, own).language
    except SourceError:
        return dialect_of_url(source.url) or "unknown"


def dialect_of_url(url: str) -> str | None:
    """The name of a source's dialect; None when all of its URL is kept elsewhere."""
    return None if reference_of(url) else dialect_of(parse_url(url).scheme).name


@dataclass(frozen=True)
class References:
    """Looks references up where secrets are kept for sources, and nowhere else."""

    data_dir: Path
    environment: Mapping[str, str]

    def resolve(self, text: str) -> str:
        """What a reference stands for; a text that is none stays as it is."""
        found = reference_of(text)
        if found is None:
            return text
        kind, name = found
        return self._from_environment(name) if kind == "env" else self._from_file(Path(name))

    def _from_environment(self, name: str) -> str:
        if name.upper().startswith(OWN_PREFIXES):
            raise SourceRefusedError(f"{name} is a secret of Plugbay itself and cannot be part of a source")
        if not any(
            fnmatchcase(name, pattern) for pattern in self._entries(SECRET_VARIABLES, USUAL_VARIABLES)
        ):
            raise SourceRefusedError(
                f"{name} is not among the variables that a source may refer to; see {SECRET_VARIABLES}"
            )
        if name not in self.environment:
            raise SourceError(f"the environment variable {name} is not set")
        return self.environment[name]

    def _from_file(self, path: Path) -> str:
        place = Path(os.path.realpath(path))
        if any(place.is_relative_to(own) for own in (os.path.realpath(self.data_dir), PROCESSES)):
            raise SourceRefusedError("a file in the data directory, or in /proc, cannot be part of a source")
        folders = map(os.path.realpath, self._entries(SECRET_FOLDERS, USUAL_FOLDERS))
        if CLUSTER_FOLDER in place.parts or not any(place.is_relative_to(folder) for folder in folders):
            raise SourceRefusedError(
                f"{path} is not in a folder that a source may refer to; see {SECRET_FOLDERS}"
            )
        if place.exists() and not place.is_file():  # a pipe would keep us waiting
            raise SourceError(f"cannot read the file {path}: it is not a file")
        try:
            with place.open("rb") as file:
                return file.read(FILE_LIMIT_BYTES).decode("utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise SourceError(f"cannot read the file {path}: {_cause(error)}") from None

    def _entries(self, variable: str, usual: str) -> list[str]:
        given = self.environment.get(variable, usual)
        return [entry for part in given.split(",") if (entry := part.strip())]


def _cause(error: OSError | UnicodeDecodeError) -> str:
    return "it is not text" if isinstance(error, UnicodeDecodeError) else str(error.strerror)


class Host(Protocol):
    """The part of the host that a source must keep away from."""

    data_dir: Path
    store: Store
    clock: Clock


def own_store_of(host: Host) -> OwnStore:
    """Where this process keeps what is its own."""
    store = host.store
    is_file = store.dialect == "sqlite"
    return OwnStore(
        data_dir=host.data_dir,
        file=Path(store.url.database or "") if is_file else None,
        sample=host.data_dir / SAMPLE_FILE,
        identity=None if is_file else _identity(store),
    )


def _identity(store: Store) -> StoreIdentity:
    with store.connect() as connection:
        identity = connection.exec_driver_sql(IDENTITY_SQL).scalar_one()
    return StoreIdentity(identity, [*store.own_tables, *metadata.tables])
