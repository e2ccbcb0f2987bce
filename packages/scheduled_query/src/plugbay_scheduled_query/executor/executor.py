"""Run SQL in child processes: within its time, within its limits, and cancelled when someone says so."""

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from plugbay import Clock, SystemClock, get_logger

from plugbay_scheduled_query.core.model import Outcome, Status
from plugbay_scheduled_query.core.source import SourceRefusedError, Target
from plugbay_scheduled_query.dialects.session import Report, Table
from plugbay_scheduled_query.executor.child import Child, RunnerGoneError
from plugbay_scheduled_query.executor.conversation import KILL_AFTER_S, Conversation, Reply
from plugbay_scheduled_query.executor.pool import Pool, PoolClosedError, RunnerState
from plugbay_scheduled_query.runner.protocol import Kind, pack_json
from plugbay_scheduled_query.runner.results import Caps

ATTEMPTS = 3  # a runner that died while idle got nothing of the request, so another may have it
CANCEL_PATIENCE_S = 1.0 + KILL_AFTER_S  # from the click to the end of the runner
LOOK_LIMIT_S = 10.0  # for a self-test or a list of tables
MEMORY_BYTES = 512_000_000
CONNECT_LIMIT_S = 10.0
STOPPING = "the service is stopping"

log = get_logger(__name__)


@dataclass(frozen=True)
class RunRequest:
    """One statement to run on one source; the run's id is what it can be cancelled by."""

    run_id: Hashable
    target: Target
    sql: str
    timeout_s: float
    caps: Caps = field(default_factory=Caps)
    connect_s: float = CONNECT_LIMIT_S
    stopped_by: Callable[[], str] = str
    """Who cancelled it before it could be cancelled by its id; empty: nobody."""


class SourceUnavailableError(Exception):
    """A source could not be looked at; the message says why, without its secrets."""


class _Run:
    """A run on its way: waiting for a runner, or in one."""

    def __init__(self) -> None:
        self.child: Child | None = None
        self.number = 0
        self.cancelled_by: str | None = None


