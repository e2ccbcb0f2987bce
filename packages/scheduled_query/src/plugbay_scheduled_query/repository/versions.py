"""Older versions of definitions. The newest is the definition itself: a save keeps what it writes over.

So a query that was never edited has no row here, one that is older than this table has no gap, and an import
costs what it did.
"""

import json
from typing import Any

import sqlalchemy as sa
from plugbay import Store

from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.core.versions import Version, present_version, with_changes
from plugbay_scheduled_query.repository.rows import Row
from plugbay_scheduled_query.tables import data_sources, versions

KEPT = 200  # versions of one query, the present one among them: years of edits, and at most some megabytes

_INSERT = sa.insert(versions)
_FORGET = sa.delete(versions).where(
    versions.c.query_id == sa.bindparam("b_query"), versions.c.version <= sa.bindparam("b_last")
)
_OLDER = (
    sa.select(versions, data_sources.c.name.label("source_name"))
    .select_from(versions.outerjoin(data_sources, data_sources.c.id == versions.c.source_id))
    .where(versions.c.query_id == sa.bindparam("query"), versions.c.version < sa.bindparam("below"))
)
_PAGE = _OLDER.order_by(versions.c.version.desc())
_ONE = _OLDER.where(versions.c.version == sa.bindparam("number"))
_COUNT = (
    sa.select(sa.func.count())
    .select_from(versions)
    .where(versions.c.query_id == sa.bindparam("query"), versions.c.version < sa.bindparam("below"))
)


def keep_version(connection: sa.Connection, current: Query, source_id: int) -> None:
    """Keeps a definition as it is, before the same transaction writes over it; the oldest goes."""
    present = present_version(current)
    values = {
        "query_id": current.id,
        "version": present.version,
        "at": present.at,
        "by": present.by,
        "source_id": source_id,
        "definition": json.dumps(present.definition, ensure_ascii=False),
    }
    connection.execute(_INSERT, values)
    if (last := current.version + 1 - KEPT) > 0:
        connection.execute(_FORGET, {"b_query": current.id, "b_last": last})


def forget_versions(connection: sa.Connection, query_id: int) -> None:
    """Takes away all that is kept of a query."""
    connection.execute(sa.delete(versions).where(versions.c.query_id == query_id))


class Versions:
    """Reads what definitions were."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def page(self, query: Query, offset: int, limit: int) -> tuple[list[Version], int]:
        """A page of the versions of a query, newest first, and how many there are."""
        whose = {"query": query.id, "below": query.version}
        # one more than the page, to compare its last version with
        select = _PAGE.offset(max(0, offset - 1)).limit(limit + 1)
        with self._store.connect() as connection:
            total = connection.execute(_COUNT, whose).scalar_one() + 1
            older = [_version(row) for row in connection.execute(select, whose)]
        found = [present_version(query), *older][: limit + 1] if offset == 0 else older
        return with_changes(found)[:limit], total

    def get(self, query: Query, number: int) -> Version | None:
        """One version of a query, without what changed in it."""
        if number == query.version:
            return present_version(query)
        whose = {"query": query.id, "below": query.version, "number": number}
        with self._store.connect() as connection:
            row = connection.execute(_ONE, whose).first()
        return _version(row) if row else None


def _version(row: Row) -> Version:
    definition: dict[str, Any] = json.loads(row.definition)
    if row.source_name is not None:  # a source that was renamed since is the same source
        definition["data_source"] = row.source_name
    return Version(row.version, row.at, row.by, definition)
