"""Who ticks: of all processes that share a store, the one that claims the tick first."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import sqlalchemy as sa
from plugbay import Store, new_metadata

KEEP_TICKS = 120  # how far back a clock may be set without a tick being claimed twice: two hours of minutes

metadata = new_metadata()
ticks = sa.Table(
    "task_worker_ticks",
    metadata,
    sa.Column("task", sa.String(255), primary_key=True),  # owner.name
    sa.Column("tick", sa.BigInteger, primary_key=True),  # seconds since the epoch
    sqlite_with_rowid=False,  # the key is all there is
)


@dataclass(frozen=True)
class Tick:
    """One call of a periodic task that is to be made once in the cluster."""

    task: str
    """`owner.name`"""
    at: int
    """Seconds since the epoch."""
    period: int

    @property
    def forgotten_before(self) -> int:
        """Older claims of this task need not be kept."""
        return self.at - KEEP_TICKS * self.period


class TickClaims(Protocol):
    """Keeps what was claimed."""

    def claim(self, wanted: Sequence[Tick]) -> set[Tick]:
        """Those of the ticks that nobody has claimed before; from now on, somebody has."""
        ...

    def forget_before(self, at: int) -> None:
        """Drops the claims of tasks that are long gone."""
        ...


class StoreTickClaims:
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


class MemoryTickClaims:
    """Claims of one process, or of several engines within it: for tests and benchmarks, without a store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._claimed: dict[str, set[int]] = {}

    def claim(self, wanted: Sequence[Tick]) -> set[Tick]:
        with self._lock:
            return {tick for tick in wanted if self._claim_one(tick)}

    def forget_before(self, at: int) -> None:
        with self._lock:
            kept = {task: {tick for tick in claimed if tick >= at} for task, claimed in self._claimed.items()}
            self._claimed = {task: claimed for task, claimed in kept.items() if claimed}

    def __len__(self) -> int:
        return sum(map(len, self._claimed.values()))

    def _claim_one(self, tick: Tick) -> bool:
        claimed = self._claimed.setdefault(tick.task, set())
        if tick.at in claimed:
            return False
        claimed.add(tick.at)
        claimed.difference_update([at for at in claimed if at < tick.forgotten_before])
        return True
