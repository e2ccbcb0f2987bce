"""One module's migrations: nothing to do is found out cheaply; what is to do is done under one lock."""

import ast
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from plugbay.errors import MigrationFailed, MigrationsUnclear, PlugbayError, StoreNewer
from plugbay.logs import get_logger
from plugbay.store.engines import sqlite_lock
from plugbay.store.tables import new_metadata

if TYPE_CHECKING:
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

VERSION_TABLE = "alembic_version_{}"
MODULE_NAME_MAX = 43  # characters: "alembic_version_…_pkc" must fit into PostgreSQL's 63
ADVISORY_KEY = 0x706C_7567_6261_79  # "plugbay" in ASCII
POLL_S = 0.2

Parents = tuple[str, ...]

_one_at_a_time = threading.Lock()  # `alembic.op` stands for one migration per process

log = get_logger(__name__)


@dataclass(frozen=True)
class Revisions:
    """One module's migrations: every version there is, and the newest."""

    known: frozenset[str]
    head: str | None


def migrate(writer: sa.Engine, reader: sa.Engine, module: str, scripts: Path) -> None:
    """Brings one module's tables to its newest version, if they are not there yet."""
    if len(module) > MODULE_NAME_MAX:
        raise MigrationsUnclear(module=module, reason=f"its name is longer than {MODULE_NAME_MAX} characters")
    revisions = read_revisions(module, scripts)
    if not is_current(reader, module, revisions):
        _upgrade(writer, reader, module, scripts, revisions)


def _upgrade(writer: sa.Engine, reader: sa.Engine, module: str, scripts: Path, revisions: Revisions) -> None:
    with migrating_connection(writer) as connection:
        if not is_current(reader, module, revisions):  # another process may have been quicker
            upgrade(connection, module, scripts, VERSION_TABLE.format(module))


def is_current(reader: sa.Engine, module: str, revisions: Revisions) -> bool:
    """Whether the store has the newest version; one that this code does not know is refused."""
    stored = _stored_versions(reader, VERSION_TABLE.format(module))
    if unknown := stored - revisions.known:
        known = revisions.head or "none"
        raise StoreNewer(module=module, stored=", ".join(sorted(unknown)), known=known)
    return stored == ({revisions.head} if revisions.head else set())


def _stored_versions(reader: sa.Engine, table: str) -> set[str]:
    with reader.connect() as connection:
        if not reader.dialect.has_table(connection, table):
            return set()
        return set(connection.scalars(sa.select(sa.column("version_num")).select_from(sa.table(table))))


@contextmanager
def migrating_connection(writer: sa.Engine) -> Iterator[sa.Connection]:
    """Waits until no other process migrates this store; who dies in the middle has let go of the lock."""
    lock = _on_postgresql if writer.dialect.name == "postgresql" else _on_sqlite
    with lock(writer) as connection:
        yield connection


@contextmanager
def _on_sqlite(writer: sa.Engine) -> Iterator[sa.Connection]:
    assert writer.url.database is not None
    with sqlite_lock(Path(writer.url.database)), _own_connection(writer) as connection:
        driver: Any = connection.connection.dbapi_connection
        # with foreign keys on, rebuilding a table, as most ALTERs do here, deletes the rows that refer to it
        driver.execute("PRAGMA foreign_keys=OFF")
        yield connection


@contextmanager
def _on_postgresql(writer: sa.Engine) -> Iterator[sa.Connection]:
    # the lock belongs to the session that migrates, so it is held until the server too is done with that
    with _own_connection(writer) as connection:
        if not _try_lock(connection):
            log.info("migration_waiting", store=writer.url.render_as_string())
            # asked again and again: who waits inside the server holds up CREATE INDEX CONCURRENTLY
            while not _try_lock(connection):
                time.sleep(POLL_S)
        yield connection


def _try_lock(connection: sa.Connection) -> bool:
    key = sa.literal(ADVISORY_KEY, sa.BigInteger)
    locked = connection.scalar(sa.select(sa.func.pg_try_advisory_lock(key)))
    connection.commit()
    return bool(locked)


@contextmanager
def _own_connection(writer: sa.Engine) -> Iterator[sa.Connection]:
    with writer.connect() as connection:
        try:
            yield connection
        finally:
            connection.invalidate()


def read_revisions(module: str, scripts: Path) -> Revisions:
    """The versions named in `versions/*.py`; a folder without any has no head."""
    try:
        parents = _read_all(sorted((scripts / "versions").glob("[!_.]*.py")))
        return Revisions(frozenset(parents), _head_of(parents))
    except ValueError as error:
        raise MigrationsUnclear(module=module, reason=error) from error


def _head_of(parents: Mapping[str, Parents]) -> str | None:
    named = {parent for each in parents.values() for parent in each}
    if missing := named - parents.keys():
        raise ValueError(f"{', '.join(sorted(missing))} is named as a down_revision but is not there")
    heads = sorted(parents.keys() - named)
    if len(heads) > 1 or (parents and not heads):
        raise ValueError(f"they must have one end, not {', '.join(heads) or 'a circle'}")
    return heads[0] if heads else None


def _read_all(paths: list[Path]) -> dict[str, Parents]:
    parents: dict[str, Parents] = {}
    for path in paths:
        revision, parents_of_it = _read(path)
        if revision in parents:
            raise ValueError(f"{path.name} has the revision {revision}, which another has too")
        parents[revision] = parents_of_it
    return parents


def _read(path: Path) -> tuple[str, Parents]:
    try:
        head = path.read_bytes().partition(b"\ndef ")[0]  # a fifth of the work of parsing it all
        names = _constants(ast.parse(head, path.name))
        return str(names["revision"]), _as_tuple(names["down_revision"])
    except (KeyError, SyntaxError, ValueError) as error:
        raise ValueError(f"{path.name} does not state its revision and down_revision at its head") from error


def _constants(tree: ast.Module) -> dict[str, object]:
    found: dict[str, object] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id in ("revision", "down_revision"):
                found[target.id] = ast.literal_eval(node.value)
    return found


def _as_tuple(parents: object) -> Parents:
    if parents is None:
        return ()
    return tuple(map(str, parents)) if isinstance(parents, tuple | list) else (str(parents),)


class _Steps:
    """The way to the newest version, with a finger on the step that is being taken."""

    def __init__(self, directory: "ScriptDirectory", module: str) -> None:
        self._directory, self._module = directory, module
        self.current = "(none)"

    def __call__(self, heads: Any, _context: Any) -> Iterable[Any]:
        for step in self._directory._upgrade_revs("head", heads):
            self.current = step.revision.revision
            yield step
            log.info("migrated", module=self._module, version=self.current)


def upgrade(connection: sa.Connection, module: str, scripts: Path, version_table: str) -> None:
    """Runs every migration that the store lacks, each in a transaction of its own."""
    # Alembic costs 9 MB and a tenth of a second: a start with nothing to do does without
    from alembic.script import ScriptDirectory

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


def _run(connection: sa.Connection, directory: "ScriptDirectory", steps: _Steps, version_table: str) -> None:
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext

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


def _check_references(ctx: "MigrationContext", step: Any, heads: Any, run_args: Any) -> None:
    assert ctx.connection is not None
    if ctx.dialect.name == "sqlite" and ctx.connection.exec_driver_sql("PRAGMA foreign_key_check").first():
        raise ValueError("rows refer to rows that are no longer there")
