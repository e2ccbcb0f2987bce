"""The kept executions of a query, oldest first, read in steps and only as far as somebody must look."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from plugbay import Store

from plugbay_scheduled_query.core.model import Status
from plugbay_scheduled_query.tables import history, results, states

STEP = 500  # executions in one read, which keeps no writer waiting


class Reach(StrEnum):
    """How much of each result is read."""

    COUNT = "count"
    BEGINNING = "beginning"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of one execution."""

    at: datetime
    status: Status
    columns: tuple[str, ...]
    text: str
    row_count: int


_NO_ROWS = sa.literal("[]")
_TEXTS: dict[Reach, Any] = {
    Reach.COUNT: _NO_ROWS,
    Reach.BEGINNING: sa.func.coalesce(results.c.preview, results.c.text, _NO_ROWS),
    Reach.WHOLE: sa.func.coalesce(results.c.text, _NO_ROWS),
}
_LAST = sa.select(states.c.last_number).where(states.c.query_id == sa.bindparam("query"))


class Past:
    """Reads what was, without disturbing what is."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def since(self, query_id: int, moment: datetime, most: int, reach: Reach) -> Iterator[Kept]:
        """The newest executions from a moment on, so many at most, the oldest of them first."""
        with self._store.connect() as connection:
            newest: int = connection.scalar(_LAST, {"query": query_id}) or 0
        last, select = newest - most, _select(query_id, moment, reach)
        while last < newest:
            step = select.where(history.c.number > last).order_by(history.c.number).limit(STEP)
            with self._store.connect() as connection:
                rows = connection.execute(step).all()
            for _, at, status, columns, text, count in rows:
                yield Kept(at, Status(status), _columns(columns), text, count or 0)
            if len(rows) < STEP:
                return
            last = rows[-1][0]


def _select(query_id: int, moment: datetime, reach: Reach) -> sa.Select[Any]:
    columns = (history.c.number, history.c.executed_at, history.c.status, results.c.columns)
    return (
        sa.select(*columns, _TEXTS[reach], results.c.row_count)
        .select_from(history.outerjoin(results, results.c.id == history.c.result_id))
        .where(history.c.query_id == query_id, history.c.executed_at >= moment)
    )


@lru_cache(maxsize=16)
def _columns(text: str | None) -> tuple[str, ...]:
    return tuple(json.loads(text)) if text else ()