class Executor:
    """Any thread may run, cancel and look; each call blocks until its answer is there."""

    def __init__(
        self,
        max_runners: int = 8,
        *,
        ahead: int = 2,
        memory_bytes: int = MEMORY_BYTES,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._pool = Pool(max_runners, ahead, memory_bytes)
        self._lock = threading.Lock()
        self._runs: dict[Hashable, _Run] = {}

    def run(self, request: RunRequest) -> Outcome:
        """Run one statement to its end, whatever that is; never raises for what a query or source does."""
        run = _Run()
        with self._lock:
            self._runs[request.run_id] = run
            run.cancelled_by = request.stopped_by() or None
        try:
            return self._outcome(run, request)
        finally:
            with self._lock:
                self._runs.pop(request.run_id, None)

    def cancel(self, run_id: Hashable, by: str) -> bool:
        """Stop a run; False when there is none of this id."""
        with self._lock:
            run = self._runs.get(run_id)
            if run is None:
                return False
            run.cancelled_by = run.cancelled_by or by
            child, number = run.child, run.number
        if child is None:
            self._pool.wake()
        else:
            child.cancel(number)
            self._pool.kill_later(child, number, CANCEL_PATIENCE_S)
        return True

    def tables(self, target: Target) -> list[Table]:
        """The tables and columns of a source, read under the same guards as a query."""
        found = self._look(target, "tables")
        return [Table(table["schema"], table["name"], list(map(tuple, table["columns"]))) for table in found]

    def self_test(self, target: Target) -> Report:
        """What the account of a source can do; raises SourceUnavailableError when it cannot be reached."""
        found = self._look(target, "self_test")
        return Report(found["server"], tuple(found["warnings"]), tuple(found["statements"]))

    def runners(self) -> list[RunnerState]:
        """The processes at work or ready for it."""
        return self._pool.states()

    def resize(self, max_runners: int) -> None:
        """Lets more or fewer runners be at work at the same time."""
        self._pool.resize(max_runners)

    def close(self) -> None:
        """End every runner and wait until all are gone; runs on their way end as failed."""
        self._pool.close()

    def _outcome(self, run: _Run, request: RunRequest) -> Outcome:
        started = self._clock.monotonic()
        reply = self._converse(run, request, "run")
        duration_ms = round((self._clock.monotonic() - started) * 1000)
        if run.cancelled_by is not None:
            return Outcome(Status.FAILED, duration_ms=duration_ms, error=f"cancelled by {run.cancelled_by}")
        if reply.status == "success":
            return _success(reply, duration_ms)
        status = Status.TIMEOUT if reply.status == "timeout" else Status.FAILED
        return Outcome(status, duration_ms=duration_ms, error=_reason(reply, request))

    def _look(self, target: Target, ask: str) -> Any:
        request = RunRequest(object(), target, "", LOOK_LIMIT_S)
        reply = self._converse(_Run(), request, ask)
        if reply.end.get("refused"):
            raise SourceRefusedError(_reason(reply, request))
        if reply.status != "success":
            raise SourceUnavailableError(_reason(reply, request))
        return reply.end["data"]

    def _end_session(self, target: Target, number: int) -> None:
        """Have another runner end what one that is gone has left running in the database."""
        request = RunRequest(object(), target, str(number), LOOK_LIMIT_S)
        threading.Thread(target=self._converse, args=(_Run(), request, "end"), daemon=True).start()

    def _converse(self, run: _Run, request: RunRequest, ask: str) -> Reply:
        for _ in range(ATTEMPTS):
            try:
                reply = self._attempt(run, request, ask)
            except RunnerGoneError as error:
                reply = Reply("failed", str(error), is_runner_sound=False)
            except PoolClosedError:
                return Reply("failed", STOPPING)
            else:
                break
        return Reply("failed", STOPPING) if self._pool.is_closed and not reply.is_runner_sound else reply

    def _attempt(self, run: _Run, request: RunRequest, ask: str) -> Reply:
        target = request.target
        child = self._pool.take(target.dialect, target.key, lambda: run.cancelled_by is not None)
        if child is None:
            return Reply("cancelled")
        is_sound = False
        try:
            with self._lock:
                run.child, run.number = child, child.number
            if run.cancelled_by is not None:
                is_sound = True
                return Reply("cancelled")
            conversation = Conversation(
                child, request.timeout_s, request.connect_s, request.caps.result_bytes
            )
            reply = conversation.hold(_frame(request, ask, child.number))
            is_sound = reply.is_runner_sound
            if not is_sound:
                tell = log.warning if reply.error else log.info
                reason = target.mask(reply.error or "it has grown")
                tell("runner_replaced", dialect=target.dialect, reason=reason)
            if not is_sound and not reply.end and child.session and ask != "end":
                self._end_session(target, child.session)
            return reply
        finally:
            with self._lock:
                run.child = None
            self._pool.give_back(child, is_sound)


def _frame(request: RunRequest, ask: str, number: int) -> bytes:
    target = request.target
    content = {
        "number": number,
        "ask": ask,
        "dialect": target.dialect,
        "key": target.key,
        "params": target.params,
        "sql": request.sql,
        "timeout_s": request.timeout_s,
        "connect_s": request.connect_s,
        "caps": request.caps.as_dict(),
    }
    return pack_json(Kind.REQUEST, content)


def _success(reply: Reply, duration_ms: int) -> Outcome:
    end = reply.end
    text = reply.rows.decode("utf-8")
    return Outcome(
        Status.SUCCESS, tuple(end["columns"]), text, end["row_count"], end["truncated"], duration_ms
    )


def _reason(reply: Reply, request: RunRequest) -> str:
    if reply.status == "timeout":
        return f"the time limit of {request.timeout_s:g} s was reached"
    return request.target.mask(reply.error or "no reason given")
