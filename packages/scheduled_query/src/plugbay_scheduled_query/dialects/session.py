"""What a runner asks of every database: one session that can read, be stopped and be made new."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

CANCEL_LIMIT_S = 1.0  # to reach the server with "stop that": the end of the runner is due soon after
SCHEMA_COLUMN_LIMIT = 20_000  # of all tables together


class StaleSessionError(Exception):
    """A kept session is of no use any more; nothing was asked yet, so a new one can be opened."""


@dataclass(frozen=True)
class Params:
    """What it takes to open a session: where, and how much it may use."""

    values: Mapping[str, Any]
    memory_bytes: int
    connect_s: float


@dataclass(frozen=True)
class Answer:
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

    is_watched: bool
    """Nobody else keeps time and memory: the runner's watch thread must."""

    limits_address_space: bool
    """The memory limit is put on the address space of the process."""

    number: int
    """What another session can end this one by; 0 where a client that is gone takes its statement along."""

    def begin(self, timeout_s: float) -> None:
        """Make ready for one statement: read-only, and limited in time where the server can do that."""
        ...

    def execute(self, sql: str) -> Answer:
        """Run one statement."""
        ...

    def cancel(self) -> None:
        """Stop the running statement; called from another thread."""
        ...

    def end(self, number: int) -> None:
        """End another session of this account, and its statement; asked only where sessions have numbers."""
        ...

    def is_timeout(self, error: Exception) -> bool:
        """Whether the database itself says that the time was up."""
        ...

    def reset(self) -> bool:
        """Undo all that a statement could leave behind; False when only a new session is clean."""
        ...

    def close(self) -> None:
        """End the session and what still runs in it."""
        ...

    def tables(self) -> Iterable[Table]:
        """The tables and views that this account can see."""
        ...

    def self_test(self) -> Report:
        """What this account can do besides reading."""
        ...


def group_columns(rows: Iterable[Sequence[str]]) -> list[Table]:
    """Rows of (schema, table, column, type), in order, as tables."""
    columns: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for schema, table, column, kind in rows:
        columns.setdefault((schema, table), []).append((column, kind))
    return [Table(schema, table, found) for (schema, table), found in columns.items()]
