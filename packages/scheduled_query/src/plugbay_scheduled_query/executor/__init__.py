"""The parent's side of the runners: run SQL in child processes, within its limits, until someone says stop.

`pool` lends runners and replaces those that are gone, `child` talks to one of them, `time_limit` says when
each has to end.
"""

import threading
from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass, field
from typing import Any

from plugbay import Clock, SystemClock, get_logger

from plugbay_scheduled_query.core.errors import SourceRefusedError, SourceUnavailableError
from plugbay_scheduled_query.core.model import Outcome, Status
from plugbay_scheduled_query.core.source import Target
from plugbay_scheduled_query.dialects.contract import Report, Table
from plugbay_scheduled_query.executor.child import Child, Conversation, Reply, RunnerGoneError
from plugbay_scheduled_query.executor.pool import Pool, PoolClosedError, RunnerState
from plugbay_scheduled_query.executor.time_limit import (
    CANCEL_PATIENCE_S,
    CONNECT_LIMIT_S,
    LOOK_LIMIT_S,
    TimeLimit,
)
from plugbay_scheduled_query.runner.protocol import Caps, FrameKind, pack_json

ATTEMPTS = 3  # a runner that died while idle got nothing of the request, so another may have it
MEMORY_BYTES = 512_000_000
STOPPING = "the service is stopping"

log = get_logger(__name__)


@dataclass(frozen=True)
class Statement:
    """One statement to run on one source; the run's id is what it can be cancelled by."""

    run_id: Hashable
    target: Target
    sql: str
    timeout_s: float
    caps: Caps = field(default_factory=Caps)
    connect_s: float = CONNECT_LIMIT_S
    stopped_by: Callable[[], str] = str
    """Who cancelled it before it could be cancelled by its id; empty: nobody."""
    allowed_functions: frozenset[str] = frozenset()
    """What the operator lets through although no list knows it."""
    on_left: Callable[[str], object] | None = None
    """Told the mark of a session that may still be at it though the run is over; else it is just ended."""


class _Underway:
    """A statement that waits for a runner, or is in one."""

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
        self._underway: dict[Hashable, _Underway] = {}

    def run(self, statement: Statement) -> Outcome:
        """Run one statement to its end, whatever that is; never raises for what a query or source does."""
        place = _Underway()
        with self._lock:
            self._underway[statement.run_id] = place
            place.cancelled_by = statement.stopped_by() or None
        try:
            return self._outcome(place, statement)
        finally:
            with self._lock:
                self._underway.pop(statement.run_id, None)

    def cancel(self, run_id: Hashable, by: str) -> bool:
        """Stop a run; False when there is none of this id."""
        with self._lock:
            place = self._underway.get(run_id)
            if place is None:
                return False
            place.cancelled_by = place.cancelled_by or by
            child, number = place.child, place.number
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

    def end(self, target: Target, mark: str) -> bool:
        """End a session that was left behind; whether it was there. SourceUnavailableError: who knows."""
        return bool(self._look(target, "end", mark))

    def runners(self) -> list[RunnerState]:
        """The processes at work or ready for it."""
        return self._pool.states()

    def resize(self, max_runners: int) -> None:
        """Lets more or fewer runners be at work at the same time."""
        self._pool.resize(max_runners)

    def close(self) -> None:
        """End every runner and wait until all are gone; runs on their way end as failed."""
        self._pool.close()

    def _outcome(self, place: _Underway, statement: Statement) -> Outcome:
        started = self._clock.monotonic()
        reply = self._converse(place, statement, "run")
        duration_ms = round((self._clock.monotonic() - started) * 1000)
        if place.cancelled_by is not None:
            reason = f"cancelled by {place.cancelled_by}"
            return Outcome(Status.FAILED, duration_ms=duration_ms, error=reason)
        if reply.status == "success":
            return _success(reply, duration_ms)
        return Outcome(_status(reply), duration_ms=duration_ms, error=_reason(reply, statement))

    def _look(self, target: Target, ask: str, about: str = "") -> Any:
        statement = Statement(object(), target, about, LOOK_LIMIT_S)
        reply = self._converse(_Underway(), statement, ask)
        if reply.end.get("refused"):
            raise SourceRefusedError(_reason(reply, statement))
        if reply.status != "success":
            raise SourceUnavailableError(_reason(reply, statement))
        return reply.end["data"]

    def _leave(self, statement: Statement, mark: str) -> None:
        """Have somebody see to what a run has perhaps left running in the database."""
        if statement.on_left is not None:
            statement.on_left(mark)
            return
        end = Statement(object(), statement.target, mark, LOOK_LIMIT_S)
        threading.Thread(target=self._converse, args=(_Underway(), end, "end"), daemon=True).start()

    def _converse(self, place: _Underway, statement: Statement, ask: str) -> Reply:
        for _ in range(ATTEMPTS):
            try:
                reply = self._attempt(place, statement, ask)
            except RunnerGoneError as error:
                reply = Reply("failed", str(error), is_runner_sound=False)
            except PoolClosedError:
                return Reply("failed", STOPPING)
            else:
                break
        return Reply("failed", STOPPING) if self._pool.is_closed and not reply.is_runner_sound else reply

    def _attempt(self, place: _Underway, statement: Statement, ask: str) -> Reply:
        target = statement.target
        child = self._pool.take(target.dialect, target.key, lambda: place.cancelled_by is not None)
        if child is None:
            return Reply("cancelled")
        reply = None
        try:
            with self._lock:
                place.child, place.number = child, child.number
            is_cancelled = place.cancelled_by is not None
            reply = Reply("cancelled") if is_cancelled else self._ask(child, statement, ask)
            return reply
        finally:
            with self._lock:
                place.child = None
            self._pool.give_back(child, is_sound=reply is not None and reply.is_runner_sound)

    def _ask(self, child: Child, statement: Statement, ask: str) -> Reply:
        limit = TimeLimit(statement.timeout_s, statement.connect_s)
        conversation = Conversation(child, limit, statement.caps.result_bytes)
        reply = conversation.hold(_frame(statement, ask, child.number))
        if not reply.is_runner_sound:
            target, tell = statement.target, log.warning if reply.error else log.info
            tell("runner_replaced", dialect=target.dialect, reason=target.mask(reply.error or "it has grown"))
        if child.session and ask != "end" and reply.end.get("is_left", not reply.end):
            self._leave(statement, child.session)
        return reply


def _frame(statement: Statement, ask: str, number: int) -> bytes:
    target = statement.target
    content = {
        "number": number,
        "ask": ask,
        "dialect": target.dialect,
        "key": target.key,
        "params": target.params,
        "sql": statement.sql,
        "timeout_s": statement.timeout_s,
        "connect_s": statement.connect_s,
        "caps": asdict(statement.caps),
        "allowed_functions": sorted(statement.allowed_functions),
    }
    return pack_json(FrameKind.REQUEST, content)


def _success(reply: Reply, duration_ms: int) -> Outcome:
    end = reply.end
    text = reply.rows.decode("utf-8")
    return Outcome(
        Status.SUCCESS,
        tuple(end["columns"]),
        text,
        end["row_count"],
        end["truncated"],
        duration_ms,
        binary=frozenset(end["binary"]),
    )


def _status(reply: Reply) -> Status:
    return Status.TIMEOUT if reply.status == "timeout" else Status.FAILED


def _reason(reply: Reply, statement: Statement) -> str:
    if reply.status == "timeout":
        return f"the time limit of {statement.timeout_s:g} s was reached"
    return statement.target.mask(reply.error or "no reason given")
