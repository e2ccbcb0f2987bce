"""Whose run it is, and what becomes of the run of a dead process: another node takes it over."""

from collections.abc import Collection, Sequence
from datetime import timedelta

import sqlalchemy as sa
from plugbay import Clock, Store, get_logger

from plugbay_scheduled_query.core.model import Run
from plugbay_scheduled_query.repository.rows import DEFINITION_OF_RUN, run_of, store_now
from plugbay_scheduled_query.tables import lanes, queries, runs

LEASE = timedelta(seconds=30)  # on PostgreSQL: how long a silent node keeps its runs
NOBODY = ""  # the node of runs that were given back

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

    def release(self, run_ids: Sequence[int]) -> None:
        """Gives back runs that never began: the next node to look takes them, as the same attempt."""
        nobodys = {"node": NOBODY, "attempt": runs.c.attempt - 1, "lease_until": None}
        mine = runs.c.id.in_(run_ids) & (runs.c.node == self._node)
        with self._store.begin() as connection:
            connection.execute(sa.update(runs).where(mine).values(nobodys))

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
