"""The service where processes share the engine: runs go through its queue as slices, to whoever has a slot.

The runs' own table stays the truth. A run in the queue is nobody's; the worker that gets its slice takes
those that no living node has, so that a slice which comes twice, or comes back, runs only what is left.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import zip_longest
from typing import Any

import sqlalchemy as sa
from anyio.to_thread import run_sync
from plugbay import get_logger

from plugbay_scheduled_query.core.model import Execution, Run, Trigger
from plugbay_scheduled_query.repository.claims import Claims
from plugbay_scheduled_query.repository.takeover import may_begin
from plugbay_scheduled_query.runs.claiming import (
    OWNER,
    SLICE,
    Claiming,
    InFlight,
    Promise,
)
from plugbay_scheduled_query.runs.executing import cancelled, interrupted
from plugbay_scheduled_query.runs.places import Own, places
from plugbay_scheduled_query.runs.service import (
    BY_A_PERSON,
    JOB,
    URGENT,
    Job,
    Ran,
    Service,
    awaited,
    is_stopped,
    ran_of,
    who,
)

RUN_NOW = "run_now"  # the job of a run that a person waits for
LOOK_S = 0.1  # how soon the end of another node's run is seen by who waits for it
MEND_S = 20.0  # between two looks at runs that this node has and does not know of
SOURCES_S = 1.0  # how soon a new source, another pace or the pause of all is known to every worker

log = get_logger(__name__)


class ClusterService(Service):
    """Claims for the whole cluster, and executes what the engine hands to this process."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self._settings = parts["settings"]
        self._cluster = parts["engine"]
        self._claims = Claims(parts["store"], parts["clock"], parts["node"].id, self._hand_over)
        held = RunsOfAll(self._claims)
        self._claiming = self._shared = SharedClaiming(
            parts["clock"], self._claims, self._cluster, held, self._settings, self._submit
        )
        self._sources: dict[int, Own] = {}
        self._is_held = False
        self._sources_at = float("-inf")
        self._unknown: set[int] = set()

    def start(self) -> None:
        super().start()
        self._mend_later()

    # what the engine asks for

    def lanes(self, has: Callable[[str], int]) -> list[str]:
        """The sources that this process would execute another slice of.

        Where there are several none takes the last place: one that hangs keeps nobody else waiting.
        """
        if self._claiming.admission.is_shut:
            return []
        self._look_at_sources()
        sources, here = self._sources, places(self._cluster.workers, self._settings().pace, self._sources)
        inside = Counter({source: has(str(source)) for source in sources})
        if self._is_held or inside.total() >= here.total:
            return []
        return [str(source) for source in sources if here.is_one_left(source, inside, len(sources) < 2)]

    def waiting_queries(self) -> set[int]:
        """The queries whose runs wait in the queue of the cluster."""
        return self._claims.queued()

    def execute(self, job: Job) -> None:
        """Takes what is left of a slice, and does it."""
        runs = self._begin(job.payload["runs"], job.payload.get("problems", {}))

        def stopped_by() -> str:
            return who(job.cancel_reason)

        def stop() -> None:
            for run in runs:
                self._executing.cancel(run.id, stopped_by())

        if not runs:
            return
        self._heartbeat.wake()
        recorded = self._runs.gone(run.id for run in runs)
        with job.on_cancel(stop):
            ended, returned = partial(self._ended, job), partial(self._take_back, job)
            self._executing.execute(runs, ended, returned, stopped_by)
            # a job that is over has nothing left that the death of this process could undo
            while not recorded.wait(LOOK_S) and not job.cancel_reason:
                continue

    def returned(self, job: Job) -> None:
        """A slice that will never begin: recorded if a person cancelled it, else in the queue again later."""
        run_ids = job.payload["runs"]
        if job.cancel_reason.startswith(BY_A_PERSON):
            self._end_cancelled(run_ids, who(job.cancel_reason))
        else:
            self._ownership.expose(run_ids)

    # what people ask for

    async def run_now(self, query_id: int, by: str, wait_s: float) -> Ran | None:
        begun = await run_sync(self.begin_now, query_id, by)
        if begun is None:
            return None
        run_id = begun[0]
        promise = self._runs.expect(run_id)
        try:
            execution = await self._end_of(run_id, promise, wait_s)
        finally:
            self._runs.forget(run_id, promise)
        return ran_of(execution) if execution else await run_sync(self._look, query_id)

    def begin_now(self, query_id: int, by: str) -> tuple[int, Promise | None] | None:
        run, running = self._claims.start_now(query_id, by)
        run_id = run.id if run else running
        return None if run_id is None else (run_id, None)

    def cancel(self, query_id: int, by: str) -> bool:
        run_id = self._ownership.request_cancel(query_id, by)
        if run_id is None:
            return False
        self._cancel(run_id, by)
        self._end_cancelled([run_id], by)  # if it waits in the queue
        return True

    def recover(self, job: object = None) -> None:
        """Hands over again what dead nodes had; what may not run again is recorded as failed."""
        if not self._cluster.is_steady:
            return
        again, over = self._ownership.recover(self._cluster.alive(), self._hand_over)
        for run in (*again, *over):
            log.warning("taken_over", query=run.query_name, run=run.id, attempt=run.attempt)
        self._runs.add(over)
        for run in self._runs.begin(run.id for run in over):
            self._recorder.submit(run, interrupted(run, self._clock.now()))
        self._ownership.free_orphaned_lanes()

    # inside

    def _mend_later(self) -> None:
        when = self._clock.now() + timedelta(seconds=MEND_S)
        self._cluster.at(owner=OWNER, name="mend", when=when, call=self._mend)

    def _mend(self, job: object = None) -> None:
        """Lets go of runs that are this node's by the table alone, as when the answer to a claim was lost."""
        try:
            unknown = set(self._ownership.mine()) - set(self._runs.ids())
            if for_long := unknown & self._unknown:
                self._ownership.disown(for_long)
            self._unknown = unknown
        finally:
            self._mend_later()

    def _begin(self, run_ids: Sequence[int], problems: Mapping[str, str]) -> list[Run]:
        """Those of the runs that are to be executed here; the others have ended, or are somebody else's."""
        taken = self._ownership.take(run_ids, self._cluster.alive())
        runs = [replace(run, problem=problems.get(str(run.id))) for run, _ in taken]
        self._runs.add(runs)
        stopped = {run.id: by for run, by in taken if by is not None}
        for run in self._runs.begin(stopped):
            self._recorder.submit(run, cancelled(stopped[run.id], self._clock.now()))
        late = [run.id for run in runs if not may_begin(run.trigger, run.attempt)]
        for run in self._runs.begin(late):
            self._recorder.submit(run, interrupted(run, self._clock.now()))
        return self._runs.begin(run.id for run in runs)

    def _end_cancelled(self, run_ids: Sequence[int], by: str) -> None:
        taken = [run for run, _ in self._ownership.take(run_ids, self._cluster.alive())]
        self._runs.add(taken)
        for run in self._runs.begin(run.id for run in taken):
            self._recorder.submit(run, cancelled(by, self._clock.now()))

    def _take_back(self, job: Job, left: list[tuple[Run, str]]) -> None:
        """Runs behind one that takes its time: whoever has a slot gets them."""
        for run, by in left:
            if by and not is_stopped(job):
                self._recorder.submit(run, cancelled(by, self._clock.now()))
        again = [run for run, by in left if not by or is_stopped(job)]
        try:
            if again:
                self._ownership.release(again, self._hand_over)
        finally:
            for run in again:
                self._runs.end(run.id, None)

    def _hand_over(self, connection: sa.Connection, runs: Sequence[Run]) -> None:
        """Puts runs into the queue of the cluster, in the transaction that claims them."""
        by_hand = [run for run in runs if run.trigger is Trigger.MANUAL]
        if by_hand:
            payloads = [_payload([run]) for run in by_hand]
            self._cluster.submit_many(OWNER, RUN_NOW, payloads, priority=URGENT, within=connection)
        for source, payloads in self._slices([run for run in runs if run.trigger is Trigger.SCHEDULE]):
            self._cluster.submit_many(OWNER, JOB, payloads, within=connection, lane=str(source))

    def _slices(self, runs: Sequence[Run]) -> Iterable[tuple[int, list[dict[str, Any]]]]:
        """By source, and of each as many as the slots of the cluster share; the sources take turns."""
        size = max(1, min(SLICE, len(runs) // self._shared.slots_of_all))
        by_source: dict[int, list[Run]] = {}
        for run in runs:
            by_source.setdefault(run.source_id, []).append(run)
        cut = [
            [(source, _payload(of_it[at : at + size])) for at in range(0, len(of_it), size)]
            for source, of_it in by_source.items()
        ]
        in_turn = [found for turn in zip_longest(*cut) for found in turn if found]
        if len(by_source) == 1:  # as one statement
            return [(in_turn[0][0], [payload for _, payload in in_turn])]
        return [(source, [payload]) for source, payload in in_turn]

    async def _end_of(self, run_id: int, promise: Promise, wait_s: float) -> Execution | None:
        """What came of a run that may be executed here or elsewhere."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                while not promise.done() and await run_sync(self.is_live, run_id):
                    await awaited(promise, LOOK_S)
        return promise.result() if promise.done() else None

    def _look_at_sources(self) -> None:
        """Has somebody look which sources there are: the engine's own thread must not wait for the store."""
        now = time.monotonic()
        if now - self._sources_at >= SOURCES_S:
            self._sources_at = now
            self._cluster.at(
                owner=OWNER, name="sources", when=self._clock.now(), call=lambda job: self._learn_sources()
            )

    def _learn_sources(self) -> None:
        known = self._claims.sources(), self._claims.is_held()
        if known != (self._sources, self._is_held):
            self._sources, self._is_held = known
            self._shared.follow(self._sources)
            self._cluster.look()


class RunsOfAll(InFlight):
    """The runs of the whole cluster, which claims go by."""

    def __init__(self, claims: Claims) -> None:
        super().__init__()
        self._claims = claims

    def scheduled(self) -> Counter[int]:
        return self._claims.held()


class SharedClaiming(Claiming):
    """Claims what all workers of the cluster together have room for."""

    def _take_on(self, claimed: list[Run]) -> None:
        """They are in the queue since they were claimed."""

    def _most_claimed(self) -> int:
        """A full slice for each slot: what waits in the queue is there for whoever is free first."""
        return SLICE * self.slots_of_all

    @property
    def slots_of_all(self) -> int:
        """The slots of all nodes that work, as if each had as many as this one."""
        cluster: Any = self._engine
        here = places(cluster.workers, self._settings().pace, self._own)
        return max(1, int(cluster.working_nodes)) * here.total

    def follow(self, sources: Mapping[int, Own]) -> None:
        """What sources say of their pace, also of those of which nothing was due here yet."""
        self._own = dict(sources)


def _payload(runs: Sequence[Run]) -> dict[str, Any]:
    problems = {str(run.id): run.problem for run in runs if run.problem}
    named = {"runs": [run.id for run in runs], "queries": [run.query_id for run in runs]}
    return {**named, **({"problems": problems} if problems else {})}
