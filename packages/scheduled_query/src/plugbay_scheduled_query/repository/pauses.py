"""Sources at which nothing may start, because a server there did not end a session when it was told to."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from plugbay import Store

from plugbay_scheduled_query.core.text import as_sentence, format_utc, quoted
from plugbay_scheduled_query.repository.standstills import begin_at_source, end_at_source
from plugbay_scheduled_query.tables import data_sources, pauses

NOTHING_STARTS = "nothing starts there until it is gone (looked at each minute), or an admin resumes it"

_BY_SOURCE = (
    sa.select(pauses, data_sources.c.name)
    .join(data_sources, data_sources.c.id == pauses.c.source_id)
    .order_by(pauses.c.since, pauses.c.id)
)


@dataclass(frozen=True, slots=True)
class StuckSession:
    """A session that goes on in its server though the run is over; `title` says what it was about."""

    source_id: int
    mark: str
    title: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Pause:
    """A source that is paused, and the sessions that it waits for, the oldest first."""

    source: str
    sessions: tuple[StuckSession, ...]

    @property
    def since(self) -> datetime:
        return self.sessions[0].since

    @property
    def reason(self) -> str:
        """What is stuck, since when, and what will happen, in a sentence."""
        more = f" (and {len(self.sessions) - 1} more)" if len(self.sessions) > 1 else ""
        return (
            f"the data source {quoted(self.source)} is paused: its server has not ended the session of"
            f" {quoted(self.sessions[0].title)}{more} since {format_utc(self.since)} UTC; {NOTHING_STARTS}"
        )

    @property
    def sentence(self) -> str:
        """The same, to stand alone."""
        return as_sentence(self.reason)


def is_paused(source_id: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    """The condition that a source is paused."""
    return sa.exists().where(pauses.c.source_id == source_id)


def paused_sources(store: Store) -> dict[str, bool]:
    """Every source by its name, and whether it is paused."""
    with store.connect() as connection:
        return {name: bool(paused) for name, paused in connection.execute(_WHETHER_PAUSED)}


_WHETHER_PAUSED = sa.select(data_sources.c.name, is_paused(data_sources.c.id)).order_by(data_sources.c.name)


class Pauses:
    """The table of stuck sessions."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def by_source(self) -> Mapping[int, Pause]:
        """Every paused source, by its number."""
        found: dict[int, Pause] = {}
        with self._store.connect() as connection:
            rows = connection.execute(_BY_SOURCE).all()
        for row in rows:
            session = StuckSession(row.source_id, row.mark, row.title, row.since)
            before = found[row.source_id].sessions if row.source_id in found else ()
            found[row.source_id] = Pause(row.name, (*before, session))
        return found

    def add(self, session: StuckSession) -> bool:
        """Pauses the source of a session; whether that was new. A source that is gone needs no pause."""
        values = {name: getattr(session, name) for name in session.__slots__}
        insert = self._store.insert(pauses).values(values).on_conflict_do_nothing()
        with self._store.begin() as connection:
            source = sa.select(data_sources.c.id).where(data_sources.c.id == session.source_id)
            if connection.scalar(source.with_for_update(read=True)) is None:
                return False
            is_new = connection.scalar(insert.returning(pauses.c.id)) is not None
            if is_new:
                begin_at_source(connection, session.source_id, session.since)
            return is_new

    def remove(self, source_id: int, at: datetime, mark: str | None = None, by: str | None = None) -> bool:
        """Forgets one session of a source, or all of them; whether the source goes on by that."""
        of_source = pauses.c.source_id == source_id
        gone = of_source if mark is None else of_source & (pauses.c.mark == mark)
        with self._store.begin() as connection:
            count = connection.execute(sa.delete(pauses).where(gone)).rowcount
            left = connection.scalar(sa.select(pauses.c.id).where(of_source).limit(1))
            if left is None:
                end_at_source(connection, source_id, at, by)
            return count > 0 and left is None
