"""Calls that wait for a database elsewhere, in threads of their own: they keep nobody else waiting."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

AT_ONCE = 8  # more of them wait for one of these to end

P = ParamSpec("P")
T = TypeVar("T")


class SlowCalls:
    """Runs blocking calls, a few at a time."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._limiter = CapacityLimiter(at_once)

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await run_sync(lambda: call(*args, **kwargs), limiter=self._limiter)
