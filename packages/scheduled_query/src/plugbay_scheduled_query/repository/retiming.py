"""Next times that are no longer right: the setting names another zone, or the clock was wrong."""

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from plugbay import Clock, Store, get_logger

from plugbay_scheduled_query.core.schedule import next_run
from plugbay_scheduled_query.repository.rows import Row, store_now
from plugbay_scheduled_query.tables import marks, queries

MARK = "timezone:"  # in the table of marks, before the zone that all next times go by
STEP = 500  # definitions in one transaction
FAR = timedelta(days=1)  # a time that was claimed so far ahead was claimed by a clock that was wrong

_STEP = (
    sa.select(queries.c.id, queries.c.cron_schedule, queries.c.last_due_at)
    .where(queries.c.id > sa.bindparam("last"), queries.c.timezone.is_(None))
    .where(queries.c.next_run_at > sa.bindparam("now"))  # what is due stays due
    .order_by(queries.c.id)
    .limit(STEP)
    .with_for_update()
)
_MOVE = (
    sa.update(queries).where(queries.c.id == sa.bindparam("b_id")).values(next_run_at=sa.bindparam("b_next"))
)
_CLAIMED_AHEAD = (
    sa.select(queries.c.id, queries.c.name, queries.c.cron_schedule, queries.c.timezone)
    .where(queries.c.last_due_at > sa.bindparam("far"), queries.c.next_run_at.is_not(None))
    .with_for_update()
)
_MEND = (
    sa.update(queries)
    .where(queries.c.id == sa.bindparam("b_id"))
    .values(next_run_at=sa.bindparam("b_next"), last_due_at=None)
)
_IS_MARK = marks.c.name.startswith(MARK, autoescape=True)

log = get_logger(__name__)


class Retiming:
    """Works next times out anew, in whichever process sees first that it must be done."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._latest = clock.now()

    def follow(self, timezone: str) -> None:
        """Brings all next times to the zone of the setting, unless they go by it already."""
        with self._store.connect() as connection:
            known = connection.scalars(sa.select(marks.c.name).where(_IS_MARK)).all()
        if known == [MARK + timezone]:
            return
        if known:
            log.info("schedules_retimed", queries=self._retime(timezone), timezone=timezone)
        self._remember(timezone)

    def mend(self, timezone: str) -> None:
        """Calls back what a clock far ahead of time sent into the future, where it would wait for years."""
        with self._store.begin() as connection:
            now = store_now(connection, self._clock)
            rows = connection.execute(_CLAIMED_AHEAD, {"far": now + FAR}).all()
            for row in rows:
                due = _next(row, row.timezone or timezone, now)
                connection.execute(_MEND, {"b_id": row.id, "b_next": due})
                log.warning("called_back_from_the_future", query=row.name, id=row.id, next_run_at=due)

    def mend_after_set_back(self, timezone: str) -> None:
        """The same, if the clock of this process was set back since the last look."""
        latest, self._latest = self._latest, self._clock.now()
        if self._latest < latest:
            self.mend(timezone)

    def _retime(self, timezone: str) -> int:
        last, count = 0, 0
        while True:
            with self._store.begin() as connection:
                now = store_now(connection, self._clock)
                rows = connection.execute(_STEP, {"last": last, "now": now}).all()
                if rows:
                    connection.execute(_MOVE, [_move(row, timezone, now) for row in rows])
            count += len(rows)
            if len(rows) < STEP:
                return count
            last = rows[-1].id

    def _remember(self, timezone: str) -> None:
        mark = self._store.insert(marks).values(name=MARK + timezone, at=self._clock.now())
        with self._store.begin() as connection:
            connection.execute(sa.delete(marks).where(_IS_MARK))
            connection.execute(mark.on_conflict_do_nothing())


def _move(row: Row, timezone: str, now: datetime) -> dict[str, Any]:
    after = max(now, row.last_due_at or now)
    return {"b_id": row.id, "b_next": _next(row, timezone, after)}


def _next(row: Row, timezone: str, after: datetime) -> datetime:
    """One that cannot be read, as when its zone left the machine, is due: the claim then says so."""
    try:
        return next_run(row.cron_schedule, timezone, after)
    except ValueError:
        return after
