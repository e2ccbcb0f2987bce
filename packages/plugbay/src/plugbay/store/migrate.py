"""One module's migrations: nothing to do is found out cheaply; what is to do is done under one lock."""

from pathlib import Path

import sqlalchemy as sa

from plugbay.errors import StoreNewer
from plugbay.store.migration_lock import migration_lock
from plugbay.store.revisions import Revisions, read_revisions


def migrate(writer: sa.Engine, reader: sa.Engine, module: str, scripts: Path) -> None:
    """Brings one module's tables to its newest version, if they are not there yet."""
    revisions = read_revisions(module, scripts)
    if is_current(reader, module, revisions):
        return
    with migration_lock(writer):
        if not is_current(reader, module, revisions):  # another process may have been quicker
            from plugbay.store.upgrade import upgrade

            upgrade(writer, module, scripts)


def is_current(reader: sa.Engine, module: str, revisions: Revisions) -> bool:
    """Whether the store has the newest version; one that this code does not know is refused."""
    stored = stored_versions(reader, module)
    if unknown := stored - revisions.known:
        known = revisions.head or "none"
        raise StoreNewer(module=module, stored=", ".join(sorted(unknown)), known=known)
    return stored == ({revisions.head} if revisions.head else set())


def version_table(module: str) -> str:
    return f"alembic_version_{module}"


def stored_versions(reader: sa.Engine, module: str) -> set[str]:
    name = version_table(module)
    with reader.connect() as connection:
        if not reader.dialect.has_table(connection, name):
            return set()
        return set(connection.scalars(sa.select(sa.column("version_num")).select_from(sa.table(name))))
