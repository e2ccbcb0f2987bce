"""What pages show beside a definition: its run, its latest result, and how it went lately."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

import sqlalchemy as sa
from plugbay import Store, UTCDateTime

from plugbay_scheduled_query.core.model import Status
from plugbay_scheduled_query.tables import history, queries, results, runs, states

Days = dict[date, dict[str, int]]


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A run that has not ended yet."""

    since: datetime
    trigger: str
    by: str | None


@dataclass(frozen=True, slots=True)
class NextDue:
    """A query and when it runs."""

    query_id: int
    name: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Latest:
    """The last good result of a query, as much of it as a page shows."""

    columns: tuple[str, ...]
    text: str
    row_count: int
    is_whole: bool
    at: datetime


@dataclass(frozen=True, slots=True)
class Point:
    """One execution in a chart; the value is the first number of its result."""

    at: datetime
    duration_ms: int
    status: Status
    value: float | None


class Summaries:
    """Small reads by index, a handful for a page of any size."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def under_way(self, query_ids: Collection[int]) -> dict[int, UnderWay]:
        """The runs of some queries, by query."""
        if not query_ids:
            return {}
        columns = (runs.c.query_id, runs.c.claimed_at, runs.c.trigger, runs.c.triggered_by)
        rows = self._all(sa.select(*columns).where(runs.c.query_id.in_(query_ids)))
        return {query_id: UnderWay(*rest) for query_id, *rest in rows}

    def running(self) -> int:
        """How many runs are under way."""
        with self._store.connect() as connection:
            return connection.scalar(sa.select(sa.func.count()).select_from(runs)) or 0

    def next_due(self) -> NextDue | None:
        """The query that is due next, or has been for longest."""
        columns = (queries.c.id, queries.c.name, queries.c.next_run_at)
        ordered = (
            sa.select(*columns).where(queries.c.next_run_at.is_not(None)).order_by(queries.c.next_run_at)
        )
        row = next(iter(self._all(ordered.limit(1))), None)
        return NextDue(*row) if row else None

    def latest(self, query_ids: Collection[int]) -> dict[int, Latest]:
        """The last good results of some queries, by query."""
        shown = sa.func.coalesce(results.c.preview, results.c.text)
        columns = (
            states.c.query_id,
            results.c.columns,
            shown,
            results.c.row_count,
            results.c.preview.is_(None),
        )
        select = (
            sa.select(*columns, states.c.last_success_at)
            .select_from(states.join(results, results.c.id == states.c.last_result_id))
            .where(states.c.query_id.in_(query_ids))
        )
        return {
            query_id: Latest(tuple(json.loads(names)), text, count, bool(whole), at)
            for query_id, names, text, count, whole, at in self._all(select)
        }

    def points(self, query_id: int, limit: int) -> list[Point]:
        """The last executions of a query, oldest first."""
        columns = (history.c.executed_at, history.c.duration_ms, history.c.status, history.c.metric_value)
        select = sa.select(*columns).where(history.c.query_id == query_id).order_by(history.c.number.desc())
        rows = self._all(select.limit(limit))
        return [Point(at, took, Status(status), value) for at, took, status, value in reversed(rows)]

    def days(self, query_id: int, since: date, until: date) -> Days:
        """How many executions of a query ended how on each day (UTC).

        The dense numbers are looked up where each day begins: that costs the days, not what ran on them.
        """
        days = [since + timedelta(days=n) for n in range((until - since).days + 2)]
        firsts = {status.value: self._firsts(query_id, status.value, days) for status in Status}
        found: Days = {}
        for status, numbers in firsts.items():
            for day, (first, following) in zip(days, pairwise(numbers), strict=False):
                if following > first:
                    found.setdefault(day, {})[status] = following - first
        return found

    def _firsts(self, query_id: int, status: str, days: list[date]) -> list[int]:
        """For each day the number of the first execution from its beginning on; after the last, the next."""
        begins = [datetime.combine(day, datetime.min.time(), UTC) for day in days]
        day = sa.values(sa.column("at", UTCDateTime)).data([(at,) for at in begins]).cte("days")
        number = (
            sa.select(history.c.status_number)
            .where(history.c.query_id == query_id, history.c.status == status)
            .where(history.c.executed_at >= day.c.at)
            .order_by(history.c.executed_at, history.c.status_number)
            .limit(1)
            .scalar_subquery()
        )
        past = (
            sa.select(states.c[f"last_{status}"] + 1).where(states.c.query_id == query_id).scalar_subquery()
        )
        rows = self._all(sa.select(sa.func.coalesce(number, past, 0)).select_from(day).order_by(day.c.at))
        return [first for (first,) in rows]

    def _all(self, select: sa.Select[Any]) -> list[Any]:
        with self._store.connect() as connection:
            return list(connection.execute(select))
