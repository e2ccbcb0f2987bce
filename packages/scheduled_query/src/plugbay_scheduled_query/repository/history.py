"""Reading history: any page costs what the first does, and totals need no count."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa
from plugbay import Store

from plugbay_scheduled_query.core.model import Execution, Status
from plugbay_scheduled_query.core.paging import NOTHING, NumberRange, Period, numbers_of_page
from plugbay_scheduled_query.repository.rows import Row, execution_of
from plugbay_scheduled_query.tables import history, queries, results, states

ALL = "all"


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


_WITH_TEXT = sa.select(
    history, results.c.text.label("result"), results.c.columns.label("result_key")
).select_from(history.outerjoin(results, results.c.id == history.c.result_id))
_WITH_PREVIEW = sa.select(
    history,
    sa.func.coalesce(results.c.preview, results.c.text).label("result"),
    results.c.columns.label("result_key"),
).select_from(history.outerjoin(results, results.c.id == history.c.result_id))


class Histories:
    """The table of executions."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def page(
        self, query_id: int, wanted: HistoryFilter, page: int, limit: int, whole: bool = True
    ) -> tuple[list[Execution], int]:
        """A page of one query's executions, newest first, and how many there are; `whole` with all rows."""
        select = _WITH_TEXT if whole else _WITH_PREVIEW
        rows, total = self._rows(select, query_id, wanted, page, limit)
        return [execution_of(row) for row in rows], total

    def get(self, execution_id: int) -> Execution | None:
        """One execution with its whole result, unless its query is deleted."""
        visible = sa.exists().where(queries.c.id == history.c.query_id, queries.c.deleted_at.is_(None))
        with self._store.connect() as connection:
            row = connection.execute(_WITH_TEXT.where(history.c.id == execution_id, visible)).first()
        return execution_of(row) if row else None

    def latest(self, query_id: int) -> Execution | None:
        """The execution that was recorded last."""
        found, _ = self.page(query_id, HistoryFilter(), 1, 1)
        return found[0] if found else None

    def _rows(
        self, select: sa.Select[Any], query_id: int, wanted: HistoryFilter, page: int, limit: int
    ) -> tuple[Sequence[Row], int]:
        number = _number(wanted)
        with self._store.connect() as connection:
            live = self._live(connection, query_id, wanted)
            numbers = numbers_of_page(live, page, limit)
            if not numbers:
                return [], len(live)
            select = within(select, query_id, wanted)
            select = select.where(number.between(numbers.lowest, numbers.highest)).order_by(number.desc())
            return connection.execute(select).all(), len(live)

    def _live(self, connection: sa.Connection, query_id: int, wanted: HistoryFilter) -> NumberRange:
        """The dense numbers that the filter leaves: an end of time is found by index, not by counting."""
        name = "number" if wanted.status == ALL else wanted.status
        ends = sa.select(states.c[f"first_{name}"], states.c[f"last_{name}"]).where(
            states.c.query_id == query_id
        )
        row = connection.execute(ends).first()
        live = NumberRange(row[0], row[1]) if row else NOTHING
        return numbers_within(connection, query_id, wanted, live)


