"""Our tables without Alembic's work for each store: what it told the first one is told to the others."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy as sa

OURS = Path(__file__).parents[1] / "packages"
NOT_RETOLD = ("SELECT", "PRAGMA", "BEGIN")  # what changes nothing, and what every transaction begins with

Upgrade = Callable[[sa.Connection, str, Path, str], None]
Told = list[tuple[str, Any]]


class Retelling:
    """Brings a module's tables into a store that has none of them; whatever else is asked, Alembic does."""

    def __init__(self, upgrade: Upgrade) -> None:
        self._upgrade = upgrade
        self._told: dict[tuple[str, Path], Told] = {}

    def __call__(self, connection: sa.Connection, module: str, scripts: Path, version_table: str) -> None:
        is_new = not connection.dialect.has_table(connection, version_table)
        connection.rollback()
        if not (is_new and scripts.is_relative_to(OURS)):
            self._upgrade(connection, module, scripts, version_table)
        elif told := self._told.get((connection.dialect.name, scripts)):
            tell_again(connection, told)
        else:
            told = listen(connection)
            self._upgrade(connection, module, scripts, version_table)
            self._told[connection.dialect.name, scripts] = told


def listen(connection: sa.Connection) -> Told:
    """What the connection is told from now on."""
    told: Told = []

    @sa.event.listens_for(connection, "before_cursor_execute")
    def hear(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        if not statement.lstrip().upper().startswith(NOT_RETOLD):
            told.append((statement, parameters))

    return told


def tell_again(connection: sa.Connection, told: Told) -> None:
    with connection.begin(), closing(connection.connection.cursor()) as cursor:
        for statement, parameters in told:
            cursor.execute(statement, parameters)
