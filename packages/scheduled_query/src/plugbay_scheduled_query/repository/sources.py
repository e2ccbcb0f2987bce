"""Data sources in the store: named, their URLs encrypted, and beside each the lane that paces it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from plugbay import Clock, Secrets, SecretUnreadable, Store, get_logger

from plugbay_scheduled_query.core.source import Source
from plugbay_scheduled_query.repository.rows import Row
from plugbay_scheduled_query.tables import data_sources, lanes, pauses, queries, states

NAMED_AT_MOST = 10  # of the queries that keep a source from being deleted

log = get_logger(__name__)


class Origin(StrEnum):
    """Who brought a source, and so who may change it."""

    SETTINGS = "settings"
    ADMIN = "admin"
    SAMPLE = "sample"
    REMOVED = "removed"  # no longer in the setting, kept without its URL because queries name it


class NameTaken(Exception):
    """Another data source has this name."""


class SourceInUse(Exception):
    """Queries ask this source; the message names them."""

    def __init__(self, names: Sequence[str], count: int) -> None:
        self.names = names
        more = f" and {count - len(names)} more" if count > len(names) else ""
        super().__init__(f"it is used by {', '.join(f'“{name}”' for name in names)}{more}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSource:
    """A row of the table; its URL can be read only with the host's keys."""

    id: int
    name: str
    dialect: str
    secret_url: str = field(repr=False)
    accepts_unguarded: bool
    origin: Origin
    pace_s: int | None  # none: the setting interval
    max_parallel: int | None  # none: the setting
    last_test: str | None = field(repr=False)  # JSON
    created_at: datetime
    updated_at: datetime

    @property
    def is_locked(self) -> bool:
        """Whether the setting decides about it, and nobody else."""
        return self.origin is Origin.SETTINGS


_LIVE_QUERIES = queries.c.deleted_at.is_(None)
_ALL = sa.select(data_sources).order_by(data_sources.c.name)
_BY_ID = sa.select(data_sources).where(data_sources.c.id == sa.bindparam("id"))
_BY_NAME = sa.select(data_sources).where(data_sources.c.name == sa.bindparam("name"))


