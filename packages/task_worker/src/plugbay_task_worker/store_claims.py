"""Claims in the store: whatever processes share it, each tick has one owner."""

from collections.abc import Sequence

import sqlalchemy as sa
from plugbay import Store

from plugbay_task_worker.claims import Tick
from plugbay_task_worker.tables import ticks


class StoreClaims:
    """A row for each claimed tick; the key decides who was first."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._insert = store.insert(ticks).on_conflict_do_nothing().returning(ticks.c.task, ticks.c.tick)
        self._forget = sa.delete(ticks).where(
            ticks.c.task == sa.bindparam("of_task"), ticks.c.tick < sa.bindparam("before")
        )

    def claim(self, wanted: Sequence[Tick]) -> set[Tick]:
        if not wanted:
            return set()
        # in one order everywhere, or two processes on PostgreSQL could wait for each other
        ordered = sorted(wanted, key=lambda tick: (tick.task, tick.at))
        new = [{"task": tick.task, "tick": tick.at} for tick in ordered]
        old = [{"of_task": tick.task, "before": tick.forgotten_before} for tick in ordered]
        with self._store.begin() as connection:
            inserted = connection.execute(self._insert, new)
            won = {(task, at) for task, at in inserted}
            connection.execute(self._forget, old)
        return {tick for tick in wanted if (tick.task, tick.at) in won}

    def forget_before(self, at: int) -> None:
        with self._store.begin() as connection:
            connection.execute(sa.delete(ticks).where(ticks.c.tick < at))
