"""The parent's side of the runners: run SQL in child processes, within its limits, until someone says stop.

`pool` lends runners and replaces those that are gone, `child` talks to one of them, `time_limit` says when
each has to end.
"""

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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
from plugbay_scheduled_query.runner.protocol import Asked, Caps, Request

ATTEMPTS = 3  # a runner that died while idle got nothing of the request, so another may have it
MEMORY_BYTES = 512_000_000
STOPPING = "the service is stopping"

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
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

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self.child: Child | None = None
        self.number = 0
        self.cancelled_by: str | None = None

    @property
    def is_cancelled(self) -> bool:
        return self.cancelled_by is not None


Ended = Callable[[Statement, Outcome], object]
Returned = Callable[[list[tuple[Statement, str]]], object]
GiveBack = Callable[[Sequence[_Underway]], None]


class Executor:
    """Any thread may run, cancel and look; each call blocks until its answer is there."""

    def __init__(
        self,
        max_runners: int = 8,
        *,
        ahead: int = 2,
        asides: int = 8,
        memory_bytes: int = MEMORY_BYTES,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._pool = Pool(max_runners, ahead, asides, memory_bytes)
        self._lock = threading.Lock()
        self._underway: dict[Hashable, _Underway] = {}

    def run(self, statement: Statement) -> Outcome:
        """Run one statement to its end, whatever that is; never raises for what a query or source does."""
        outcomes: list[Outcome] = []
        self.run_slice([statement], lambda _, outcome: outcomes.append(outcome), _never, is_aside=True)
        return outcomes[0]

    def run_slice(
        self, statements: Sequence[Statement], ended: Ended, returned: Returned, is_aside: bool = False
    ) -> None:
        """Run statements for one source one after the other in one runner, and tell the end of each at once.

        When one of them takes its time, or the runner with it, those behind it come back at once, untouched,
        each with who cancelled it meanwhile; never the first. An aside is what somebody looks at: so many at
        a time, whatever the schedule has to do.
        """
        places = [self._enter(statement) for statement in statements]
        left = dict.fromkeys(places)

        def give_back(some: Sequence[_Underway]) -> None:
            self._leave(some)
            for place in some:
                del left[place]
            if some:
                returned([(place.statement, place.cancelled_by or "") for place in some])

        try:
            started: float | None = self._clock.monotonic()
            for reply, place in zip(self._converse(places, "run", is_aside, give_back), places, strict=False):
                if reply.status != "unbegun" or place is places[0]:
                    del left[place]
                    self._leave([place])
                    ended(place.statement, _outcome(place, reply, self._duration_ms(started, reply)))
                started = None
            give_back([*left])
        finally:
            self._leave(places)

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

    def _enter(self, statement: Statement) -> _Underway:
        place = _Underway(statement)
        with self._lock:
            self._underway[statement.run_id] = place
            place.cancelled_by = statement.stopped_by() or None
        return place

    def _duration_ms(self, started: float | None, reply: Reply) -> int:
        """Of the first, with the wait for a runner; the runner itself knows how long the others took."""
        if started is None:
            return int(reply.end.get("ms", 0))
        return round((self._clock.monotonic() - started) * 1000)

    def _leave(self, places: Iterable[_Underway]) -> None:
        with self._lock:
            for place in places:
                if self._underway.get(place.statement.run_id) is place:
                    del self._underway[place.statement.run_id]

    def _look(self, target: Target, ask: str, about: str = "") -> Any:
        place = _Underway(Statement(object(), target, about, LOOK_LIMIT_S))
        [reply] = self._converse([place], ask, is_aside=ask != "end")
        if reply.end.get("refused"):
            raise SourceRefusedError(_reason(reply, place.statement))
        if reply.status != "success":
            raise SourceUnavailableError(_reason(reply, place.statement))
        return reply.end["data"]

    def _see_to_session(self, statement: Statement, mark: str) -> None:
        """Have somebody see to what a run has perhaps left running in the database."""
        if statement.on_left is not None:
            statement.on_left(mark)
            return
        end = _Underway(Statement(object(), statement.target, mark, LOOK_LIMIT_S))
        converse = self._converse
        threading.Thread(target=lambda: list(converse([end], "end", False)), daemon=True).start()

    def _converse(
        self, places: list[_Underway], ask: str, is_aside: bool, give_back: GiveBack = lambda _: None
    ) -> Iterator[Reply]:
        """The replies to a slice, in order: at least one."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                yield from self._attempt(places, ask, is_aside, give_back)
                return
            except RunnerGoneError as error:
                if attempt == ATTEMPTS or self._pool.is_closed:
                    yield self._lost(str(error))
                    return
            except PoolClosedError:
                yield self._lost(STOPPING)
                return

    def _lost(self, error: str) -> Reply:
        return Reply("failed", STOPPING if self._pool.is_closed else error, is_runner_sound=False)

    def _attempt(
        self, places: list[_Underway], ask: str, is_aside: bool, give_back: GiveBack
    ) -> Iterator[Reply]:
        target, first = places[0].statement.target, places[0]
        child = self._pool.take(target.dialect, target.key, lambda: first.is_cancelled, is_aside)
        if child is None:
            yield Reply("cancelled")
            return
        is_sound = False
        try:
            with self._lock:
                for number, place in enumerate(places, child.last_number + 1):
                    place.child, place.number = child, number
                child.last_number += len(places)  # also if nothing is asked: a number is never used again
            reply = Reply("cancelled")
            if first.is_cancelled:
                yield reply
            else:
                self._cancel_early(child, places)
                for reply in self._ask(child, places, ask, give_back):
                    yield reply
            is_sound = reply.is_runner_sound  # only now: whoever stumbles in between leaves it at work
        finally:
            with self._lock:
                for place in places:
                    place.child = None
            self._pool.give_back(child, is_sound)

    def _ask(self, child: Child, places: list[_Underway], ask: str, give_back: GiveBack) -> Iterator[Reply]:
        limits = [TimeLimit(place.statement.timeout_s, place.statement.connect_s) for place in places]
        caps = places[0].statement.caps
        conversation = Conversation(child, limits, caps.result_bytes, lambda first: give_back(places[first:]))
        for reply, place in zip(conversation.hold(_frame(places, ask)), places, strict=False):
            self._see_to(child, place.statement, reply, ask)
            yield self._lost(reply.error or "") if self._is_cut_off(reply) else reply

    def _cancel_early(self, child: Child, places: list[_Underway]) -> None:
        """Tells the runner which statements were cancelled while the slice waited for it."""
        for place in places:
            if place.is_cancelled:
                child.cancel(place.number)

    def _is_cut_off(self, reply: Reply) -> bool:
        return self._pool.is_closed and not reply.is_runner_sound

    def _see_to(self, child: Child, statement: Statement, reply: Reply, ask: str) -> None:
        """Tells of a runner that is replaced, and has a session ended that may go on."""
        if not reply.is_runner_sound:
            target, tell = statement.target, log.warning if reply.error else log.info
            tell("runner_replaced", dialect=target.dialect, reason=target.mask(reply.error or "it has grown"))
        if child.session and ask != "end" and reply.end.get("is_left", not reply.end):
            self._see_to_session(statement, child.session)


def _never(left: list[tuple[Statement, str]]) -> None:
    """The first statement of a slice does not come back."""


def _frame(places: list[_Underway], ask: str) -> bytes:
    first = places[0].statement
    return Request(
        ask=ask,
        dialect=first.target.dialect,
        key=first.target.key,
        params=first.target.params,
        connect_s=first.connect_s,
        caps=first.caps,
        allowed_functions=first.allowed_functions,
        statements=[Asked(place.number, place.statement.sql, place.statement.timeout_s) for place in places],
    ).packed()


def _outcome(place: _Underway, reply: Reply, duration_ms: int) -> Outcome:
    if place.is_cancelled:
        reason = f"cancelled by {place.cancelled_by}"
        return Outcome(Status.FAILED, duration_ms=duration_ms, error=reason)
    if reply.status == "success":
        return _success(reply, duration_ms)
    return Outcome(_status(reply), duration_ms=duration_ms, error=_reason(reply, place.statement))


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
