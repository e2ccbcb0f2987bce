"""The history of one query: any page costs what the first does, and totals need no count."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

import sqlalchemy as sa
from plugbay import Store, UTCDateTime

from plugbay_scheduled_query.core.model import Execution, Status
from plugbay_scheduled_query.core.paging import NOTHING, NumberRange, Period, numbers_of_page
from plugbay_scheduled_query.repository.rows import Row, execution_of
from plugbay_scheduled_query.tables import history, queries, results, states

ALL = "all"

StoredTime = datetime | str  # SQLite keeps text that begins as the API writes it
Days = dict[date, dict[str, int]]


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Which executions of one query to show; both ends of the time are included."""

    status: str = ALL
    since: datetime | None = None
    until: datetime | None = None

    @classmethod
    def of(cls, status: str, period: Period) -> "HistoryFilter":
        """The filter of a request, whose period ends just before its `until`."""
        last = period.until - timedelta(microseconds=1) if period.until else None
        return cls(status, period.since, last)


class HistoryRow(NamedTuple):
    """One execution as it is stored: columns and snapshot are JSON text already, times are UTC."""

    id: int
    executed_at: StoredTime
    duration_ms: int
    result: str | None
    result_key: str | None
    status: str
    error_message: str | None
    snapshot: str | None
    due_at: StoredTime | None
    missed: int
    attempt: int
    trigger: str
    triggered_by: str | None
    truncated: bool
    left_out: int | None
    """The id of a result that is too long to be read with the others."""


class SnapshotPoint(NamedTuple):
    """What one execution gave the metrics: the sum, or first value, and the first samples."""

    at: datetime
    status: Status
    total: float | None
    snapshot: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class HistoryRows:
    """A page, newest first; the query's name, and how many executions there are in all."""

    query_name: str
    total: int
    rows: Sequence[HistoryRow]


@dataclass(frozen=True, slots=True)
class Point:
    """One execution in a chart; the value is the first number of its result."""

    at: datetime
    duration_ms: int
    status: Status
    value: float | None


class _Page(NamedTuple):
    """A page as it is read, with the query's name and how many executions there are in all."""

    query_name: str
    total: int
    rows: Sequence[Row]


class _Selects(NamedTuple):
    """What reads a page of all executions, and one of those that ended in one way."""

    of_all: sa.Select[Any]
    of_status: sa.Select[Any]


def _ends(status: str) -> sa.Select[Any]:
    name = "number" if status == ALL else status
    numbers = (states.c[f"first_{name}"], states.c[f"last_{name}"])
    select = sa.select(queries.c.name, *numbers).join(states, states.c.query_id == queries.c.id)
    return select.where(queries.c.id == sa.bindparam("query"), queries.c.deleted_at.is_(None))


def _selects(*columns: Any) -> _Selects:
    of_query = (
        sa.select(*columns)
        .select_from(history.outerjoin(results, results.c.id == history.c.result_id))
        .where(history.c.query_id == sa.bindparam("query"))
    )
    of_status = of_query.where(history.c.status == sa.bindparam("status"))
    return _Selects(_numbered(of_query, history.c.number), _numbered(of_status, history.c.status_number))


def _numbered(select: sa.Select[Any], number: sa.Column[int]) -> sa.Select[Any]:
    between = number.between(sa.bindparam("lowest"), sa.bindparam("highest"))
    return select.where(between).order_by(number.desc())


# built once: to build them for each request would cost more than to run them
_ENDS = {status: _ends(status) for status in (ALL, *(status.value for status in Status))}
_COLUMNS = results.c.columns.label("result_key")
_WHOLE = _selects(history, results.c.text.label("result"), _COLUMNS)
_PREVIEWS = _selects(
    history,
    sa.func.coalesce(results.c.preview, results.c.text).label("result"),
    results.c.row_count,
    _COLUMNS,
)
# a result without a preview is short: the others are fetched one at a time, when it is their turn
_IS_SHORT = results.c.preview.is_(None)
_STORED = _selects(
    history.c.id,
    sa.type_coerce(history.c.executed_at, sa.String),
    history.c.duration_ms,
    sa.case((_IS_SHORT, results.c.text)),
    results.c.columns,
    history.c.status,
    history.c.error_message,
    history.c.snapshot,
    sa.type_coerce(history.c.due_at, sa.String),
    history.c.missed,
    history.c.attempt,
    history.c.trigger,
    history.c.triggered_by,
    history.c.truncated,
    sa.case((~_IS_SHORT, results.c.id)),
)
_ONE = (
    sa.select(history, results.c.text.label("result"), _COLUMNS)
    .select_from(
        history.join(queries, queries.c.id == history.c.query_id).outerjoin(
            results, results.c.id == history.c.result_id
        )
    )
    .where(history.c.id == sa.bindparam("id"), queries.c.deleted_at.is_(None))
)
_TEXT = sa.select(results.c.text).where(results.c.id == sa.bindparam("id"))


