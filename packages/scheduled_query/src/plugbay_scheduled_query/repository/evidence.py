"""What is kept about a time of a query, and what goes on at its source now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from plugbay import Clock, Store

from plugbay_scheduled_query.core.capacity import Pace
from plugbay_scheduled_query.core.model import Execution, Trigger
from plugbay_scheduled_query.core.standstill import Standstill
from plugbay_scheduled_query.core.waiting import SourceState
from plugbay_scheduled_query.core.why import MINUTE, LiveRun, Switch
from plugbay_scheduled_query.repository.rows import execution_of, store_now
from plugbay_scheduled_query.repository.standstills import standstill_of
from plugbay_scheduled_query.tables import data_sources, history, lanes, queries, runs, standstills, switches

LAST_MINUTE = datetime.max.replace(tzinfo=UTC) - 2 * MINUTE  # of the calendar

_OF_QUERY = history.c.query_id == sa.bindparam("query")
_SLOT: sa.BindParameter[datetime] = sa.bindparam("slot")
_DUE_THEN = sa.select(history).where(_OF_QUERY, history.c.due_at == _SLOT)
_BEGUN_THEN = (
    sa.select(history)
    .where(_OF_QUERY, history.c.executed_at >= _SLOT, history.c.executed_at < sa.bindparam("end"))
    .order_by(history.c.executed_at)
    .limit(1)
)
_BEFORE = (
    sa.select(history).where(_OF_QUERY, history.c.due_at < _SLOT).order_by(history.c.due_at.desc()).limit(1)
)
_LATEST = sa.select(history).where(_OF_QUERY).order_by(history.c.number.desc()).limit(1)
_RUN = sa.select(runs.c.claimed_at, runs.c.due_at).where(runs.c.query_id == sa.bindparam("query"))
_SWITCHES = (
    sa.select(switches.c.at, switches.c.enabled, switches.c.by)
    .where(switches.c.query_id == sa.bindparam("query"))
    .order_by(switches.c.at, switches.c.id)
)
_SOURCE_OF_QUERY = (
    sa.select(queries.c.source_id).where(queries.c.id == sa.bindparam("query")).scalar_subquery()
)
_STANDSTILLS = (
    sa.select(standstills)
    .where(standstills.c.since < sa.bindparam("until"))
    .where(sa.or_(standstills.c.until.is_(None), standstills.c.until > sa.bindparam("since")))
    .where(sa.or_(standstills.c.source_id.is_(None), standstills.c.source_id == _SOURCE_OF_QUERY))
    .order_by(standstills.c.since.desc(), standstills.c.id.desc())
)
_OTHERS = runs.alias("others")
_UNDER_WAY = (
    sa.select(sa.func.count())
    .where(_OTHERS.c.source_id == data_sources.c.id, _OTHERS.c.trigger == Trigger.SCHEDULE.value)
    .scalar_subquery()
)
_SOURCES = (
    sa.select(
        data_sources.c.name,
        data_sources.c.pace_s,
        data_sources.c.max_parallel,
        lanes.c.ended_at,
        queries.c.name.label("runs_now"),
        _UNDER_WAY.label("under_way"),
    )
    .select_from(
        data_sources.join(lanes, lanes.c.source_id == data_sources.c.id)
        .outerjoin(runs, runs.c.id == lanes.c.run_id)
        .outerjoin(queries, queries.c.id == runs.c.query_id)
    )
    .where(data_sources.c.name.in_(sa.bindparam("names", expanding=True)))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the store has about a time of a query."""

    now: datetime
    due_then: Execution | None
    begun_then: Execution | None
    before: Execution | None
    earlier: Execution | None
    run: LiveRun | None
    standstills: Sequence[Standstill]
    switches: Sequence[Switch]


class Evidence:
    """Reads it, each bit by an index."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def around(self, query_id: int, slot: datetime) -> Found:
        """All about the minute that begins then."""
        end = min(slot, LAST_MINUTE) + MINUTE
        key = {"query": query_id, "slot": slot, "end": end}
        with self._store.connect() as connection:
            due_then, begun_then, before = (
                _execution(connection, select, key) for select in (_DUE_THEN, _BEGUN_THEN, _BEFORE)
            )
            earlier = before and _execution(connection, _BEFORE, key | {"slot": before.due_at})
            run = connection.execute(_RUN, key).first()
            ends = [one.executed_at for one in (due_then, before) if one] + [end]
            times = {"query": query_id, "since": slot - _reach(before, slot), "until": max(ends)}
            return Found(
                now=store_now(connection, self._clock),
                due_then=due_then,
                begun_then=begun_then,
                before=before,
                earlier=earlier,
                run=LiveRun(*run) if run else None,
                standstills=[standstill_of(row) for row in connection.execute(_STANDSTILLS, times)],
                switches=[Switch(*row) for row in connection.execute(_SWITCHES, key)],
            )

    def latest(self, query_id: int) -> Execution | None:
        """The execution that was recorded last, without its result."""
        with self._store.connect() as connection:
            return _execution(connection, _LATEST, {"query": query_id})

    def sources(self, names: Sequence[str], usual: Pace) -> tuple[datetime, Mapping[str, SourceState]]:
        """What goes on at some sources, by name, and when that was."""
        with self._store.connect() as connection:
            rows = connection.execute(_SOURCES, {"names": list(names)}).all()
            now = store_now(connection, self._clock)
        return now, {
            row.name: SourceState(
                usual.with_own(row.pace_s, row.max_parallel), row.runs_now, row.ended_at, row.under_way
            )
            for row in rows
        }


def _execution(connection: sa.Connection, select: sa.Select[Any], key: Mapping[str, Any]) -> Execution | None:
    row = connection.execute(select, key).first()
    return execution_of(row) if row else None


def _reach(before: Execution | None, slot: datetime) -> timedelta:
    """How far back a standstill counts: to the time of the run that stands for this one."""
    return slot - before.due_at if before and before.due_at and before.executed_at >= slot else timedelta()