class SourceRepository:
    """The table of data sources."""

    def __init__(self, store: Store, secrets: Secrets, clock: Clock) -> None:
        self._store = store
        self._secrets = secrets
        self._clock = clock

    def all(self) -> list[StoredSource]:
        """Every source, by name."""
        with self._store.connect() as connection:
            return [_stored(row) for row in connection.execute(_ALL)]

    def get(self, source_id: int) -> StoredSource | None:
        with self._store.connect() as connection:
            row = connection.execute(_BY_ID, {"id": source_id}).first()
        return _stored(row) if row else None

    def by_name(self, name: str) -> StoredSource | None:
        with self._store.connect() as connection:
            row = connection.execute(_BY_NAME, {"name": name}).first()
        return _stored(row) if row else None

    def url_of(self, source: StoredSource) -> str:
        """The URL in plain text; raises SecretUnreadable when the key is not here."""
        return self._secrets.decrypt(source.secret_url)

    def query_counts(self) -> dict[int, int]:
        """How many queries each source has, by id; a source without any is left out."""
        select = sa.select(queries.c.source_id, sa.func.count()).where(_LIVE_QUERIES)
        with self._store.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(select.group_by(queries.c.source_id))}

    def failing_counts(self) -> dict[int, int]:
        """How many of its queries failed last, by source; a source without any is left out."""
        failing = states.c.last_status.in_(("failed", "timeout"))
        joined = queries.join(states, states.c.query_id == queries.c.id)
        select = sa.select(queries.c.source_id, sa.func.count()).select_from(joined)
        select = select.where(_LIVE_QUERIES, failing).group_by(queries.c.source_id)
        with self._store.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(select)}

    def users(self, source_id: int) -> list[tuple[int, str]]:
        """The first queries that ask a source: their ids and names."""
        select = sa.select(queries.c.id, queries.c.name).where(
            queries.c.source_id == source_id, _LIVE_QUERIES
        )
        with self._store.connect() as connection:
            rows = connection.execute(select.order_by(queries.c.name, queries.c.id).limit(NAMED_AT_MOST))
            return [(row.id, row.name) for row in rows]

    def note_test(self, source_id: int, found: str) -> None:
        """Keeps what came of the last test of a source."""
        update = sa.update(data_sources).where(data_sources.c.id == source_id).values(last_test=found)
        with self._store.begin() as connection:
            connection.execute(update)

    def add(self, source: Source, dialect: str, origin: Origin = Origin.ADMIN) -> StoredSource:
        """A new source with a lane that is free; raises NameTaken."""
        added = self.add_unless_there(source, dialect, origin)
        if added is None:
            raise NameTaken
        return added

    def add_unless_there(self, source: Source, dialect: str, origin: Origin) -> StoredSource | None:
        """The same; None when the name is taken, perhaps by another process a moment ago."""
        now = self._clock.now()
        values = self._values(source, dialect, origin) | {"created_at": now, "updated_at": now}
        insert = self._store.insert(data_sources).values(values)
        insert = insert.on_conflict_do_nothing(index_elements=["name"])
        with self._store.begin() as connection:
            row = connection.execute(insert.returning(data_sources)).first()
            if row is None:
                return None
            connection.execute(sa.insert(lanes).values(source_id=row.id))
        log.info("source_added", source=source.name, dialect=dialect, origin=origin)
        return _stored(row)

    def update(self, source_id: int, source: Source, dialect: str, origin: Origin) -> StoredSource | None:
        """Stores another name or place; queries stay with the source. None: it is gone; or NameTaken."""
        return self._change(source_id, self._values(source, dialect, origin))

    def rename(self, source_id: int, name: str, **pace: int | None) -> StoredSource | None:
        """Stores another name and pace, and leaves its place be; None: it is gone; or NameTaken."""
        return self._change(source_id, {"name": name, **pace})

    def delete(self, source_id: int) -> bool:
        """Takes a source and its lane away; raises SourceInUse while a query needs it."""
        with self._store.begin() as connection:
            row = connection.execute(_BY_ID.with_for_update(), {"id": source_id}).first()
            if row is None:
                return False
            _refuse_in_use(connection, source_id)
            connection.execute(sa.delete(lanes).where(lanes.c.source_id == source_id))
            connection.execute(sa.delete(pauses).where(pauses.c.source_id == source_id))
            connection.execute(sa.delete(data_sources).where(data_sources.c.id == source_id))
        log.info("source_deleted", source=row.name)
        return True

    def forget_url(self, source: StoredSource) -> None:
        """Erases the URL of a source that is no longer in the setting, and says so in its row."""
        values = {"secret_url": "", "origin": Origin.REMOVED, "updated_at": self._after(source.updated_at)}
        with self._store.begin() as connection:
            connection.execute(sa.update(data_sources).where(data_sources.c.id == source.id).values(values))
        log.warning("source_removed_from_setting", source=source.name)

    def is_same(self, stored: StoredSource, source: Source) -> bool:
        """Whether the row already says what the setting says."""
        try:
            is_same_url = self.url_of(stored) == source.url
        except SecretUnreadable:
            return False
        is_same_pace = (stored.pace_s, stored.max_parallel) == (source.pace_s, source.max_parallel)
        is_same_url = is_same_url and stored.accepts_unguarded == source.accepts_unguarded
        return is_same_url and is_same_pace and stored.is_locked

    def _change(self, source_id: int, values: dict[str, Any]) -> StoredSource | None:
        try:
            with self._store.begin() as connection:
                old = connection.execute(_BY_ID.with_for_update(), {"id": source_id}).first()
                row = self._write(connection, old, values) if old else None
        except sa.exc.IntegrityError:
            raise NameTaken from None
        if row is None:
            return None
        log.info("source_changed", source=row.name, dialect=row.dialect, origin=row.origin)
        return _stored(row)

    def _write(self, connection: sa.Connection, old: Row, values: dict[str, Any]) -> Row:
        update = sa.update(data_sources).where(data_sources.c.id == old.id)
        update = update.values(values | {"updated_at": self._after(old.updated_at)})
        row = connection.execute(update.returning(data_sources)).one()
        if old.name != row.name:
            _rename_in_search(connection, old.id, old.name, row.name)
        return row

    def _values(self, source: Source, dialect: str, origin: Origin) -> dict[str, Any]:
        return {
            "name": source.name,
            "dialect": dialect,
            "secret_url": self._secrets.encrypt(source.url),
            "is_unproven_accepted": source.accepts_unguarded,
            "origin": origin,
            "pace_s": source.pace_s,
            "max_parallel": source.max_parallel,
        }

    def _after(self, moment: datetime) -> datetime:
        """Now, and later than `moment` by any clock: other processes see an edit by its new time."""
        return max(self._clock.now(), moment + timedelta(microseconds=1))


def _stored(row: Row) -> StoredSource:
    return StoredSource(
        id=row.id,
        name=row.name,
        dialect=row.dialect,
        secret_url=row.secret_url,
        accepts_unguarded=row.is_unproven_accepted,
        origin=Origin(row.origin),
        pace_s=row.pace_s,
        max_parallel=row.max_parallel,
        last_test=row.last_test,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _refuse_in_use(connection: sa.Connection, source_id: int) -> None:
    users = sa.select(queries.c.name).where(queries.c.source_id == source_id, _LIVE_QUERIES)
    names = connection.scalars(users.order_by(queries.c.name, queries.c.id).limit(NAMED_AT_MOST)).all()
    if names:
        count = sa.select(sa.func.count()).select_from(users.subquery())
        raise SourceInUse(names, connection.execute(count).scalar_one())


def _rename_in_search(connection: sa.Connection, source_id: int, old: str, new: str) -> None:
    """The name of its source stands on a line of its own in what a search for a query looks into."""
    line, instead = (f"\n{name.casefold()}\n" for name in (old, new))
    renamed = sa.func.replace(queries.c.search_text, line, instead)
    connection.execute(sa.update(queries).where(queries.c.source_id == source_id).values(search_text=renamed))
