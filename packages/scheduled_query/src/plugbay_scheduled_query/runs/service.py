"""The service: tick, run now, execute, cancel. The way of a run is told here on one screen."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

from anyio.to_thread import run_sync
from plugbay import Clock, Store, get_logger

from plugbay_scheduled_query.core.model import Execution, Outcome, Run, Trigger
from plugbay_scheduled_query.repository.claims import Claims
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.history import Histories
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.repository.recording import Ended, Recording
from plugbay_scheduled_query.repository.takeover import ATTEMPTS, Ownership
from plugbay_scheduled_query.runs.claiming import OWNER, Admission, Claiming, InFlight, Promise, Timers
from plugbay_scheduled_query.runs.executing import Executing, Recorder, cancelled, interrupted
from plugbay_scheduled_query.runs.node import Heartbeat, Node
from plugbay_scheduled_query.runs.places import places_by_hand
from plugbay_scheduled_query.runs.telling import Ear, Teller, Told
from plugbay_scheduled_query.settings import Settings

TASK = "collect_execute_scheduled_query"
JOB = "run"
URGENT = 100  # what a person waits for goes before what the clock asked for
HEARTBEAT_S = 10.0  # a lease lasts three of them
LOOK_S = 0.5  # how soon the end of another node's run is seen
ANOTHER_NODE = "another node, which took it over"
BY_A_PERSON = "cancelled by "  # how the reason of a cancel begins; any other comes from the engine

log = get_logger(__name__)


class Job(Protocol):
    """What the engine hands over with a call."""

    @property
    def payload(self) -> Mapping[str, Any]: ...
    @property
    def cancel_reason(self) -> str: ...
    def on_cancel(self, hook: Callable[[], object]) -> Any: ...


class Engine(Timers, Protocol):
    """What the service asks of the task worker."""

    def submit_many(
        self, owner: str, name: str, payloads: Sequence[Mapping[str, Any]], *, priority: int = 0
    ) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Ran:
    """What Run Now led to: how the run ended, or that it goes on."""

    status: Literal["success", "failed", "timeout", "running"]
    execution: Execution | None = None
    error: str | None = None


class Service:
    """Between the clock and the store: claims what is due, has it executed, and sees to what comes after."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        node: Node,
        engine: Engine,
        executing: Executing,
        settings: Callable[[], Settings],
        ears: Sequence[Ear],
        at_once: Callable[[Outcome, Execution], object] = lambda outcome, execution: None,
        keeping: Callable[[], Keeping] | None = None,
    ) -> None:
        self._clock = clock
        self._node = node
        self._claims = Claims(store, clock, node.id)
        self._ownership = Ownership(store, clock, node.id)
        self._definitions = Definitions(store, clock)
        self._histories = Histories(store)
        self._engine = engine
        self._executing = executing
        self._leases = store.dialect != "sqlite"  # there nodes hold locks, which the system frees
        self._last_beat = clock.monotonic()
        self._runs = InFlight()
        self._claiming = Claiming(clock, self._claims, engine, self._runs, settings, self._submit)
        self._by_hand = Admission(self._submit_first, lambda: places_by_hand(engine.workers), largest=1)
        self._at_once = at_once
        self._teller = Teller(ears)
        keeping = keeping or (lambda: settings().keeping)
        self._recorder = Recorder(Recording(store, node.id), clock.now, keeping, self._recorded)
        self._heartbeat = Heartbeat(self._beat, lambda: len(self._runs))

    # what the clock asks for

    def start(self) -> None:
        """From now on this node looks for what is due, also when another one ticks."""
        self._claiming.start()

    def run_by_hand_only(self) -> None:
        """Takes nothing of what is due: a process that lives for one run leaves that to the others."""
        self._claiming.admission.shut()

    def tick(self, job: object = None) -> None:
        """Each minute: takes over what dead nodes left behind, and starts what is due."""
        try:
            self.recover()
        finally:
            self._claiming.refill()

    def refill(self) -> None:
        """Starts what is due and can start now: a source that was paused goes on."""
        self._claiming.refill()

    def recover(self, job: object = None) -> None:
        """Runs again what a dead node had under way; what cannot run again is recorded as failed."""
        lost = self._lost()
        for run in lost:
            log.warning("taken_over", query=run.query_name, run=run.id, attempt=run.attempt)
        self._runs.add(lost)
        again = [run for run in lost if _may_run_again(run)]
        for run in self._runs.begin(run.id for run in lost if not _may_run_again(run)):
            self._recorder.submit(run, interrupted(run, self._clock.now()))
        self._claiming.admission.put(again)
        self._ownership.free_orphaned_lanes()

    # what people ask for

    async def run_now(self, query_id: int, by: str, wait_s: float) -> Ran | None:
        """Runs a query at once, or joins its run, and waits so long for the end; holds no thread meanwhile.

        None: there is no such query.
        """
        begun = await run_sync(self.begin_now, query_id, by)
        if begun is None:
            return None
        run_id, promise = begun
        if promise is None:
            await self._end_elsewhere(run_id, wait_s)
            return await run_sync(self._look, query_id)
        execution = await awaited(promise, wait_s)
        return ran_of(execution) if execution else await run_sync(self._look, query_id)

    def begin_now(self, query_id: int, by: str) -> tuple[int, Promise | None] | None:
        """The same without waiting: the run's id, and a promise if it is in this process."""
        run, running = self._claims.start_now(query_id, by)
        if run:
            self._runs.add([run])
            promise = self._runs.promise(run.id)
            self._by_hand.put([run])
            return run.id, promise
        return None if running is None else (running, self._runs.promise(running))

    def waiting_queries(self) -> set[int]:
        """The queries whose runs this process has claimed and not begun."""
        return self._runs.waiting_queries()

    def is_live(self, run_id: int) -> bool:
        """Whether a run is under way, on whichever node."""
        return self._ownership.is_live(run_id)

    def cancel(self, query_id: int, by: str) -> bool:
        """Stops the run of a query, wherever it is; False when nothing runs."""
        run_id = self._ownership.request_cancel(query_id, by)
        if run_id is None:
            return False
        self._cancel(run_id, by)
        return True

    # a slice of executions

    def execute(self, job: Job) -> None:
        """Guard, run, record one run after the other; those behind one that is slow go to another worker."""
        runs = self._runs.begin(job.payload["runs"])  # but for those that were cancelled before they began

        def stopped_by() -> str:
            return who(job.cancel_reason)

        def stop() -> None:
            for run in runs:
                self._executing.cancel(run.id, stopped_by())

        try:
            with job.on_cancel(stop):
                if runs:
                    ended, returned = partial(self._ended, job), partial(self._take_back, job)
                    self._executing.execute(runs, ended, returned, stopped_by)
        finally:
            self._leave(job)

    def returned(self, job: Job) -> None:
        """Runs that never began: recorded when a person cancelled them, else given to whoever looks next."""
        runs = self._runs.begin(job.payload["runs"])
        if job.cancel_reason.startswith(BY_A_PERSON):
            self._take_back(job, [(run, who(job.cancel_reason)) for run in runs])
            self._leave(job)
        else:
            self.retire()  # the engine takes nothing any more: those who wait behind would come back too
            self._release(runs)

    def retire(self) -> None:
        """Begins nothing any more; what runs goes on."""
        self._claiming.admission.shut()
        self._by_hand.shut()

    def close(self) -> None:
        """Writes what is finished and leaves; what is not is recovered by the next node."""
        waiting = [run.id for door in self._doors for run in door.shut()]
        try:
            self._release(self._runs.begin(waiting))
        finally:
            self._recorder.close()
            self._teller.close()
            self._heartbeat.close()
            self._node.close()

    @property
    def running(self) -> int:
        """Runs of this process between claim and record."""
        return len(self._runs)

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing runs here, and what follows the end of a run is done, too."""
        # both at once: between two looks the end of one run could have started another
        return self._recorder.is_idle_while(lambda: len(self._runs) == 0) and self._teller.is_idle

    # inside

    @property
    def _doors(self) -> tuple[Admission, Admission]:
        return self._claiming.admission, self._by_hand

    def _submit(self, slices: list[list[Run]], priority: int = 0) -> None:
        payloads = [
            {"runs": [run.id for run in runs], "queries": [run.query_id for run in runs]} for runs in slices
        ]
        self._engine.submit_many(OWNER, JOB, payloads, priority=priority)
        self._heartbeat.wake()

    def _submit_first(self, slices: list[list[Run]]) -> None:
        self._submit(slices, URGENT)

    def _ended(self, job: Job, run: Run, outcome: Outcome) -> None:
        """What came of a run is recorded; if the engine stopped it, its end is left to the next node."""
        if is_stopped(job):
            self._runs.end(run.id, None)
        else:
            self._recorder.submit(run, outcome)

    def _take_back(self, job: Job, left: list[tuple[Run, str]]) -> None:
        """Of runs that never began: the cancelled end, the others go on elsewhere, or with the next node."""
        if is_stopped(job):
            self._release([run for run, _ in left])
            return
        again = [run for run, by in left if not by]
        for run, by in left:
            if by:
                self._recorder.submit(run, cancelled(by, self._clock.now()))
        self._runs.give_back(again)
        self._claiming.admission.put_back(again)

    def _release(self, runs: list[Run]) -> None:
        try:
            if runs:
                self._ownership.release(runs)
        finally:
            for run in runs:
                self._runs.end(run.id, None)

    def _leave(self, job: Job) -> None:
        for door in self._doors:
            door.leave(job.payload["runs"][0])

    def _recorded(self, group: list[Ended], executions: list[Execution | None]) -> None:
        """After each group commit: the gauges, whoever waits for an end, whoever is told; then the next."""
        later: list[Told] = []
        for (run, outcome), execution in zip(group, executions, strict=True):
            if execution:  # else it was another node's by then
                self._at_once(outcome, execution)
                if self._runs.is_awaited(run.id):  # whoever waits for it finds it in the log
                    self._teller.tell((run, outcome, execution))
                else:
                    later.append((run, outcome, execution))
            self._runs.end(run.id, execution)
        self._teller.put(later)
        self._claiming.done(run for run, _ in group)

    def _look(self, query_id: int) -> Ran | None:
        """What the store knows of a run that is not of this process, or goes on."""
        query = self._definitions.get(query_id)
        if query is None:
            return None
        if query.running or query.last_status is None:
            return Ran("running")
        execution = self._histories.latest(query_id)
        return ran_of(execution) if execution else Ran(query.last_status.value, error=query.last_error)

    async def _end_elsewhere(self, run_id: int, wait_s: float) -> None:
        """Waits for a run of another process."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                while await run_sync(self.is_live, run_id):
                    await asyncio.sleep(LOOK_S)

    def _cancel(self, run_id: int, by: str) -> None:
        if waiting := self._runs.begin([run_id]):
            self._recorder.submit(waiting[0], cancelled(by, self._clock.now()))
        elif self._runs.has_begun(run_id):
            self._executing.cancel(run_id, by)

    def _lost(self) -> list[Run]:
        """The runs of dead nodes, now ours."""
        if self._leases:
            self._ownership.extend_leases(self._runs.ids())
            return self._ownership.take_over(None)
        dead = self._node.dead(self._ownership.nodes())
        return self._ownership.take_over(dead) if dead else []

    def _beat(self) -> None:
        """While anything runs here: shows that this node is alive, and sees what others did to its runs."""
        known = self._runs.ids()
        if self._leases and self._clock.monotonic() - self._last_beat >= HEARTBEAT_S:
            self._ownership.extend_leases(known)
            self._last_beat = self._clock.monotonic()
        mine = self._ownership.mine()
        for run_id, by in mine.items():
            if by is not None:
                self._cancel(run_id, by)
        for run_id in known:
            if run_id not in mine:
                self._abandon(run_id)

    def _abandon(self, run_id: int) -> None:
        """Stops a run that another node has taken over; one that was recorded just now is over anyway."""
        if self._runs.begin([run_id]):
            self._runs.end(run_id, None)
        else:
            self._executing.cancel(run_id, ANOTHER_NODE)


def _may_run_again(run: Run) -> bool:
    return run.trigger is Trigger.SCHEDULE and run.attempt <= ATTEMPTS


def is_stopped(job: Job) -> bool:
    """Whether the engine cancelled the job, and no person."""
    return bool(job.cancel_reason and not job.cancel_reason.startswith(BY_A_PERSON))


def who(reason: str) -> str:
    return reason.removeprefix(BY_A_PERSON)


def ran_of(execution: Execution) -> Ran:
    return Ran(execution.status.value, execution, execution.error_message)


async def awaited(promise: Promise, wait_s: float) -> Execution | None:
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def wake(_: Promise) -> None:
        with contextlib.suppress(RuntimeError):  # the server, and its loop, may be gone by then
            loop.call_soon_threadsafe(done.set)

    promise.add_done_callback(wake)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), wait_s)
    return promise.result() if promise.done() else None
