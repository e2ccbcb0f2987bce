"""A few password checks at a time: each takes 64 MiB, and two hundred clicks must not take all memory."""

from collections import Counter
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import anyio
import anyio.to_thread

from plugbay.auth.errors import TooManyAttempts

AT_ONCE = 2  # checks; 128 MiB for a moment, and one core is enough for either
MOST_WAITING = 32  # requests, some four seconds; whoever comes then is told to come again
BUSY_RETRY_S = 5

P = ParamSpec("P")
T = TypeVar("T")


class Slots:
    """Runs slow work in threads of its own count, and turns away what could only wait too long."""

    def __init__(self, at_once: int = AT_ONCE, most_waiting: int = MOST_WAITING) -> None:
        self._limiter = anyio.CapacityLimiter(at_once)
        self._most = at_once + most_waiting
        self._most_of_one = (self._most + 1) // 2  # a crowd from one address leaves room for others
        self._inside = 0
        self._inside_by_address: Counter[str] = Counter()

    async def run_for(self, address: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for a stranger, whose address may not take all the places there are."""
        if self._inside_by_address[address] >= self._most_of_one:
            raise TooManyAttempts(retry_after=BUSY_RETRY_S)
        self._inside_by_address[address] += 1
        try:
            return await self.run(work, *args, **kwargs)
        finally:
            self._inside_by_address -= Counter([address])

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._inside >= self._most:
            raise TooManyAttempts(retry_after=BUSY_RETRY_S)
        self._inside += 1
        try:
            return await anyio.to_thread.run_sync(lambda: work(*args, **kwargs), limiter=self._limiter)
        finally:
            self._inside -= 1
