"""Times in which the schedule started nothing: noted as they begin and end, and looked up afterwards."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import sqlalchemy as sa
from plugbay import Clock, Store, UntilChanged, get_logger

from plugbay_scheduled_query.core.standstill import Standstill, StandstillKind
from plugbay_scheduled_query.repository.rows import Row, store_now
from plugbay_scheduled_query.tables import marks, standstills

ALIVE = "alive"  # in the table of marks: when a server last ticked
STOPPED = "stopped"  # when one stopped; gone with the next tick of another
DOWN_AFTER = timedelta(seconds=75)  # without a tick: there is one each full minute, and it may be late
RESTART = timedelta(seconds=5)  # from a stop to a start that nobody calls an outage
KEPT = timedelta(days=400)  # longer than anybody asks back

_HOLD = (standstills.c.kind == StandstillKind.ALL) & standstills.c.until.is_(None)
_CURRENT = sa.select(standstills).where(_HOLD).order_by(standstills.c.id).limit(1)
_SIGNS = sa.select(marks.c.name, marks.c.at).where(marks.c.name.in_((ALIVE, STOPPED)))

log = get_logger(__name__)


def is_held() -> sa.ColumnElement[bool]:
    """The condition that all queries are paused."""
    return sa.exists().where(_HOLD)


def all_are_paused(store: Store) -> bool:
    """Whether an admin paused all queries, and they have not gone on since."""
    with store.connect() as connection:
        return bool(connection.scalar(sa.select(is_held())))


class Standstills:
    """The table of standstills; the pause of all queries is the one that has no end yet."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known_hold: UntilChanged[Standstill | None] = UntilChanged(store, self._read_hold)

    def hold(self) -> Standstill | None:
        """The pause of all queries, while it lasts; each page asks."""
        hold: Standstill | None = self._known_hold()
        return hold

    def pause_all(self, by: str) -> bool:
        """From now on the schedule starts nothing, on any node; False when that is so already."""
        with self._store.begin() as connection:
            if connection.execute(_CURRENT).first():
                return False
            now = store_now(connection, self._clock)
            connection.execute(sa.insert(standstills).values(kind=StandstillKind.ALL, since=now, by=by))
        log.warning("all_paused", by=by)
        return True

    def resume_all(self, by: str) -> bool:
        """The schedule goes on; False when it was not paused."""
        with self._store.begin() as connection:
            end = {"until": store_now(connection, self._clock), "ended_by": by}
            is_resumed = connection.execute(sa.update(standstills).where(_HOLD).values(end)).rowcount > 0
        if is_resumed:
            log.info("all_resumed", by=by)
        return is_resumed

    def note_alive(self, is_start: bool = False) -> None:
        """Each minute and at each start: notes when no server was at work before."""
        with self._store.begin() as connection:
            now = store_now(connection, self._clock)
            signs = {row.name: row.at for row in connection.execute(_SIGNS)}
            self._mark(connection, ALIVE, now)
            connection.execute(sa.delete(marks).where(marks.c.name == STOPPED))
            since = _down_since(signs, now, is_start)
            if since:
                self._note_down(connection, since, now)

    def note_stop(self) -> None:
        """A server stops: if none ticks until the next one starts, none was at work in between."""
        with self._store.begin() as connection:
            self._mark(connection, STOPPED, store_now(connection, self._clock))

    def _read_hold(self) -> Standstill | None:
        with self._store.connect() as connection:
            row = connection.execute(_CURRENT).first()
        return standstill_of(row) if row else None

    def _mark(self, connection: sa.Connection, name: str, at: datetime) -> None:
        insert = self._store.insert(marks).values(name=name, at=at)
        connection.execute(insert.on_conflict_do_update(index_elements=["name"], set_={"at": at}))

    def _note_down(self, connection: sa.Connection, since: datetime, until: datetime) -> None:
        down = {"kind": StandstillKind.DOWN, "since": since, "until": until}
        connection.execute(sa.delete(standstills).where(standstills.c.until < until - KEPT))
        connection.execute(sa.insert(standstills).values(down))
        log.info("was_down", since=since, until=until)


def _down_since(signs: Mapping[str, datetime], now: datetime, is_start: bool) -> datetime | None:
    if is_start and STOPPED in signs and now - signs[STOPPED] > RESTART:
        return signs[STOPPED]
    return signs[ALIVE] if ALIVE in signs and now - signs[ALIVE] > DOWN_AFTER else None


def begin_at_source(connection: sa.Connection, source_id: int, since: datetime) -> None:
    """A source is paused, unless it was already."""
    if connection.execute(sa.select(standstills.c.id).where(_lasts_at(source_id))).first() is None:
        paused = {"kind": StandstillKind.SOURCE, "source_id": source_id, "since": since}
        connection.execute(sa.insert(standstills).values(paused))


def end_at_source(connection: sa.Connection, source_id: int, until: datetime, by: str | None) -> None:
    """A source goes on."""
    end = {"until": until, "ended_by": by}
    connection.execute(sa.update(standstills).where(_lasts_at(source_id)).values(end))


def standstill_of(row: Row) -> Standstill:
    return Standstill(StandstillKind(row.kind), row.since, row.until, row.by, row.ended_by)


def _lasts_at(source_id: int) -> sa.ColumnElement[bool]:
    of_source = (standstills.c.kind == StandstillKind.SOURCE) & (standstills.c.source_id == source_id)
    return of_source & standstills.c.until.is_(None)