class Histories:
    """Reads the executions of a query: as values, as stored text for the API, and as points of charts."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def page(
        self, query_id: int, wanted: HistoryFilter, page: int, limit: int, whole: bool = True
    ) -> tuple[list[Execution], int]:
        """A page of one query's executions, newest first, and how many there are; `whole` with all rows."""
        found = self._page(_WHOLE if whole else _PREVIEWS, query_id, wanted, page, limit)
        return ([execution_of(row) for row in found.rows], found.total) if found else ([], 0)

    def stored_page(self, query_id: int, wanted: HistoryFilter, page: int, limit: int) -> HistoryRows | None:
        """The same for the API, which writes text as it is stored; None when there is no such query."""
        found = self._page(_STORED, query_id, wanted, page, limit)
        return found and HistoryRows(found.query_name, found.total, list(map(HistoryRow._make, found.rows)))

    def cut_at(self, query_id: int) -> datetime | None:
        """When the quota of bytes last took executions of a query away; None: not lately."""
        select = sa.select(states.c.cut_at).where(states.c.query_id == query_id)
        with self._store.connect() as connection:
            return connection.scalar(select)

    def text(self, result_id: int) -> str | None:
        """The rows of one result; None when they were pruned meanwhile."""
        with self._store.connect() as connection:
            return connection.scalar(_TEXT, {"id": result_id})

    def get(self, execution_id: int) -> Execution | None:
        """One execution with its whole result, unless its query is deleted."""
        with self._store.connect() as connection:
            row = connection.execute(_ONE, {"id": execution_id}).first()
        return execution_of(row) if row else None

    def latest(self, query_id: int) -> Execution | None:
        """The execution that was recorded last."""
        found, _ = self.page(query_id, HistoryFilter(), 1, 1)
        return found[0] if found else None

    def points(self, query_id: int, limit: int) -> list[Point]:
        """The last executions of a query, oldest first."""
        columns = (history.c.executed_at, history.c.duration_ms, history.c.status, history.c.metric_value)
        select = sa.select(*columns).where(history.c.query_id == query_id).order_by(history.c.number.desc())
        rows = self._all(select.limit(limit))
        return [Point(at, took, Status(status), value) for at, took, status, value in reversed(rows)]

    def snapshots(self, query_id: int, limit: int) -> list[SnapshotPoint]:
        """The samples of the last executions of a query, newest first."""
        columns = (history.c.executed_at, history.c.status, history.c.metric_value, history.c.snapshot)
        select = sa.select(*columns).where(history.c.query_id == query_id).order_by(history.c.number.desc())
        return [
            SnapshotPoint(at, Status(status), total, json.loads(text) if text else None)
            for at, status, total, text in self._all(select.limit(limit))
        ]

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

    def _page(
        self, selects: _Selects, query_id: int, wanted: HistoryFilter, page: int, limit: int
    ) -> _Page | None:
        with self._store.connect() as connection:
            ends = connection.execute(_ENDS[wanted.status], {"query": query_id}).first()
            if ends is None:
                return None
            live = _numbers_within(connection, query_id, wanted, NumberRange(ends[1], ends[2]))
            numbers = numbers_of_page(live, page, limit)
            rows = _read(connection, selects, query_id, wanted, numbers) if numbers else []
        return _Page(ends[0], len(live), rows)

    def _all(self, select: sa.Select[Any]) -> list[Any]:
        with self._store.connect() as connection:
            return list(connection.execute(select))


def _read(
    connection: sa.Connection,
    selects: _Selects,
    query_id: int,
    wanted: HistoryFilter,
    numbers: NumberRange,
) -> Sequence[Row]:
    select = selects.of_all if wanted.status == ALL else selects.of_status
    if wanted.since or wanted.until:
        # a clock that was set back leaves executions out of order: the numbers alone do not tell
        select = _within(select, query_id, wanted)
    values: dict[str, int | str] = {"query": query_id, "lowest": numbers.lowest, "highest": numbers.highest}
    if wanted.status != ALL:
        values["status"] = wanted.status
    return connection.execute(select, values).all()


def _numbers_within(
    connection: sa.Connection, query_id: int, wanted: HistoryFilter, live: NumberRange
) -> NumberRange:
    """Of the live numbers those whose executions lie in the wanted time; its ends are found by index."""
    if not live or not (wanted.since or wanted.until):
        return live
    first = _edge(connection, query_id, wanted, newest=False)
    last = _edge(connection, query_id, wanted, newest=True)
    if first is None or last is None:
        return NOTHING
    if first > last:  # the clock was set back in between: time alone does not find the ends
        number = _number(wanted)
        ends: Any = sa.select(sa.func.min(number), sa.func.max(number))
        first, last = connection.execute(_within(ends, query_id, wanted)).one()
    return NumberRange(first, last)


def _number(wanted: HistoryFilter) -> sa.Column[int]:
    return history.c.number if wanted.status == ALL else history.c.status_number


def _edge(connection: sa.Connection, query_id: int, wanted: HistoryFilter, newest: bool) -> int | None:
    number = _number(wanted)
    order: Sequence[Any] = (history.c.executed_at, number)
    if newest:
        order = [column.desc() for column in order]
    select = _within(sa.select(number), query_id, wanted).order_by(*order).limit(1)
    edge: int | None = connection.scalar(select)
    return edge


def _within(select: sa.Select[Any], query_id: int, wanted: HistoryFilter) -> sa.Select[Any]:
    """The same rows, but only those of one query that the filter leaves."""
    select = select.where(history.c.query_id == query_id)
    if wanted.status != ALL:
        select = select.where(history.c.status == wanted.status)
    if wanted.since:
        select = select.where(history.c.executed_at >= wanted.since)
    if wanted.until:
        select = select.where(history.c.executed_at <= wanted.until)
    return select
