"""Claiming what is due: exactly once, oldest first, no more than can start now."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from plugbay import Clock, Store, get_logger

from plugbay_scheduled_query.core.model import Run, Trigger
from plugbay_scheduled_query.core.schedule import Advance, advance
from plugbay_scheduled_query.repository.bulk import Bulk, take_ids
from plugbay_scheduled_query.repository.pauses import is_paused
from plugbay_scheduled_query.repository.rows import DEFINITION_OF_RUN, Row, run_of, store_now
from plugbay_scheduled_query.repository.standstills import all_are_paused, is_held
from plugbay_scheduled_query.repository.takeover import LEASE, NOBODY, HandOver
from plugbay_scheduled_query.tables import data_sources, lanes, queries, runs

AHEAD = timedelta(minutes=1)  # no clock is wrong by so much in one transaction
NOTHING: Mapping[int, int] = MappingProxyType({})
LOOK_AGAIN = timedelta(hours=1)  # after which a schedule that cannot be read is tried once more

_DEFINITION = (
    queries.c.id.label("query_id"),
    queries.c.source_id,
    *DEFINITION_OF_RUN,
    queries.c.cron_schedule,
    queries.c.timezone,
    queries.c.next_run_at,
)
_NO_LIVE_RUN = ~sa.exists().where(runs.c.query_id == queries.c.id)
# a clock that was set back cannot bring a claimed time a second time
_NEVER_CLAIMED = sa.or_(queries.c.last_due_at.is_(None), queries.c.next_run_at > queries.c.last_due_at)
_DUE = (
    sa.select(*_DEFINITION)
    .where(queries.c.next_run_at <= sa.bindparam("now"), _NO_LIVE_RUN, _NEVER_CLAIMED)
    .where(~is_paused(queries.c.source_id), ~is_held())
    .order_by(queries.c.next_run_at, queries.c.id)
    .limit(sa.bindparam("most"))
    .with_for_update(skip_locked=True, of=queries)
)
_DUE_IN_SOURCE = _DUE.where(queries.c.source_id == sa.bindparam("source"))
# asked by the claim itself: between a look and a claim a minute may turn, or an admin give a source a pace
_NO_PACE = ~sa.exists().where(
    data_sources.c.id == queries.c.source_id,
    sa.func.coalesce(data_sources.c.pace_s, sa.bindparam("interval")) > 0,
)
_DUE_UNPACED = _DUE.where(_NO_PACE)
_DUE_UNPACED_IN_SOURCE = _DUE_IN_SOURCE.where(_NO_PACE)
_HAS_DUE = sa.exists().where(
    queries.c.source_id == lanes.c.source_id, queries.c.next_run_at <= sa.bindparam("now")
) & ~is_paused(lanes.c.source_id)
_WITH_DUE = (
    sa.select(lanes, data_sources.c.pace_s, data_sources.c.max_parallel)
    .join(data_sources, data_sources.c.id == lanes.c.source_id)
    .where(_HAS_DUE, ~is_held())
)
_IS_PACED = sa.func.coalesce(data_sources.c.pace_s, sa.bindparam("interval")) > 0
_FREE_LANES = _WITH_DUE.where(lanes.c.run_id.is_(None), _IS_PACED)
_DUE_TIMES = (
    sa.select(queries.c.next_run_at, queries.c.source_id)
    .where(queries.c.source_id == sa.bindparam("source"), queries.c.next_run_at <= sa.bindparam("now"))
    .where(_NO_LIVE_RUN, _NEVER_CLAIMED)
    .order_by(queries.c.next_run_at)
    .limit(sa.bindparam("most"))
)
_MOVE_ON = Bulk(
    sa.update(queries)
    .where(queries.c.id == sa.bindparam("b_id"))
    .values(last_due_at=sa.bindparam("b_due"), next_run_at=sa.bindparam("b_next"))
)
_TAKE_LANE = (
    sa.update(lanes).where(lanes.c.source_id == sa.bindparam("b_source")).values(run_id=sa.bindparam("b_run"))
)


_BACKLOG = (
    sa.select(queries.c.source_id, sa.func.count().label("waiting"), sa.func.min(queries.c.next_run_at))
    .where(queries.c.next_run_at <= sa.bindparam("now"))
    .group_by(queries.c.source_id)
)
_LANES = sa.select(lanes, data_sources.c.name, data_sources.c.pace_s).join(
    data_sources, data_sources.c.id == lanes.c.source_id
)
_HELD = (
    sa.select(runs.c.source_id, sa.func.count().label("held"))
    .where(runs.c.trigger == Trigger.SCHEDULE.value)
    .group_by(runs.c.source_id)
)

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Lane:
    """The pacing of one source: who runs there, when the last one ended, and how many are due there."""

    source: str
    run_id: int | None
    ended_at: datetime | None
    pace_s: int | None = None
    waiting: int = 0
    oldest: datetime | None = None

    def is_busy(self, now: datetime, interval_s: int) -> bool:
        """Whether something runs there, or the last run ended too short a time ago."""
        rested = now - timedelta(seconds=interval_s if self.pace_s is None else self.pace_s)
        return self.run_id is not None or (self.ended_at is not None and self.ended_at > rested)


@dataclass(frozen=True, slots=True)
class DueSource:
    """A source in which something is due, and what it says about its pace, if anything."""

    source_id: int
    pace_s: int | None
    max_parallel: int | None


def lanes_of(store: Store, now: datetime) -> list[Lane]:
    """Every lane, with what waits for it."""
    with store.connect() as connection:
        due = {source_id: rest for source_id, *rest in connection.execute(_BACKLOG, {"now": now})}
        found = connection.execute(_LANES).all()
    return [
        Lane(row.name, row.run_id, row.ended_at, row.pace_s, *due.get(row.source_id, ())) for row in found
    ]


class Claims:
    """Takes runs out of the table of definitions, which is the backlog."""

    def __init__(self, store: Store, clock: Clock, node: str, hand_over: HandOver | None = None) -> None:
        self._store = store
        self._clock = clock
        self._node = node
        self._hand_over = hand_over  # to whoever will execute it, in the transaction of the claim
        self._insert_runs = Bulk(
            store.insert(runs)
            .values(
                {column.name: sa.bindparam(column.name) for column in runs.c if column.name != "cancelled_by"}
            )
            .on_conflict_do_nothing(index_elements=["query_id"])
        )

    def due_sources(self) -> list[DueSource]:
        """The sources in which anything is due now; asked without taking the write lock."""
        with self._store.connect() as connection:
            rows = connection.execute(_WITH_DUE, {"now": store_now(connection, self._clock)}).all()
        return [DueSource(row.source_id, row.pace_s, row.max_parallel) for row in rows]

    def is_held(self) -> bool:
        """Whether an admin paused all queries."""
        return all_are_paused(self._store)

    def claim_paced(self, timezone: str, interval_s: int) -> list[Run]:
        """At most one run for each source whose lane is free; the lane is theirs until they are recorded.

        A source without a pace of its own goes by `interval_s`; where that is 0, by none.
        """
        with self._store.begin() as connection:
            now = store_now(connection, self._clock)
            locked = _FREE_LANES.with_for_update(skip_locked=True, of=lanes)
            due: list[Row] = []
            for lane in connection.execute(locked, {"now": now, "interval": interval_s}).all():
                if _rest_s(lane, now, interval_s) is None:
                    wanted = {"now": now, "most": 1, "source": lane.source_id}
                    due += connection.execute(_DUE_IN_SOURCE, wanted).all()
            claimed = self._take(connection, due, now, timezone)
            if claimed:
                taken = [{"b_source": run.source_id, "b_run": run.id} for run in claimed]
                connection.execute(_TAKE_LANE, taken)
            return claimed

    def claim_batch(
        self,
        most: int,
        timezone: str,
        least: Mapping[int, int] = NOTHING,
        held: Mapping[int, int] = NOTHING,
        only_these: bool = False,
        interval_s: int = 0,
    ) -> list[Run]:
        """Up to `most` runs of sources without a pace; of each until so many are held as `least` says.

        With `only_these` no other sources than those of `least` are looked at, since what waits in others
        may be much. A source without a pace of its own goes by `interval_s`.
        """
        with self._store.begin() as connection:
            now = store_now(connection, self._clock)
            wanted: dict[str, Any] = {"now": now, "interval": interval_s}
            if only_these:
                due = self._oldest(connection, wanted, max(most, 0), least)
            else:
                due = list(connection.execute(_DUE_UNPACED, wanted | {"most": max(most, 0)}).all())
            if only_these or len(due) >= most:  # else that was all
                due += self._left_out(connection, wanted, due, least, held)
            return self._take(connection, due, now, timezone)

    def held(self) -> Counter[int]:
        """How many scheduled runs are under way by source, wherever they are."""
        with self._store.connect() as connection:
            return Counter({row.source_id: row.held for row in connection.execute(_HELD)})

    def sources(self) -> dict[int, tuple[int | None, int | None]]:
        """All sources that may have something to do, with a pace and max_parallel of their own, if any."""
        select = sa.select(data_sources.c.id, data_sources.c.pace_s, data_sources.c.max_parallel)
        with self._store.connect() as connection:
            rows = connection.execute(select.order_by(data_sources.c.id))
            return {row.id: (row.pace_s, row.max_parallel) for row in rows}

    def queued(self) -> set[int]:
        """The queries whose runs no node has begun yet."""
        with self._store.connect() as connection:
            return set(connection.scalars(sa.select(runs.c.query_id).where(runs.c.node == NOBODY)))

    def rest_s(self, interval_s: int) -> float | None:
        """In how many seconds a lane has rested that something waits for; None: there is none."""
        with self._store.connect() as connection:
            now = store_now(connection, self._clock)
            free = connection.execute(_FREE_LANES, {"now": now, "interval": interval_s}).all()
        rests = [rest_s for lane in free if (rest_s := _rest_s(lane, now, interval_s)) is not None]
        return min(rests, default=None)

    def start_now(self, query_id: int, by: str) -> tuple[Run | None, int | None]:
        """A new manual run; or, when one is under way, the id of that; or neither for an unknown query."""
        definition = sa.select(*_DEFINITION).where(queries.c.id == query_id, queries.c.deleted_at.is_(None))
        definition = definition.with_for_update(read=True)  # who deletes it waits, and then sees its run
        with self._store.begin() as connection:
            row = connection.execute(definition).first()
            if row is None:
                return None, None
            now = store_now(connection, self._clock)
            values = self._run_values(row, now, Trigger.MANUAL, by=by)
            insert = (
                self._store.insert(runs).values(values).on_conflict_do_nothing(index_elements=["query_id"])
            )
            run_id = connection.scalar(insert.returning(runs.c.id))
            if run_id is None:
                live = sa.select(runs.c.id).where(runs.c.query_id == query_id)
                return None, connection.scalar(live)
            [run] = self._handed_over(connection, [run_of(row, values | {"id": run_id})])
            return run, None

    def _oldest(
        self, connection: sa.Connection, wanted: dict[str, Any], most: int, sources: Iterable[int]
    ) -> list[Row]:
        """The oldest that are due in these sources: each is read by its index, whatever waits in others."""
        times: list[tuple[datetime, int]] = []
        for source in sources:
            of_it = {"now": wanted["now"], "most": most, "source": source}
            times += [(row.next_run_at, source) for row in connection.execute(_DUE_TIMES, of_it)]
        due: list[Row] = []
        for source, count in Counter(source for _, source in sorted(times)[:most]).items():
            of_it = wanted | {"most": count, "source": source}
            due += connection.execute(_DUE_UNPACED_IN_SOURCE, of_it).all()
        return sorted(due, key=lambda row: (row.next_run_at, row.query_id))

    def _left_out(
        self,
        connection: sa.Connection,
        wanted: dict[str, Any],
        due: Sequence[Row],
        least: Mapping[int, int],
        held: Mapping[int, int],
    ) -> list[Row]:
        """What is due of sources that the oldest runs, which may all be another's, left too little of."""
        chosen = {row.query_id for row in due}
        taken = Counter(held) + Counter(row.source_id for row in due)
        found: list[Row] = []
        for source, count in least.items():
            if taken[source] < count:
                of_it = wanted | {"most": count, "source": source}
                rows = connection.execute(_DUE_UNPACED_IN_SOURCE, of_it).all()
                found += [row for row in rows if row.query_id not in chosen][: count - taken[source]]
        return found

    def _take(self, connection: sa.Connection, due: Sequence[Row], now: datetime, timezone: str) -> list[Run]:
        if not due:
            return []
        onward = _Onward(timezone, now)
        [ids] = take_ids(connection, len(due), runs)
        steps = [onward(row) for row in due]
        values = [
            self._run_values(row, now, Trigger.SCHEDULE, row.next_run_at, step.missed) | {"id": run_id}
            for run_id, row, (step, _) in zip(ids, due, steps, strict=True)
        ]
        taken = self._inserted(connection, values)
        moves = [
            {"b_id": row.query_id, "b_due": row.next_run_at, "b_next": step.next_run_at}
            for row, (step, _) in zip(due, steps, strict=True)
            if row.query_id in taken
        ]
        _MOVE_ON(connection, moves)
        claimed = [
            run_of(row, value, problem)
            for row, value, (_, problem) in zip(due, values, steps, strict=True)
            if row.query_id in taken
        ]
        return self._handed_over(connection, claimed)

    def _handed_over(self, connection: sa.Connection, claimed: list[Run]) -> list[Run]:
        if self._hand_over and claimed:
            self._hand_over(connection, claimed)
        return claimed

    def _inserted(self, connection: sa.Connection, values: list[dict[str, Any]]) -> Collection[int]:
        """The queries whose run is ours now.

        Somebody may have pressed Run Now since we looked: that run goes first, and ours stays due.
        """
        of_queries = {value["query_id"] for value in values}
        if self._insert_runs(connection, [dict(value) for value in values]) == len(values):
            return of_queries
        ids = [value["id"] for value in values]
        return set(connection.scalars(sa.select(runs.c.query_id).where(runs.c.id.in_(ids))))

    def _run_values(
        self,
        row: Row,
        now: datetime,
        trigger: Trigger,
        due_at: datetime | None = None,
        missed: int = 0,
        by: str | None = None,
    ) -> dict[str, Any]:
        return {
            "query_id": row.query_id,
            "source_id": row.source_id,
            "trigger": trigger.value,
            "triggered_by": by,
            "due_at": due_at,
            "missed": missed,
            "attempt": 0 if self._hand_over else 1,
            "node": NOBODY if self._hand_over else self._node,
            "claimed_at": now,
            "lease_until": None if self._hand_over else now + LEASE,
        }


