"""Whose run it is, and what becomes of the run of a dead process: another node takes it over."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from plugbay import Clock, Store, get_logger

from plugbay_scheduled_query.core.model import Run, Trigger
from plugbay_scheduled_query.repository.rows import DEFINITION_OF_RUN, run_of, store_now
from plugbay_scheduled_query.tables import lanes, queries, runs

LEASE = timedelta(seconds=30)  # on PostgreSQL: how long a silent node keeps its runs
NOBODY = ""  # the node of runs that were given back, or wait in the queue of the cluster
LOST = "lost"  # the node of runs that a node had and does not know of
UNTAKEN = timedelta(seconds=60)  # after which a run in the queue is put in again: its job may be lost
ATTEMPTS = 2  # a scheduled run that a crash interrupts runs again once

HandOver = Callable[[sa.Connection, list[Run]], object]

_WITH_DEFINITION = sa.select(runs, *DEFINITION_OF_RUN).join(queries, queries.c.id == runs.c.query_id)
_ORPHANED = sa.select(lanes.c.run_id).where(
    lanes.c.run_id.is_not(None), ~sa.exists().where(runs.c.id == lanes.c.run_id)
)

log = get_logger(__name__)


class Ownership:
    """The runs of this node and of the others; a node that is gone loses its own."""

    def __init__(self, store: Store, clock: Clock, node: str) -> None:
        self._store = store
        self._clock = clock
        self._node = node

    def extend_leases(self, run_ids: Collection[int]) -> None:
        """Says that these runs are alive; only PostgreSQL needs to be told.

        Not all of the node's: one that it does not know of, because its claim was committed and the answer
        lost with the connection, must come to its end too.
        """
        mine = sa.select(runs.c.id).where(runs.c.node == self._node, runs.c.id.in_(run_ids))
        # what somebody writes at this moment needs no lease, and to wait for it could be a deadlock
        free = mine.with_for_update(skip_locked=True)
        with self._store.begin() as connection:
            until = store_now(connection, self._clock) + LEASE
            connection.execute(sa.update(runs).where(runs.c.id.in_(free)).values(lease_until=until))

    def nodes(self) -> set[str]:
        """The nodes that have runs under way."""
        with self._store.connect() as connection:
            return set(connection.scalars(sa.select(runs.c.node).distinct()))

    def take_over(self, dead: Sequence[str] | None) -> list[Run]:
        """The runs of dead nodes (None: whose lease is over), now of this node and one attempt higher."""
        with self._store.begin() as connection:
            now = store_now(connection, self._clock)
            expired = (runs.c.lease_until < now) | (runs.c.node == NOBODY)
            lost = _WITH_DEFINITION.where(expired if dead is None else runs.c.node.in_(dead))
            rows = connection.execute(lost.with_for_update(skip_locked=True, of=runs)).all()
            if rows:
                mine = {"node": self._node, "attempt": runs.c.attempt + 1, "lease_until": now + LEASE}
                connection.execute(
                    sa.update(runs).where(runs.c.id.in_([row.id for row in rows])).values(mine)
                )
        return [run_of(row, {**row._mapping, "attempt": row.attempt + 1}) for row in rows]

    def free_orphaned_lanes(self) -> None:
        """A run that is not there any more, whatever became of it, keeps nobody waiting."""
        with self._store.connect() as connection:
            gone = connection.scalars(_ORPHANED).all()
        if not gone:
            return
        # by their numbers: where PostgreSQL waits for a claim, it would not see that claim's own run
        with self._store.begin() as connection:
            update = sa.update(lanes).where(lanes.c.run_id.in_(gone)).values(run_id=None)
            freed = connection.execute(update).rowcount
        log.warning("lanes_freed", lanes=freed)

    def release(self, given: Sequence[Run], hand_over: HandOver | None = None) -> None:
        """Gives back runs that never began: the next node to look takes them, as the same attempt."""
        nobodys = {"node": NOBODY, "attempt": runs.c.attempt - 1, "lease_until": None}
        mine = runs.c.id.in_([run.id for run in given]) & (runs.c.node == self._node)
        with self._store.begin() as connection:
            connection.execute(sa.update(runs).where(mine).values(nobodys))
            if hand_over:
                hand_over(connection, list(given))

    def take(self, run_ids: Sequence[int], alive: Collection[str]) -> list[tuple[Run, str | None]]:
        """Of these runs those that no living node has, now of this one; each with who cancelled it."""
        mine = {"node": self._node, "attempt": runs.c.attempt + 1, "lease_until": None}
        wanted = runs.c.id.in_(run_ids), runs.c.query_id == queries.c.id, _is_free(alive, sa.func.now())
        take = sa.update(runs).where(*wanted).values(mine).returning(runs, *DEFINITION_OF_RUN)
        with self._store.begin() as connection:
            rows = sorted(connection.execute(take).all(), key=lambda row: int(row.id))
        return [(run_of(row, dict(row._mapping)), row.cancelled_by) for row in rows]

    def recover(self, alive: Collection[str], hand_over: HandOver) -> tuple[list[Run], list[Run]]:
        """Hands over what dead nodes left, and what was in a queue that is lost.

        Returns that, and what may not run again and is this node's now.
        """
        with self._store.begin() as connection:
            now = store_now(connection, self._clock)
            is_left = _is_free(alive, now) & ((runs.c.node != NOBODY) | (runs.c.claimed_at < now - UNTAKEN))
            wanted = _WITH_DEFINITION.where(is_left).order_by(runs.c.id)
            rows = connection.execute(wanted.with_for_update(skip_locked=True, of=runs)).all()
            found = [run_of(row, dict(row._mapping)) for row in rows]
            again = [run for run in found if may_begin(run.trigger, run.attempt + 1)]
            over = [
                replace(run, attempt=run.attempt + 1)
                for run in found
                if not may_begin(run.trigger, run.attempt + 1)
            ]
            nobodys = {"node": NOBODY, "claimed_at": now, "lease_until": None}
            ids = [run.id for run in again]
            connection.execute(sa.update(runs).where(runs.c.id.in_(ids)).values(nobodys))
            self._make_mine(connection, [run.id for run in over])
            if again:
                hand_over(connection, again)
        return again, over

    def expose(self, run_ids: Sequence[int]) -> None:
        """These are in no queue any more: whoever recovers next hands them over again."""
        waiting = runs.c.id.in_(run_ids) & (runs.c.node == NOBODY)
        with self._store.begin() as connection:
            earlier = store_now(connection, self._clock) - UNTAKEN - timedelta(seconds=1)
            connection.execute(sa.update(runs).where(waiting).values(claimed_at=earlier))

    def disown(self, run_ids: Collection[int]) -> None:
        """These are this node's by the table alone: whoever recovers next sees to them."""
        mine = runs.c.id.in_(run_ids) & (runs.c.node == self._node)
        with self._store.begin() as connection:
            connection.execute(sa.update(runs).where(mine).values(node=LOST))

    def _make_mine(self, connection: sa.Connection, run_ids: Sequence[int]) -> None:
        mine = {"node": self._node, "attempt": runs.c.attempt + 1, "lease_until": None}
        if run_ids:
            connection.execute(sa.update(runs).where(runs.c.id.in_(run_ids)).values(mine))

    def request_cancel(self, query_id: int, by: str) -> int | None:
        """Notes on the run of a query that somebody wants it to stop; None when nothing runs."""
        update = sa.update(runs).where(runs.c.query_id == query_id).values(cancelled_by=by)
        with self._store.begin() as connection:
            run_id: int | None = connection.scalar(update.returning(runs.c.id))
            return run_id

    def mine(self) -> dict[int, str | None]:
        """The runs of this node, each with who, perhaps on another node, wants it to stop."""
        select = sa.select(runs.c.id, runs.c.cancelled_by).where(runs.c.node == self._node)
        with self._store.connect() as connection:
            return {row.id: row.cancelled_by for row in connection.execute(select)}

    def is_live(self, run_id: int) -> bool:
        with self._store.connect() as connection:
            return connection.scalar(sa.select(runs.c.id).where(runs.c.id == run_id)) is not None


def may_begin(trigger: Trigger, attempt: int) -> bool:
    """What somebody started by hand is not started again for them; what the clock did, once."""
    return attempt == 1 or (trigger is Trigger.SCHEDULE and attempt <= ATTEMPTS)


def _is_free(alive: Collection[str], now: Any) -> sa.ColumnElement[bool]:
    """Of nobody, or of a node that is not there; one that does not share the engine has a lease."""
    is_over = sa.or_(runs.c.lease_until.is_(None), runs.c.lease_until < now)
    return sa.or_(runs.c.node == NOBODY, sa.and_(runs.c.node.not_in(alive), is_over))
