"""The runners: two ahead, more on demand up to the limit, each replaced when it is gone."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from plugbay import get_logger

from plugbay_scheduled_query.executor.child import FAREWELL_S, Child, RunnerGoneError

IDLE_LIMIT_S = 60.0  # what is not used for this long, beyond those ahead, is let go
EXCHANGE_AFTER_S = 0.5  # idle for so long, a runner makes room for one of another dialect that somebody wants
RETRY_START_S = 1.0  # after a start that the system refused
LOOK_AT_DYING_S = 0.02
ANY = -1  # in place of the number of a statement

log = get_logger(__name__)


class PoolClosedError(Exception):
    """The service is stopping."""


@dataclass(frozen=True)
class RunnerState:
    """What can be seen of a runner from outside."""

    pid: int
    dialect: str | None
    is_busy: bool


class Pool:
    """Lends runners to threads; a thread of its own, the keeper, starts and ends them."""

    def __init__(self, most: int, ahead: int, asides: int, memory_bytes: int) -> None:
        self._most = most
        self._asides = asides
        self._out = 0  # asides that have a runner, or the right to one
        self._ahead = min(ahead, most)
        self._memory_bytes = memory_bytes
        lock = threading.Lock()
        self._changed = threading.Condition(lock)
        self._keeper_wanted = threading.Condition(lock)
        self._idle: list[Child] = []  # the one used last is at the end
        self._busy: dict[Child, bool] = {}  # whether it was lent for an aside
        self._dying: dict[Child, float] = {}  # when patience ends
        self._doomed: dict[Child, dict[int, float]] = {}  # when to kill, if still at that statement
        self._wanted: list[str] = []  # the dialects that threads wait for
        self._start_error: str | None = None
        self.is_closed = False
        # a runner ends with the thread that started it (Linux), so that thread must outlive them all
        self._keeper = threading.Thread(target=self._keep, name="runner-keeper", daemon=True)
        self._keeper.start()

    def resize(self, most: int) -> None:
        """Another limit: more may start at once, surplus ones go when they have been idle for a while."""
        with self._changed:
            self._most = most
            self._keeper_wanted.notify()

    def take(
        self, dialect: str, key: str, is_given_up: Callable[[], bool], is_aside: bool = False
    ) -> Child | None:
        """A runner of this dialect, best one that knows the source; None when the caller gave up waiting.

        Of asides only so many have one at a time: the rest of the runners is there for the others.
        """
        with self._changed:
            if is_aside:
                self._changed.wait_for(lambda: self._out < self._asides or self.is_closed or is_given_up())
                self._out += 1
            child = None
            try:
                child = self._pick(dialect, key) or self._await_runner(dialect, key, is_given_up)
            finally:
                if is_aside and child is None:
                    self._out -= 1
                    self._changed.notify_all()
            if child is not None:
                child.dialect, child.key = dialect, key
                self._busy[child] = is_aside
                if len(self._idle) < self._ahead:
                    self._keeper_wanted.notify()
            return child

    def _await_runner(self, dialect: str, key: str, is_given_up: Callable[[], bool]) -> Child | None:
        self._wanted.append(dialect)
        try:
            while not is_given_up():
                if child := self._pick(dialect, key):
                    return child
                if self._start_error is not None:
                    raise RunnerGoneError(f"no runner can be started: {self._start_error}")
                self._keeper_wanted.notify()
                self._changed.wait()
        finally:
            self._wanted.remove(dialect)
        return None

    def _pick(self, dialect: str, key: str) -> Child | None:
        if self.is_closed:
            raise PoolClosedError
        while fitting := [child for child in self._idle if child.dialect in (dialect, None)]:
            best = max(
                fitting, key=lambda child: (child.key == key, child.dialect is not None, child.last_used)
            )
            self._idle.remove(best)
            if not best.has_died_idle():
                return best
            self._let_die(best)
        return None

    def give_back(self, child: Child, is_sound: bool) -> None:
        """Take a runner back; one that misbehaved is replaced."""
        with self._changed:
            is_aside = self._busy.pop(child)
            self._out -= is_aside
            self._doomed.pop(child, None)
            child.last_used = time.monotonic()
            if is_sound and not self.is_closed:
                self._idle.append(child)
            else:
                self._let_die(child)
            if self._wanted or is_aside:
                self._changed.notify_all()

    def kill_later(self, child: Child, number: int, after_s: float) -> None:
        """End a runner in a while, if it is still at the statement of this number by then."""
        with self._changed:
            if child in self._busy and child.number <= number:
                # who asks again does not put it off
                self._doomed.setdefault(child, {}).setdefault(number, time.monotonic() + after_s)
                self._keeper_wanted.notify()

    def wake(self) -> None:
        """Let those who wait for a runner look whether they still want one."""
        with self._changed:
            self._changed.notify_all()

    def states(self) -> list[RunnerState]:
        """All runners, for whoever watches over them."""
        with self._changed:
            idle = [RunnerState(child.process.pid, child.dialect, False) for child in self._idle]
            return idle + [RunnerState(child.process.pid, child.dialect, True) for child in self._busy]

    def close(self) -> None:
        """End all runners, busy ones too, and wait until they are gone."""
        with self._changed:
            self.is_closed = True
            for child in self._idle:
                self._let_die(child)
            self._idle.clear()
            for child in self._busy:
                child.hang_up()
                self._doomed[child] = {ANY: time.monotonic() + FAREWELL_S}
            self._changed.notify_all()
            self._keeper_wanted.notify()
        self._keeper.join()

    def _let_die(self, child: Child) -> None:
        child.hang_up()
        self._dying[child] = time.monotonic() + FAREWELL_S
        self._keeper_wanted.notify()

    def _unserved(self) -> tuple[int, list[Child]]:
        """How many of those who wait no idle runner fits, and the idle ones that nobody waits for."""
        free, unserved = list(self._idle), 0
        for dialect in self._wanted:
            fitting = [child for child in free if child.dialect in (dialect, None)]
            if fitting:
                free.remove(fitting[-1])
            else:
                unserved += 1
        return unserved, free

    def _keep(self) -> None:
        with self._changed:
            while True:
                self._end_the_doomed()
                self._bury_the_dead()
                self._let_idle_go()
                if self.is_closed and not self._busy and not self._dying:
                    return
                if not self.is_closed and self._has_place_for_one():
                    self._start_one()
                else:
                    self._keeper_wanted.wait(self._pause())

    def _has_place_for_one(self) -> bool:
        unserved, free = self._unserved()
        if len(self._idle) + len(self._busy) < self._most:
            return unserved > 0 or len(free) < self._ahead
        if unserved and free and self._may_exchange(free[0]):
            self._idle.remove(free[0])
            self._let_die(free[0])
            return True
        return False

    def _may_exchange(self, idle: Child) -> bool:
        """All places are taken: a runner that is idle for a moment only will be wanted again at once."""
        is_unused = time.monotonic() - idle.last_used >= EXCHANGE_AFTER_S
        known = {child.dialect for child in (*self._idle, *self._busy)}
        return is_unused or not known.issuperset(self._wanted)

    def _start_one(self) -> None:
        self._changed.release()  # starting takes a while, and lending goes on
        try:
            child = Child(self._memory_bytes)
        except OSError as error:
            child = None
            reason = error.strerror or str(error)
        finally:
            self._changed.acquire()
        if child is None:
            log.error("runner_not_started", reason=reason)
            self._start_error = reason
            self._changed.notify_all()
            self._keeper_wanted.wait(RETRY_START_S)
            return
        self._start_error = None
        if self.is_closed:
            self._let_die(child)
        else:
            self._idle.insert(0, child)
        self._changed.notify_all()

    def _end_the_doomed(self) -> None:
        now = time.monotonic()
        for child, dues in list(self._doomed.items()):
            for number in [number for number, due in dues.items() if now >= due]:
                del dues[number]
                if child in self._busy and number in (child.number, ANY):
                    child.kill()

    def _bury_the_dead(self) -> None:
        now = time.monotonic()
        for child, patience_end in list(self._dying.items()):
            if child.process.poll() is not None:
                child.close()
                del self._dying[child]
            elif now >= patience_end:
                child.kill()

    def _let_idle_go(self) -> None:
        now = time.monotonic()
        while len(self._idle) > self._ahead and now - self._idle[0].last_used >= IDLE_LIMIT_S:
            self._let_die(self._idle.pop(0))

    def _pause(self) -> float | None:
        now = time.monotonic()
        pauses = [LOOK_AT_DYING_S] if self._dying else []
        pauses += [max(0.0, due - now) for dues in self._doomed.values() for due in dues.values()]
        if self._wanted and self._idle:
            pauses.append(max(LOOK_AT_DYING_S, self._idle[0].last_used + EXCHANGE_AFTER_S - now))
        if len(self._idle) > self._ahead:
            pauses.append(max(0.0, self._idle[0].last_used + IDLE_LIMIT_S - now))
        return min(pauses, default=None)
