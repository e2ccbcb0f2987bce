"""A page of history as the API writes it: plain rows, short results alone, one look at the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from plugbay import Store

from plugbay_scheduled_query.core.model import Status
from plugbay_scheduled_query.core.paging import NumberRange, numbers_of_page
from plugbay_scheduled_query.repository.histories import ALL, HistoryFilter, numbers_within, within
from plugbay_scheduled_query.tables import history, queries, results, states


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
