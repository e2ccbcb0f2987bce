"""How the values of some queries went over a time: one read for all of them, whatever their history holds."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from plugbay import Store, UTCDateTime

from plugbay_scheduled_query.core.model import Status
from plugbay_scheduled_query.repository.history import Point
from plugbay_scheduled_query.tables import history

STEPS = 120  # points of a line: as many as a card can show


class Trends:
    """Reads the last success of each step of time, by index: that costs the steps, not what ran in them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def values(self, query_ids: Collection[int], since: datetime, until: datetime) -> dict[int, list[Point]]:
        """The values between two moments, by query, oldest first; at most one for each step."""
        if not query_ids:
            return {}
        columns = (history.c.query_id, history.c.executed_at, history.c.duration_ms, history.c.metric_value)
        chosen = _last_of_each_step(query_ids, since, until)
        select = sa.select(*columns).where(history.c.id.in_(chosen)).order_by(history.c.executed_at)
        found: dict[int, list[Point]] = {}
        with self._store.connect() as connection:
            for query_id, at, duration_ms, value in connection.execute(select):
                found.setdefault(query_id, []).append(Point(at, duration_ms, Status.SUCCESS, value))
        return found


def _last_of_each_step(query_ids: Collection[int], since: datetime, until: datetime) -> sa.Select[Any]:
    length = (until - since) / STEPS
    ends = [(since + n * length, since + (n + 1) * length) for n in range(STEPS)]
    step = sa.values(sa.column("begin", UTCDateTime), sa.column("end", UTCDateTime)).data(ends).cte("steps")
    whose = sa.values(sa.column("id", sa.Integer)).data([(one,) for one in query_ids]).cte("whose")
    last = (
        sa.select(history.c.id)
        .where(history.c.query_id == whose.c.id, history.c.status == Status.SUCCESS.value)
        .where(history.c.executed_at > step.c.begin, history.c.executed_at <= step.c.end)
        .order_by(history.c.executed_at.desc(), history.c.status_number.desc())
        .limit(1)
        .correlate(step, whose)
        .scalar_subquery()
    )
    return sa.select(last).select_from(whose.join(step, sa.true()))
