"""Run Now as a visitor sees it: start or join a run, wait a while for it, holding no thread meanwhile."""

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Literal

from anyio.to_thread import run_sync

from plugbay_scheduled_query.core.model import Execution, Query
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.history import Histories
from plugbay_scheduled_query.runs.in_flight import Promise
from plugbay_scheduled_query.runs.service import LOOK_S, Service


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended, or that it goes on."""

    query: Query
    status: Literal["success", "failed", "timeout", "running"]
    execution: Execution | None = None


class Running:
    """Runs queries for people who wait."""

    def __init__(self, service: Service, definitions: Definitions, histories: Histories) -> None:
        self._service = service
        self._definitions = definitions
        self._histories = histories

    async def run_now(self, query_id: int, by: str, wait_s: float) -> Ran | None:
        """Runs a query and waits so long for its end; None when there is no such query."""
        begun = await run_sync(self._service.begin_now, query_id, by)
        if begun is None:
            return None
        if begun.promise is None:
            await self._elsewhere(begun.run_id, wait_s)
            return await run_sync(self._look, query_id, None)
        return await run_sync(self._look, query_id, await _awaited(begun.promise, wait_s))

    async def _elsewhere(self, run_id: int, wait_s: float) -> None:
        """Waits for a run of another process."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                while await run_sync(self._service.is_live, run_id):
                    await asyncio.sleep(LOOK_S)

    def _look(self, query_id: int, execution: Execution | None) -> Ran | None:
        query = self._definitions.get(query_id)
        if query is None:
            return None
        if execution is None and query.running:
            return Ran(query, "running")
        execution = execution or self._histories.latest(query_id)
        status = execution.status if execution else query.last_status
        return Ran(query, status.value if status else "running", execution)


async def _awaited(promise: Promise, wait_s: float) -> Execution | None:
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def wake(_: Promise) -> None:
        with contextlib.suppress(RuntimeError):  # the server, and its loop, may be gone by then
            loop.call_soon_threadsafe(done.set)

    promise.add_done_callback(wake)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), wait_s)
    return promise.result() if promise.done() else None
