"""What a handler is given: the parts of the service that it works for, and threads for calls that block."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ParamSpec, TypeVar

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync
from fastapi import Depends, Request
from plugbay import Clock, Plugbay
from plugbay.web import host_of

from plugbay_scheduled_query.catalogue import Catalogue
from plugbay_scheduled_query.catalogue.editing import SourceEditing
from plugbay_scheduled_query.executor import Executor
from plugbay_scheduled_query.metrics.gauges import GaugeKeeper
from plugbay_scheduled_query.queries.capacity import Capacities
from plugbay_scheduled_query.queries.editing import QueryEditing, Trying
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.history import Histories
from plugbay_scheduled_query.repository.overview import Activity, Overview
from plugbay_scheduled_query.repository.sources import SourceRepository
from plugbay_scheduled_query.runs.claiming import OWNER
from plugbay_scheduled_query.runs.service import Service
from plugbay_scheduled_query.settings import Settings

LOOK_S = 0.2  # between two looks whether somebody still waits for the answer
AT_ONCE = 8  # slow calls of one kind; more of them wait for one of these to end

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The service at work, put together when the server starts; handlers reach everything through it."""

    host: Plugbay
    clock: Clock
    settings: Callable[[], Settings]
    describe_cron: Callable[[str], str]
    definitions: Definitions
    histories: Histories
    overview: Overview
    activity: Activity
    capacities: Capacities
    sources: SourceRepository
    catalogue: Catalogue
    source_editing: SourceEditing
    executor: Executor
    service: Service
    gauges: GaugeKeeper
    editing: QueryEditing
    trying: Trying


async def parts_of(request: Request) -> Parts:
    """The parts behind the host that answers: handlers are shared by all hosts of a process."""
    parts: Parts = host_of(request).get_module(OWNER).parts
    return parts


ServiceParts = Annotated[Parts, Depends(parts_of)]


async def _stop_when_gone(request: Request, stop: Callable[[], object]) -> None:
    while not await request.is_disconnected():
        await asyncio.sleep(LOOK_S)
    stop()


class SlowCalls:
    """Runs blocking calls of one kind in threads, a few at a time, so that they keep no page waiting."""

    def __init__(self, kind: str) -> None:
        self._limiter: RunVar[CapacityLimiter] = RunVar(kind)  # a limiter belongs to one event loop

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the call returns."""
        return await run_sync(lambda: call(*args, **kwargs), limiter=self._limiter_here())

    async def run_for(self, request: Request, call: Callable[[], T], stop: Callable[[], object]) -> T:
        """What the call returns; when the client hangs up, it is told to stop."""
        watching = asyncio.create_task(_stop_when_gone(request, stop))
        try:
            return await self.run(call)
        finally:
            watching.cancel()

    def _limiter_here(self) -> CapacityLimiter:
        if (limiter := self._limiter.get(None)) is None:
            self._limiter.set(limiter := CapacityLimiter(AT_ONCE))
        return limiter
