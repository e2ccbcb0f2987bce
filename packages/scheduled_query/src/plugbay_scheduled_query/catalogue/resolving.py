"""`env:NAME` and `file:PATH`: secrets that stay where the operator keeps them."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plugbay_scheduled_query.catalogue.own_store import OwnPlaces, refuse_own_files
from plugbay_scheduled_query.core.source import (
    Source,
    SourceError,
    SourceRefusedError,
    SourceUrl,
    Target,
    is_secret,
    parse_url,
    reference_of,
)

FILE_LIMIT_BYTES = 64 * 1024
PROCESSES = "/proc"  # has the environment of this process, and in it Plugbay's own secrets


@dataclass(frozen=True)
class References:
    """Looks references up, except where the product keeps secrets of its own."""

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
        if name.upper().startswith("PLUGBAY_"):
            raise SourceRefusedError(f"{name} is a secret of Plugbay itself and cannot be part of a source")
        if name not in self.environment:
            raise SourceError(f"the environment variable {name} is not set")
        return self.environment[name]

    def _from_file(self, path: Path) -> str:
        place = Path(os.path.realpath(path))
        if any(place.is_relative_to(own) for own in (os.path.realpath(self.data_dir), PROCESSES)):
            raise SourceRefusedError("a file in the data directory, or in /proc, cannot be part of a source")
        if place.exists() and not place.is_file():  # a pipe would keep us waiting
            raise SourceError(f"cannot read the file {path}: it is not a file")
        try:
            with path.open("rb") as file:
                return file.read(FILE_LIMIT_BYTES).decode("utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise SourceError(f"cannot read the file {path}: {_cause(error)}") from None


def _cause(error: OSError | UnicodeDecodeError) -> str:
    return "it is not text" if isinstance(error, UnicodeDecodeError) else str(error.strerror)


DIALECTS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "duckdb": "duckdb",
}
UNGUARDED = "unguarded"  # any other that SQLAlchemy knows

_TLS = ("sslmode", "sslcert", "sslkey", "sslpassword", "sslrootcert", "sslcrl", "sslnegotiation", "sslsni")
_PLACE = ("host", "hostaddr", "port", "user", "password", "dbname", "options", "target_session_attrs")
_LIBPQ_OPTIONS = {*_PLACE, *_TLS, "channel_binding", "gssencmode", "krbsrvname", "require_auth"}
_TLS_FILES = ("ssl_ca", "ssl_cert", "ssl_key", "ssl_key_password")
_MYSQL_OPTIONS = {"unix_socket", *_TLS_FILES, "ssl_verify_cert", "ssl_verify_identity", "ssl_disabled"}
_IGNORED_OPTIONS = {"charset", "application_name", "connect_timeout"}  # ours to say
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def dialect_of(scheme: str) -> str:
    """The dialect that a URL's scheme names; the driver after a + is ours to choose."""
    return DIALECTS.get(scheme.partition("+")[0], UNGUARDED)


def dialect_of_url(url: str) -> str | None:
    """The dialect of a source; None when all of its URL is kept elsewhere."""
    return None if reference_of(url) else dialect_of(parse_url(url).scheme)


def resolve(source: Source, own_places: OwnPlaces) -> Target:
    """What a runner needs to open the source; raises SourceError, or SourceRefusedError where it must not."""
    references = References(own_places.data_dir, own_places.environment)
    url = references.resolve(source.url)
    parts = parse_url(url)
    password = None if parts.password is None else references.resolve(parts.password)
    options = {name: references.resolve(value) for name, value in parts.options}
    hidden = [options[name] for name, value in parts.options if is_secret(name) or reference_of(value)]
    secrets = tuple(filter(None, [password, *hidden]))
    dialect = dialect_of(parts.scheme)
    params = _BUILD[dialect](source, parts, password, options, own_places)
    return Target(dialect, params, secrets)


def language_of(source: Source, own_places: OwnPlaces) -> str:
    """Whose SQL a source speaks; `unknown` for a reference that leads nowhere yet."""
    try:
        return resolve(source, own_places).language
    except SourceError:
        return dialect_of_url(source.url) or "unknown"


def _file(
    source: Source, parts: SourceUrl, password: str | None, options: dict[str, str], around: OwnPlaces
) -> dict[str, Any]:
    if parts.host or parts.username or options:
        raise SourceError(
            "the URL of a file has three slashes and no options, as in sqlite:////path/to/file.db"
        )
    if parts.database in ("", ":memory:"):
        raise SourceError("the URL names no file")
    path = Path(parts.database).absolute()
    refuse_own_files(path, around.data_dir, around.store_url, around.sample)
    return {"path": str(path)}


def _postgresql(
    source: Source, parts: SourceUrl, password: str | None, options: dict[str, str], around: OwnPlaces
) -> dict[str, Any]:
    connect: dict[str, Any] = {
        "host": parts.host,
        "port": parts.port,
        "user": parts.username,
        "password": password,
        "dbname": parts.database or None,
        **_checked(options, _LIBPQ_OPTIONS),
    }
    params: dict[str, Any] = {"connect": _without_none(connect)}
    if around.store_identity is not None:
        params["store"] = around.store_identity.as_dict()
    return params


def _mysql(
    source: Source, parts: SourceUrl, password: str | None, options: dict[str, str], around: OwnPlaces
) -> dict[str, Any]:
    connect = {
        "host": parts.host,
        "port": parts.port,
        "user": parts.username,
        "password": password,
        "database": parts.database or None,
    }
    extra = _checked(options, _MYSQL_OPTIONS)
    truths = {name: _TRUTH.get(value.lower(), value) for name, value in extra.items()}
    return {"connect": _without_none({**connect, **truths})}


def _unguarded(
    source: Source, parts: SourceUrl, password: str | None, options: dict[str, str], around: OwnPlaces
) -> dict[str, Any]:
    if not source.accepts_unguarded:
        raise SourceRefusedError(
            f"Plugbay has no proven guard for {parts.scheme}: a query could write, or outlive its limit;"
            " an admin may accept that for this source"
        )
    return {
        "scheme": parts.scheme,
        "username": parts.username,
        "password": password,
        "host": parts.host,
        "port": parts.port,
        "database": parts.database or None,
        "options": options,
    }


def _checked(options: Mapping[str, str], known: set[str]) -> dict[str, str]:
    for name in options:
        if name not in known and name not in _IGNORED_OPTIONS:
            raise SourceError(f"the URL has an option that is not allowed here: {name}")
    return {name: value for name, value in options.items() if name in known}


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


_BUILD: dict[str, Callable[[Source, SourceUrl, str | None, dict[str, str], OwnPlaces], dict[str, Any]]] = {
    "sqlite": _file,
    "duckdb": _file,
    "postgresql": _postgresql,
    "mysql": _mysql,
    UNGUARDED: _unguarded,
}
