"""Which queries were slow or failed much in a span of time."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from heapq import nlargest
from threading import Lock

import sqlalchemy as sa
from plugbay import Clock, Store

from plugbay_scheduled_query.core.model import Status
from plugbay_scheduled_query.tables import history, queries

LIFE = timedelta(minutes=10)  # how long what was pruned, deleted or is too old by now may still be counted
SPARE = 20  # further ones that are looked at, because some may be deleted


@dataclass(frozen=True, slots=True)
class Standout:
    """A query that stands out, and by how much."""

    query_id: int
    name: str
    amount: int


@dataclass(slots=True)
class _Seen:
    """What the executions from a moment on up to the newest amount to, by query."""

    at: datetime
    since: datetime
    newest: int = 0
    longest: dict[int, int] = field(default_factory=dict)
    failures: Counter[int] = field(default_factory=Counter)


class Standouts:
    """Reads a long time once in ten minutes at most, and in between only the executions that came since."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = Lock()
        self._seen: dict[timedelta, _Seen] = {}

    def slowest(self, length: timedelta, limit: int) -> list[Standout]:
        """Those with the longest executions of late, in milliseconds."""
        return self._first(self._up_to_date(length).longest, limit)

    def most_failing(self, length: timedelta, limit: int) -> list[Standout]:
        """Those with the most failures and timeouts of late."""
        return self._first(self._up_to_date(length).failures, limit)

    def _up_to_date(self, length: timedelta) -> _Seen:
        with self._lock:
            now, seen = self._clock.now(), self._seen.get(length)
            if seen is None or not timedelta() <= now - seen.at < LIFE:
                seen = _Seen(now, now - length)
            self._seen[length] = seen
            self._keep_up(seen)
            return _Seen(seen.at, seen.since, seen.newest, dict(seen.longest), Counter(seen.failures))

    def _keep_up(self, seen: _Seen) -> None:
        failed = sa.func.count().filter(history.c.status != Status.SUCCESS.value)
        columns = (history.c.query_id, sa.func.max(history.c.duration_ms), failed, sa.func.max(history.c.id))
        select = sa.select(*columns).where(*_unseen(seen)).group_by(history.c.query_id)
        with self._store.connect() as connection:
            for query_id, longest, failures, newest in connection.execute(select):
                seen.longest[query_id] = max(longest, seen.longest.get(query_id, 0))
                seen.failures[query_id] += failures
                seen.newest = max(seen.newest, newest)

    def _first(self, amounts: Mapping[int, int], limit: int) -> list[Standout]:
        largest = nlargest(limit + SPARE, amounts, key=lambda one: (amounts[one], -one))
        live = queries.c.id.in_(largest) & queries.c.deleted_at.is_(None)
        with self._store.connect() as connection:
            rows = connection.execute(sa.select(queries.c.id, queries.c.name).where(live))
            names = {row.id: row.name for row in rows}
        found = [Standout(one, names[one], amounts[one]) for one in largest if one in names and amounts[one]]
        return found[:limit]


def _unseen(seen: _Seen) -> Iterator[sa.ColumnElement[bool]]:
    """At first all of the time, by its index; then by id what was recorded since."""
    if seen.newest:
        yield history.c.id > seen.newest
        yield sa.case((history.c.executed_at >= seen.since, 1), else_=0) == 1  # no index is on that
    else:
        yield history.c.executed_at >= seen.since
