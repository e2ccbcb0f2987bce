"""The service: tick, run now, execute, cancel. One execution is told here on one screen."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from plugbay import Clock, get_logger

from plugbay_scheduled_query.core.model import Execution, Trigger
from plugbay_scheduled_query.repository.claims import ClaimedRun, Claims
from plugbay_scheduled_query.repository.recording import Finished, Recorded, Recording
from plugbay_scheduled_query.runs.claiming import OWNER, Claiming, Timers
from plugbay_scheduled_query.runs.executing import Executing, cancelled, interrupted
from plugbay_scheduled_query.runs.in_flight import InFlight, Promise
from plugbay_scheduled_query.runs.node import Heartbeat, Node
from plugbay_scheduled_query.runs.recorder import Recorder
from plugbay_scheduled_query.settings import Settings

TASK = "collect_execute_scheduled_query"
JOB = "run"
URGENT = 100  # what a person waits for goes before what the clock asked for
HEARTBEAT_S = 10.0  # a lease lasts three of them
LOOK_S = 0.5  # how soon the end of another node's run is seen
ATTEMPTS = 2  # a scheduled run that a crash interrupts runs again once
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


class Executor(Protocol):
    """What can stop a query."""

    def cancel(self, run_id: int, by: str) -> bool: ...


@dataclass(frozen=True)
class Begun:
    """A run that was started or joined; there is a promise only of what runs in this process."""

    run_id: int
    promise: Promise | None


@dataclass(frozen=True)
class RunNow:
    """What Run Now leads to: an execution, or (None) a run that goes on."""

    run_id: int
    execution: Execution | None


class Service:
    """Between the clock and the store: claims what is due, has it executed, and sees to what comes after."""

    def __init__(
        self,
        *,
        clock: Clock,
        node: Node,
        claims: Claims,
        recording: Recording,
        engine: Engine,
        executing: Executing,
        executor: Executor,
        settings: Callable[[], Settings],
        leases: bool,
        after: Callable[[Finished, Recorded], None],
    ) -> None:
        self._clock = clock
        self._node = node
        self._claims = claims
        self._engine = engine
        self._executing = executing
        self._executor = executor
        self._settings = settings
        self._leases = leases
        self._after = after
        self._runs = InFlight()
        self._last_beat = clock.monotonic()
        self._claiming = Claiming(clock, claims, engine, self._runs, settings, self._submit)
        self._recorder = Recorder(recording, clock.now, lambda: settings().keeping, self._recorded)
        self._heartbeat = Heartbeat(self._beat, lambda: len(self._runs))

    # what the clock asks for

    def start(self) -> None:
        """From now on this node looks for what is due, also when another one ticks."""
        self._claiming.start()

    def tick(self, job: object = None) -> None:
        """Each minute: takes over what dead nodes left behind, and starts what is due."""
        try:
            self.recover()
        finally:
            self._claiming.refill()

    def recover(self) -> None:
        """Runs again what a dead node had under way; what cannot run again is recorded as failed."""
        if self._leases:
            self._claims.extend_leases(self._runs.ids())
            lost = self._claims.take_over(None)
        else:
            dead = self._node.dead(self._claims.nodes())
            lost = self._claims.take_over(dead) if dead else []
        for claimed in lost:
            log.warning("taken_over", query=claimed.query_name, run=claimed.id, attempt=claimed.run.attempt)
        self._runs.add(lost)
        again = [run for run in lost if _may_run_again(run)]
        for run in lost:
            if run not in again and self._runs.begin(run.id):
                self._recorder.submit(interrupted(run, self._clock.now()))
        self._claiming.admission.put(again)
        self._claims.free_orphaned_lanes()

    # what people ask for

    def begin_now(self, query_id: int, by: str) -> Begun | None:
        """Runs a query at once, or joins its run, and does not wait. None: no such query."""
        claimed, running = self._claims.start_now(query_id, by)
        if claimed:
            self._runs.add([claimed])
            promise = self._runs.promise(claimed.id)
            self._submit([claimed], URGENT)
            return Begun(claimed.id, promise)
        return None if running is None else Begun(running, self._runs.promise(running))

    def run_now(self, query_id: int, by: str, wait_s: float) -> RunNow | None:
        """Runs a query at once, or joins its run; waits so long for the execution. None: no such query."""
        begun = self.begin_now(query_id, by)
        if begun is None:
            return None
        if begun.promise is None:
            self._wait_for_other_node(begun.run_id, wait_s)
            return RunNow(begun.run_id, None)
        try:
            return RunNow(begun.run_id, begun.promise.result(wait_s))
        except TimeoutError:
            return RunNow(begun.run_id, None)

    def is_live(self, run_id: int) -> bool:
        """Whether a run is under way, on whichever node."""
        return self._claims.is_live(run_id)

    def cancel(self, query_id: int, by: str) -> bool:
        """Stops the run of a query, wherever it is; False when nothing runs."""
        run_id = self._claims.request_cancel(query_id, by)
        if run_id is None:
            return False
        self._cancel(run_id, by)
        return True

    # one execution

    def execute(self, job: Job) -> None:
        """Guard, run, record; the end of a run that was stopped by the engine is left to the next node."""
        try:
            if claimed := self._runs.begin(job.payload["run"]):  # else it was cancelled before it began
                self._execute(job, claimed)
        finally:
            self._claiming.admission.leave(job.payload["run"])

    def returned(self, job: Job) -> None:
        """A run that never began: recorded when a person cancelled it, else given to whoever looks next."""
        claimed = self._runs.begin(job.payload["run"])
        if job.cancel_reason.startswith(BY_A_PERSON):
            if claimed:
                self._recorder.submit(cancelled(claimed, _who(job.cancel_reason), self._clock.now()))
            self._claiming.admission.leave(job.payload["run"])
            return
        self.retire()  # the engine takes nothing any more: those who wait behind this one would come back too
        if claimed:
            self._claims.release([claimed.id])
            self._runs.end(claimed.id, None)

    def retire(self) -> None:
        """Begins nothing any more; what runs goes on."""
        self._claiming.admission.shut()

    def close(self) -> None:
        """Writes what is finished and leaves; what is not is recovered by the next node."""
        waiting = [run.id for run in self._claiming.admission.shut() if self._runs.begin(run.id)]
        try:
            if waiting:
                self._claims.release(waiting)
        finally:
            for run_id in waiting:
                self._runs.end(run_id, None)
            self._recorder.close()
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
        return self._recorder.is_idle_while(lambda: len(self._runs) == 0)

    # inside

    def _submit(self, claimed: list[ClaimedRun], priority: int = 0) -> None:
        if claimed:
            self._engine.submit_many(OWNER, JOB, [{"run": run.id} for run in claimed], priority=priority)
            self._heartbeat.wake()

    def _execute(self, job: Job, claimed: ClaimedRun) -> None:
        def stopped_by() -> str:
            return _who(job.cancel_reason)

        with job.on_cancel(lambda: self._executor.cancel(claimed.id, stopped_by())):
            finished = self._executing.execute(claimed, stopped_by)
        if job.cancel_reason and not job.cancel_reason.startswith(BY_A_PERSON):
            self._runs.end(claimed.id, None)
        else:
            self._recorder.submit(finished)

    def _recorded(self, group: list[Recorded]) -> None:
        """After each group commit: tell everybody, free the slots, start what waited for them."""
        for item in group:
            try:
                self._after(item.finished, item)
            except Exception:
                log.exception("after_execution_failed", query=item.finished.claimed.query_name)
            self._runs.end(item.finished.claimed.id, None if item.is_dropped else item.execution)
        self._claiming.done(item.finished.claimed for item in group)

    def _cancel(self, run_id: int, by: str) -> None:
        waiting = self._runs.begin(run_id)
        if waiting:
            self._recorder.submit(cancelled(waiting, by, self._clock.now()))
        elif self._runs.has_begun(run_id):
            self._executor.cancel(run_id, by)

    def _beat(self) -> None:
        """While anything runs here: shows that this node is alive, and sees what others did to its runs."""
        known = self._runs.ids()
        if self._leases and self._clock.monotonic() - self._last_beat >= HEARTBEAT_S:
            self._claims.extend_leases(known)
            self._last_beat = self._clock.monotonic()
        mine = self._claims.mine()
        for run_id, by in mine.items():
            if by is not None:
                self._cancel(run_id, by)
        for run_id in known:
            if run_id not in mine:
                self._abandon(run_id)

    def _abandon(self, run_id: int) -> None:
        """Stops a run that another node has taken over; one that was recorded just now is over anyway."""
        if self._runs.begin(run_id):
            self._runs.end(run_id, None)
        else:
            self._executor.cancel(run_id, ANOTHER_NODE)

    def _wait_for_other_node(self, run_id: int, wait_s: float) -> None:
        deadline = time.monotonic() + wait_s
        while self._claims.is_live(run_id) and time.monotonic() < deadline:
            time.sleep(LOOK_S)


def _may_run_again(claimed: ClaimedRun) -> bool:
    return claimed.run.trigger is Trigger.SCHEDULE and claimed.run.attempt <= ATTEMPTS


def _who(reason: str) -> str:
    return reason.removeprefix(BY_A_PERSON)
