"""What a dialect brings: one record, and a session that reads, can be stopped and be made new.

The record is filled in by the `__init__` of the dialect's folder and costs nothing to load: the guard's part,
which needs the parser, and the session, which needs the driver, are loaded by whoever asks for them.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from plugbay_scheduled_query.core.errors import SourceError, SourceRefusedError

if TYPE_CHECKING:
    from plugbay_scheduled_query.core.guard.judging import Language
    from plugbay_scheduled_query.core.source import OwnStore, SourceUrl

CANCEL_LIMIT_S = 1.0  # to reach the server with "stop that": the end of the runner is due soon after
SCHEMA_COLUMN_LIMIT = 20_000  # of all tables together
RUNNER_DIR = Path("/")  # where a runner works, and so what a relative path is relative to
PROCESSES = Path("/proc")  # has the environment of this process, and in it Plugbay's own secrets
NESTING_LIMIT = 64  # levels: json.loads gives up near 1,000, less what is already on the reader's stack

_OURS_TO_SAY = {"charset", "application_name", "connect_timeout"}  # options of a URL that change nothing


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """One database that can be asked."""

    name: str
    """Of its folder, of its kind of source, and of the extra that installs its driver."""

    schemes: tuple[str, ...]
    """What its URLs begin with; the driver after a + is ours to choose."""

    labels: tuple[str, ...]
    """What people call it, or each of them where several databases speak it."""

    example_url: str
    """A URL to show to somebody who adds a source."""

    editor: str
    """CodeMirror's name for its SQL, for the editor on the pages."""

    driver: str = ""
    """The module that may be missing; nothing where every Python has it."""

    params: Callable[["SourceUrl", "OwnStore"], dict[str, Any]]
    """What its session is opened with, from a URL whose references are looked up."""

    language: Callable[[str], "Language"]
    """What the guard knows of it, by SQLAlchemy's name for the database; loads the parser."""

    open_session: Callable[["Params"], "Session"]
    """A new session; loads the driver."""


class StaleSessionError(Exception):
    """A kept session is of no use any more; nothing was asked yet, so a new one can be opened."""


@dataclass(frozen=True)
class Params:
    """What it takes to open a session: where, and how much it may use."""

    values: Mapping[str, Any]
    memory_bytes: int
    connect_s: float


@dataclass(frozen=True)
class Rows:
    """The columns of a result, and the way to its next rows: about as many as asked for, none at the end."""

    columns: Sequence[str]
    fetch: Callable[[int], Sequence[Sequence[Any]]]


@dataclass(frozen=True)
class Table:
    """A table or view, with its columns as (name, type)."""

    schema: str
    name: str
    columns: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Report:
    """What an account can do, in plain words, and the statements that make a better one."""

    server: str
    warnings: Sequence[str] = ()
    statements: Sequence[str] = ()


class Session(Protocol):
    """A read-only connection to one source."""

    is_watched: bool = False
    """Nobody else keeps time and memory: the runner's meter must."""

    limits_address_space: bool = True
    """The memory limit is put on the address space of the process."""

    mark: str = ""
    """What another session finds this one by, to end it; empty where the runner takes its statement along."""

    outlives_client: bool = False
    """Its statement goes on though its client is gone: the runner has to live until it told it to stop."""

    allowed_functions: frozenset[str] = frozenset()
    """What an operator lets through although no list knows it; the runner says it before each statement."""

    def begin(self, timeout_s: float) -> None:
        """Make ready for one statement: read-only, and limited in time where the server can do that."""
        ...

    def execute(self, sql: str) -> Rows:
        """Run one statement."""
        ...

    def cancel(self) -> None:
        """Stop the running statement; called from another thread."""
        ...

    @property
    def is_at_rest(self) -> bool:
        """Whether the server is surely done with the statement, as far as this end of the line can tell."""
        return True

    def end(self, mark: str) -> bool:
        """End another session of this account, and its statement; whether it was there still."""
        return False

    def is_timeout(self, error: Exception) -> bool:
        """Whether the database itself says that the time was up."""
        return False

    def reset(self, is_last: bool) -> bool:
        """Undo all that a statement could leave behind; False when only a new session is clean.

        After the last statement for now, the session also lets go of what it holds in the server.
        """
        return False

    def close(self) -> None:
        """End the session and what still runs in it."""
        ...

    def tables(self) -> Iterable[Table]:
        """The tables and views that this account can see."""
        ...

    def self_test(self) -> Report:
        """What this account can do besides reading."""
        ...


class JsonText:
    """A value that its database already wrote as JSON."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class NumberText:
    """A number as its database wrote it, with every digit."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def iso_text(text: str) -> str:
    """A database's `2026-11-15 12:00:00+01` as ISO 8601; what is no plain date and time stays as it is."""
    if len(text) > 10 and text[10] == " " and text[:4].isdigit() and "BC" not in text:
        text = text[:10] + "T" + text[11:]
        if text[-3] in "+-" and text[-2:].isdigit():
            text += ":00"
    return text


def decode_text(raw: bytes) -> str:
    """Text of a database that does not check it: what is not UTF-8 becomes lone surrogates, one per byte."""
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "surrogateescape")


def group_columns(rows: Iterable[Sequence[str]]) -> list[Table]:
    """Rows of (schema, table, column, type), in order, as tables."""
    columns: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for schema, table, column, kind in rows:
        columns.setdefault((schema, table), []).append((column, kind))
    return [Table(schema, table, found) for (schema, table), found in columns.items()]


def server_params(url: "SourceUrl", database: str, known: Collection[str]) -> dict[str, Any]:
    """What a driver connects with: the URL's parts and known options; `database` is the driver's word."""
    parts: dict[str, Any] = {
        "host": url.host,
        "port": url.port,
        "user": url.username,
        "password": url.password,
        database: url.database or None,
        **_checked(url.options, known),
    }
    return {name: value for name, value in parts.items() if value is not None}


def refuse_own_path(text: str, own: "OwnStore") -> None:
    """Refuse a value of a URL that names a file of the product's own: a driver could read or quote it."""
    named = Path(text.removeprefix("file:")).expanduser()
    for path in (named, RUNNER_DIR / named):
        if os.path.lexists(path) and not path.is_dir():
            _refuse_own_files(path, own)
            if Path(os.path.realpath(path)).is_relative_to(PROCESSES):
                raise SourceRefusedError("a file in /proc cannot be part of a source")


def _checked(options: Iterable[tuple[str, str]], known: Collection[str]) -> dict[str, str]:
    for name, _ in options:
        if name not in known and name not in _OURS_TO_SAY:
            raise SourceError(f"the URL has an option that is not allowed here: {name}")
    return {name: value for name, value in options if name in known}


def file_params(url: "SourceUrl", own: "OwnStore") -> dict[str, Any]:
    """The path of a database that is a file, and not one of the product's own."""
    if url.host or url.username or url.options:
        raise SourceError(
            "the URL of a file has three slashes and no options, as in sqlite:////path/to/file.db"
        )
    if url.database in ("", ":memory:"):
        raise SourceError("the URL names no file")
    path = Path(url.database).absolute()
    _refuse_own_files(path, own)
    return {"path": str(path)}


def _refuse_own_files(path: Path, own: "OwnStore") -> None:
    if own.file is not None and _is_same(path, own.file):
        raise SourceRefusedError("this file is Plugbay's own store: a source must be another database")
    is_inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(own.data_dir))
    if is_inside and not (own.sample is not None and _is_same(path, own.sample)):
        raise SourceRefusedError("this file is in Plugbay's data directory: keep your databases elsewhere")


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)  # also through a link of either kind
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)
