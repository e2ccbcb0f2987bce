"""How many executions ended how over time, counted once and then kept up with what is new."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any

import sqlalchemy as sa
from plugbay import Clock, Store

from plugbay_scheduled_query.core.model import Status
from plugbay_scheduled_query.tables import history

LIFE = timedelta(minutes=1)  # how long what was pruned, deleted or is too old by now may still be counted


@dataclass(slots=True)
class _Counted:
    """The executions since a moment up to the newest by status and start of the hour (or day)."""

    at: datetime
    since: datetime
    newest: int = 0
    found: Counter[tuple[str, datetime]] = field(default_factory=Counter)


class Activity:
    """Reads a long time once a minute at most, and in between only the executions that came since."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = Lock()
        self._counted: dict[tuple[timedelta, bool], _Counted] = {}

    def by_time(self, length: timedelta, by_day: bool = False) -> dict[str, dict[datetime, int]]:
        """How many executions ended how in each hour (or day): status → start of the hour → count."""
        found: dict[str, dict[datetime, int]] = {}
        with self._lock:
            counted = self._counted[length, by_day] = self._living(length, by_day)
            self._keep_up(counted, by_day)
            for (status, start), count in counted.found.items():
                found.setdefault(status, {})[start] = count
        return found

    def _living(self, length: timedelta, by_day: bool) -> _Counted:
        now, counted = self._clock.now(), self._counted.get((length, by_day))
        if counted and timedelta() <= now - counted.at < LIFE:
            return counted
        return _Counted(now, now - length)

    def _keep_up(self, counted: _Counted, by_day: bool) -> None:
        # grouped by an expression: else SQLite reads all of the index on status, which is in order already
        status, bucket = history.c.status.concat(""), self._bucket(by_day)
        select = sa.select(status, bucket, sa.func.count(), sa.func.max(history.c.id))
        select = select.where(*_uncounted(counted)).group_by(status, bucket)
        with self._store.connect() as connection:
            for status, start, count, newest in connection.execute(select).all():
                counted.found[status, _moment(start)] += count
                counted.newest = max(counted.newest, newest)

    def _bucket(self, by_day: bool) -> sa.ColumnElement[Any]:
        if self._store.dialect == "sqlite":
            return sa.func.substr(history.c.executed_at, 1, 10 if by_day else 13, type_=sa.String)
        step = "day" if by_day else "hour"
        return sa.func.date_trunc(step, history.c.executed_at, "UTC", type_=sa.DateTime(timezone=True))


def _uncounted(counted: _Counted) -> Iterator[sa.ColumnElement[bool]]:
    """At first all of the time, by the index on status and time; then by id what was recorded since."""
    if counted.newest:
        yield history.c.id > counted.newest
        yield sa.case((history.c.executed_at >= counted.since, 1), else_=0) == 1  # no index is on that
    else:
        yield history.c.status.in_([status.value for status in Status])
        yield history.c.executed_at >= counted.since


def _moment(start: Any) -> datetime:
    """SQLite groups by the beginning of the text."""
    if isinstance(start, datetime):
        return start
    text = start if len(start) > 10 else f"{start} 00"
    return datetime.strptime(f"{text}:00", "%Y-%m-%d %H:%M").replace(tzinfo=UTC)


def hours_between(since: datetime, until: datetime, step_s: int) -> Sequence[int]:
    """The starts of all hours (or days) from one moment to another, as Unix time."""
    first = int(since.timestamp()) // step_s * step_s
    return range(first, int(until.timestamp()) + 1, step_s)