def numbers_within(
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
        first, last = connection.execute(within(ends, query_id, wanted)).one()
    return NumberRange(first, last)


def _number(wanted: HistoryFilter) -> sa.Column[int]:
    return history.c.number if wanted.status == ALL else history.c.status_number


def _edge(connection: sa.Connection, query_id: int, wanted: HistoryFilter, newest: bool) -> int | None:
    number = _number(wanted)
    order: Sequence[Any] = (history.c.executed_at, number)
    if newest:
        order = [column.desc() for column in order]
    select = within(sa.select(number), query_id, wanted).order_by(*order).limit(1)
    edge: int | None = connection.scalar(select)
    return edge


def within(select: sa.Select[Any], query_id: int, wanted: HistoryFilter) -> sa.Select[Any]:
    """The same rows, but only those of one query that the filter leaves."""
    select = select.where(history.c.query_id == query_id)
    if wanted.status != ALL:
        select = select.where(history.c.status == wanted.status)
    if wanted.since:
        select = select.where(history.c.executed_at >= wanted.since)
    if wanted.until:
        select = select.where(history.c.executed_at <= wanted.until)
    return select


class HistoryRow(NamedTuple):
    """One execution as it is stored: columns and snapshot are JSON text already."""

    id: int
    executed_at: datetime
    duration_ms: int
    result: str | None
    result_key: str | None
    status: str
    error_message: str | None
    snapshot: str | None
    due_at: datetime | None
    missed: int
    attempt: int
    trigger: str
    triggered_by: str | None
    truncated: bool
    left_out: int | None
    """The id of a result that is too long to be read with the others."""


@dataclass(frozen=True, slots=True)
class HistoryRows:
    """A page, newest first; the query's name, and how many executions there are in all."""

    query_name: str
    total: int
    rows: Sequence[HistoryRow]


def _ends(status: str) -> sa.Select[Any]:
    name = "number" if status == ALL else status
    numbers = (states.c[f"first_{name}"], states.c[f"last_{name}"])
    select = sa.select(queries.c.name, *numbers).join(states, states.c.query_id == queries.c.id)
    return select.where(queries.c.id == sa.bindparam("query"), queries.c.deleted_at.is_(None))


# a result without a preview is short: the others are fetched one at a time, when it is their turn
_IS_SHORT = results.c.preview.is_(None)
_ROWS = sa.select(
    history.c.id,
    history.c.executed_at,
    history.c.duration_ms,
    sa.case((_IS_SHORT, results.c.text)),
    results.c.columns,
    history.c.status,
    history.c.error_message,
    history.c.snapshot,
    history.c.due_at,
    history.c.missed,
    history.c.attempt,
    history.c.trigger,
    history.c.triggered_by,
    history.c.truncated,
    sa.case((~_IS_SHORT, results.c.id)),
).select_from(history.outerjoin(results, results.c.id == history.c.result_id))
_OF_QUERY = _ROWS.where(history.c.query_id == sa.bindparam("query"))


def _numbered(select: sa.Select[Any], number: sa.Column[int]) -> sa.Select[Any]:
    return select.where(number.between(sa.bindparam("lowest"), sa.bindparam("highest"))).order_by(
        number.desc()
    )


# built once: to build them for each request would cost more than to run them
_ENDS = {status: _ends(status) for status in (ALL, *(status.value for status in Status))}
_PAGE = _numbered(_OF_QUERY, history.c.number)
_PAGE_OF_STATUS = _numbered(
    _OF_QUERY.where(history.c.status == sa.bindparam("status")), history.c.status_number
)
_TEXT = sa.select(results.c.text).where(results.c.id == sa.bindparam("id"))


class HistoryReader:
    """Reads pages for the API."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def page(self, query_id: int, wanted: HistoryFilter, page: int, limit: int) -> HistoryRows | None:
        """A page of one query's history; None when there is no such query."""
        with self._store.connect() as connection:
            ends = connection.execute(_ENDS[wanted.status], {"query": query_id}).first()
            if ends is None:
                return None
            live = numbers_within(connection, query_id, wanted, NumberRange(ends[1], ends[2]))
            numbers = numbers_of_page(live, page, limit)
            rows = _read(connection, query_id, wanted, numbers) if numbers else []
        return HistoryRows(ends[0], len(live), rows)

    def text(self, result_id: int) -> str | None:
        """The rows of one result; None when they were pruned meanwhile."""
        with self._store.connect() as connection:
            return connection.scalar(_TEXT, {"id": result_id})


def _read(
    connection: sa.Connection, query_id: int, wanted: HistoryFilter, numbers: NumberRange
) -> list[HistoryRow]:
    select = _PAGE if wanted.status == ALL else _PAGE_OF_STATUS
    if wanted.since or wanted.until:
        # a clock that was set back leaves executions out of order: the numbers alone do not tell
        select = within(select, query_id, wanted)
    values: dict[str, int | str] = {"query": query_id, "lowest": numbers.lowest, "highest": numbers.highest}
    if wanted.status != ALL:
        values["status"] = wanted.status
    return list(map(HistoryRow._make, connection.execute(select, values).all()))
