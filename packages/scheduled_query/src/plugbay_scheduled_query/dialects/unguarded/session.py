"""Any other database: a fresh connection of SQLAlchemy's for each statement."""

import contextlib
from typing import Any

from sqlalchemy import URL, Engine, create_engine, inspect
from sqlalchemy.pool import NullPool

from plugbay_scheduled_query.core.errors import SourceError
from plugbay_scheduled_query.dialects.contract import (
    SCHEMA_COLUMN_LIMIT,
    Params,
    Report,
    Rows,
    Session,
    Table,
)


class UnguardedSession(Session):
    """A fresh connection for each statement, rolled back at its end."""

    is_watched = True

    def __init__(self, params: Params) -> None:
        self._engine = _engine(params)
        self._connection = self._engine.connect().execution_options(stream_results=True, no_parameters=True)

    def begin(self, timeout_s: float) -> None:
        pass  # nothing is known that would limit it: the end of the runner does

    def execute(self, sql: str) -> Rows:
        result = self._connection.exec_driver_sql(sql)
        if not result.returns_rows:
            raise SourceError("the statement returns no rows")
        names = [str(name) for name in result.keys()]  # noqa: SIM118
        return Rows(names, lambda count: [tuple(row) for row in result.fetchmany(count)])

    def cancel(self) -> None:
        # some drivers can, and call it by one of these names
        driver: Any = self._connection.connection.driver_connection
        for name in ("cancel", "interrupt"):
            with contextlib.suppress(Exception):
                getattr(driver, name)()

    def close(self) -> None:
        self._connection.rollback()
        self._connection.close()
        self._engine.dispose()

    def tables(self) -> list[Table]:
        look = inspect(self._connection)
        found: list[Table] = []
        for name in [*look.get_table_names(), *look.get_view_names()]:
            if sum(len(table.columns) for table in found) < SCHEMA_COLUMN_LIMIT:
                columns = [(column["name"], str(column["type"])) for column in look.get_columns(name)]
                found.append(Table("", name, columns))
        return found

    def self_test(self) -> Report:
        warning = "Plugbay has no guard for this database: use an account that can only read"
        return Report(self._engine.dialect.name, [warning])


def _engine(params: Params) -> Engine:
    given = params.values
    url = URL.create(
        given["scheme"],
        given["username"],
        given["password"],
        given["host"],
        given["port"],
        given["database"],
        given["options"],
    )
    return create_engine(url, poolclass=NullPool)
