"""Runs Alembic for one module, with the environment that its folder does not bring."""

import threading
from collections.abc import Iterable
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

log = get_logger(__name__)
_one_at_a_time = threading.Lock()  # `alembic.op` stands for one migration per process


class _Steps:
    """The way to the newest version, with a finger on the step that is being taken."""

    def __init__(self, directory: ScriptDirectory, module: str) -> None:
        self._directory, self._module = directory, module
        self.current = "(none)"

    def __call__(self, heads: Any, _context: Any) -> Iterable[Any]:
        for step in self._directory._upgrade_revs("head", heads):
            self.current = step.revision.revision
            yield step
            log.info("migrated", module=self._module, version=self.current)


def upgrade(connection: sa.Connection, module: str, scripts: Path, version_table: str) -> None:
    """Runs every migration that the store lacks, each in a transaction of its own."""
    directory = ScriptDirectory(scripts)
    steps = _Steps(directory, module)
    try:
        with _one_at_a_time:
            _run(connection, directory, steps, version_table)
    except PlugbayError:
        raise
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise MigrationFailed(module=module, revision=steps.current, reason=reason) from error


def _run(connection: sa.Connection, directory: ScriptDirectory, steps: _Steps, version_table: str) -> None:
    with EnvironmentContext(Config(), directory, fn=steps) as environment:
        environment.configure(
            connection=connection,
            version_table=version_table,
            target_metadata=new_metadata(),
            transactional_ddl=True,
            transaction_per_migration=True,
            on_version_apply=_check_references,
        )
        environment.run_migrations()


def _check_references(ctx: MigrationContext, step: Any, heads: Any, run_args: Any) -> None:
    assert ctx.connection is not None
    if ctx.dialect.name == "sqlite" and ctx.connection.exec_driver_sql("PRAGMA foreign_key_check").first():
        raise ValueError("rows refer to rows that are no longer there")
