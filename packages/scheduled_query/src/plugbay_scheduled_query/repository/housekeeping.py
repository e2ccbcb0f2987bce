"""Removing what deleted queries left behind and what is surplus, in steps so small that nobody waits."""

from datetime import datetime, timedelta

import sqlalchemy as sa
from plugbay import Clock, Store

from plugbay_scheduled_query.repository.pruning import Keeping, prune, searches
from plugbay_scheduled_query.tables import history, queries, results, runs, states

STEP = 500  # history rows in one transaction
REMEMBERED = timedelta(hours=1)  # how long the query's own row stays: so every node hears of its end


class Housekeeping:
    """The rows of deleted queries go bit by bit, the query itself last; so does surplus history."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def purge_step(self) -> bool:
        """Removes one bit; False when there is nothing left to remove."""
        doomed = _doomed(self._clock.now() - REMEMBERED)
        with self._store.connect() as connection:
            if connection.scalar(doomed) is None:
                return False
        with self._store.begin() as connection:
            query_id = connection.scalar(doomed)
            return query_id is not None and self._purge(connection, query_id)

    def prune_step(self, keeping: Keeping) -> bool:
        """Removes a bit of what is too old or too much, also of queries that run no more; False if none."""
        with self._store.connect() as connection:
            found = (connection.scalar(search) for search in searches(self._clock.now(), keeping))
            query_id = next((query_id for query_id in found if query_id is not None), None)
        return query_id is not None and self._prune(query_id, keeping)

    def _prune(self, query_id: int, keeping: Keeping) -> bool:
        of_query = states.c.query_id == query_id
        with self._store.begin() as connection:
            row = connection.execute(sa.select(states).where(of_query).with_for_update()).first()
            if row is None:
                return False
            state = dict(row._mapping)
            is_less = prune(connection, state, self._clock.now(), keeping)
            ends = {name: value for name, value in state.items() if name.startswith("first_")}
            connection.execute(sa.update(states).where(of_query).values(ends))
        return is_less

    def _purge(self, connection: sa.Connection, query_id: int) -> bool:
        rows = sa.select(history.c.id, history.c.result_id).where(history.c.query_id == query_id).limit(STEP)
        found = connection.execute(rows).all()
        if found:
            connection.execute(sa.delete(history).where(history.c.id.in_([row.id for row in found])))
            texts = [row.result_id for row in found if row.result_id]
            connection.execute(sa.delete(results).where(results.c.id.in_(texts)))
        else:
            connection.execute(sa.delete(results).where(results.c.query_id == query_id))
            connection.execute(sa.delete(states).where(states.c.query_id == query_id))
            connection.execute(sa.delete(queries).where(queries.c.id == query_id))
        return True


def _doomed(forgotten_before: datetime) -> sa.Select[int]:
    """A deleted query that nothing runs for any more, and that has rows to remove."""
    has_run = sa.exists().where(runs.c.query_id == queries.c.id)
    has_rows = sa.exists().where(history.c.query_id == queries.c.id)
    is_ripe = has_rows | (queries.c.deleted_at < forgotten_before)
    return sa.select(queries.c.id).where(queries.c.deleted_at.is_not(None), ~has_run, is_ripe).limit(1)