def _rest_s(lane: Row, now: datetime, interval_s: int) -> float | None:
    """In how many seconds a lane has rested; None: it has."""
    pace = timedelta(seconds=interval_s if lane.pace_s is None else lane.pace_s)
    # an end that is far ahead is that of a clock that was set back since: nobody waits for it; one just ahead
    # is that of a run which ended while we looked
    rests = lane.ended_at is not None and now - pace < lane.ended_at <= now + AHEAD
    return (lane.ended_at + pace - now).total_seconds() if rests else None


class _Onward:
    """Where schedules go on: the next time of each, worked out once for all that are alike."""

    def __init__(self, timezone: str, now: datetime) -> None:
        self._timezone = timezone
        self._now = now
        self._known: dict[tuple[str, str, datetime], Advance] = {}

    def __call__(self, row: Row) -> tuple[Advance, str | None]:
        """The next time; and of a schedule that cannot be read, as when its zone left the machine, why."""
        key = row.cron_schedule, row.timezone or self._timezone, row.next_run_at
        try:
            if key not in self._known:
                self._known[key] = advance(*key, self._now)
            return self._known[key], None
        except Exception as error:
            log.error("schedule_unreadable", query=row.name, id=row.query_id, error=error)
            return Advance(self._now + LOOK_AGAIN, 0), f"the schedule cannot be read: {error}"
