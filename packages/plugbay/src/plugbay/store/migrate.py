"""One module's migrations: nothing to do is found out cheaply; what is to do is done under one lock."""

from pathlib import Path

import sqlalchemy as sa

from plugbay.errors import MigrationsUnclear, StoreNewer
from plugbay.store.revisions import Revisions, read_revisions

VERSION_TABLE = "alembic_version_{}"
MODULE_NAME_MAX = 43  # characters: "alembic_version_…_pkc" must fit into PostgreSQL's 63


def migrate(writer: sa.Engine, reader: sa.Engine, module: str, scripts: Path) -> None:
    """Brings one module's tables to its newest version, if they are not there yet."""
    if len(module) > MODULE_NAME_MAX:
        raise MigrationsUnclear(module=module, reason=f"its name is longer than {MODULE_NAME_MAX} characters")
    revisions = read_revisions(module, scripts)
    if not is_current(reader, module, revisions):
        _upgrade(writer, reader, module, scripts, revisions)


def _upgrade(writer: sa.Engine, reader: sa.Engine, module: str, scripts: Path, revisions: Revisions) -> None:
    # Alembic costs 9 MB and a tenth of a second: a start with nothing to do does without
    from plugbay.store.migrating import migrating_connection
    from plugbay.store.upgrade import upgrade

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
