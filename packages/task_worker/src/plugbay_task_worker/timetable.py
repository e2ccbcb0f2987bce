"""What is due when: a heap of times, without a clock, a thread or a lock of its own.

Times are seconds since the epoch, handed in by the caller. A repeated entry stands at the multiples of its
period, so that every process comes to the same ticks without asking another.
"""

import heapq
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Due(Generic[K]):
    """An entry whose time has come: the time it stands for, and how many ticks were passed over before it."""

    key: K
    at: float
    missed: int = 0


@dataclass(slots=True)
class _Entry:
    at: float
    period: int  # 0: once
    number: int  # the heap keeps entries that were moved or removed; only the latest number counts


class Timetable(Generic[K]):
    """Entries by key, each with its next time."""

    def __init__(self) -> None:
        self._entries: dict[K, _Entry] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._numbers = 0
        self._seen = float("-inf")

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: K) -> bool:
        return key in self._entries

    def repeat(self, key: K, period: int, now: float) -> None:
        """Enters `key` at each multiple of `period` after `now`."""
        self._enter(key, next_tick(period, now), period)

    def once(self, key: K, at: float) -> None:
        """Enters `key` once, in place of an earlier entry of that key."""
        self._enter(key, at, 0)

    def again(self, key: K, at: float) -> None:
        """Lets a repeated entry come up at `at`, for its latest tick, before it goes on as ever."""
        if entry := self._entries.get(key):
            self._enter(key, min(at, entry.at), entry.period)

    def remove(self, key: K) -> None:
        self._entries.pop(key, None)

    def realign(self, now: float) -> None:
        """Lets repeated entries go on with the first tick after `now`, whatever came before."""
        for key, entry in list(self._entries.items()):
            if entry.period:
                self.repeat(key, entry.period, now)

    def next_at(self, key: K) -> float | None:
        """When `key` comes up next."""
        entry = self._entries.get(key)
        return entry.at if entry else None

    def first_at(self) -> float | None:
        """When anything comes up next."""
        self._drop_stale_top()
        return self._heap[0][0] if self._heap else None

    def take_due(self, now: float) -> list[Due[K]]:
        """All that is due by `now`, in order; repeated entries move on to the tick after `now`."""
        if now < self._seen:
            self.realign(now)  # the clock was set back: waiting for the old time could take for ever
        self._seen = now
        due = []
        while (at := self.first_at()) is not None and at <= now:
            _, _, key = heapq.heappop(self._heap)
            due.append(self._take(key, self._entries[key], now))
        return due

    def _take(self, key: K, entry: _Entry, now: float) -> Due[K]:
        if not entry.period:
            del self._entries[key]
            return Due(key, entry.at)
        self.repeat(key, entry.period, now)
        return Due(key, last_tick(entry.period, now), missed=int((now - entry.at) // entry.period))

    def _enter(self, key: K, at: float, period: int) -> None:
        self._numbers += 1
        self._entries[key] = _Entry(at, period, self._numbers)
        heapq.heappush(self._heap, (at, self._numbers, key))
        if (
            len(self._heap) > 2 * len(self._entries) + 64
        ):  # mostly stale: timers that were moved again and again
            self._heap = [(entry.at, entry.number, key) for key, entry in self._entries.items()]
            heapq.heapify(self._heap)

    def _drop_stale_top(self) -> None:
        while self._heap and self._is_stale(self._heap[0]):
            heapq.heappop(self._heap)

    def _is_stale(self, item: tuple[float, int, K]) -> bool:
        entry = self._entries.get(item[2])
        return entry is None or entry.number != item[1]


def last_tick(period: int, now: float) -> int:
    """The latest multiple of `period` that is not after `now`."""
    return int(now // period) * period


def next_tick(period: int, now: float) -> int:
    """The first multiple of `period` after `now`."""
    return last_tick(period, now) + period
