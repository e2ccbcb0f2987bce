"""Runs Alembic for one module, with the environment that its folder does not bring."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from plugbay.errors import MigrationFailed, PlugbayError
from plugbay.logs import get_logger
from plugbay.store.metadata import new_metadata
from plugbay.store.migrate import version_table

log = get_logger(__name__)
_one_at_a_time = threading.Lock()  # `alembic.op` stands for one migration per process


def upgrade(writer: sa.Engine, module: str, scripts: Path) -> None:
    """Runs every migration that the store lacks, each in a transaction of its own."""
    directory = ScriptDirectory(scripts)
    with _one_at_a_time, _migrating_connection(writer) as connection:
        steps = _Steps(directory, module)
        try:
            _run(connection, directory, steps, module)
        except PlugbayError:
            raise
        except Exception as error:
            raise MigrationFailed(module=module, revision=steps.current, reason=error) from error


class _Steps:
    """The way to the newest version, with a finger on the step that is being taken."""

    def __init__(self, directory: ScriptDirectory, module: str) -> None:
        self._directory, self._module = directory, module
        self.current = "?"

    def __call__(self, heads: Any, _context: Any) -> Iterable[Any]:
        for step in self._directory._upgrade_revs("head", heads):
            self.current = step.revision.revision
            yield step
            log.info("migrated", module=self._module, version=self.current)


def _run(connection: sa.Connection, directory: ScriptDirectory, steps: _Steps, module: str) -> None:
    with EnvironmentContext(Config(), directory, fn=steps) as environment:
        environment.configure(
            connection=connection,
            version_table=version_table(module),
            target_metadata=new_metadata(),
            transactional_ddl=True,
            transaction_per_migration=True,
            on_version_apply=_check_references,
        )
        environment.run_migrations()


@contextmanager
def _migrating_connection(writer: sa.Engine) -> Iterator[sa.Connection]:
    with writer.connect() as connection:
        if writer.dialect.name != "sqlite":
            yield connection
            return
        driver: Any = connection.connection.driver_connection
        # with foreign keys on, rebuilding a table, as most ALTERs do here, deletes the rows that refer to it
        driver.execute("PRAGMA foreign_keys=OFF")
        try:
            yield connection
        finally:
            connection.rollback()
            driver.execute("PRAGMA foreign_keys=ON")


def _check_references(ctx: MigrationContext, step: Any, heads: Any, run_args: Any) -> None:
    assert ctx.connection is not None
    if ctx.dialect.name == "sqlite" and ctx.connection.exec_driver_sql("PRAGMA foreign_key_check").first():
        raise ValueError("rows refer to rows that are no longer there")
