"""Time as an argument: the one place that asks the machine for it, and calls that may take only so long."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

READ_EVERY_S = 10.0  # clocks of machines drift by less than a millisecond in that time
SLOW_S = 0.5  # that a database may take to say the time, and still be believed


class Clock(Protocol):
    """Tells the time; tests bring one that stands still."""

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only ever grow, for durations."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class StoreClock:
    """The clock of a database, by which all who share it go: a machine whose own clock is wrong does no harm.

    It is looked at now and then; in between the machine's monotonic clock goes on from there.
    """

    def __init__(self, ask: Callable[[], datetime], own: Clock | None = None) -> None:
        self._ask = ask
        self._own = own or SystemClock()
        self._known = self._read()[1:]  # one value, so that nobody sees half of a new one

    def now(self) -> datetime:
        read_at, then = self._known
        return then + timedelta(seconds=self._own.monotonic() - read_at)

    def monotonic(self) -> float:
        return self._own.monotonic()

    def follow(self) -> None:
        """Looks at the database's clock again, if that was some time ago; raises what asking it raises."""
        known_at, _ = self._known
        if self._own.monotonic() - known_at < READ_EVERY_S:
            return
        took_s, read_at, then = self._read()
        # an answer that took long says little, but a clock that has not been set for long says less
        if took_s <= SLOW_S or read_at - known_at >= 6 * READ_EVERY_S:
            self._known = read_at, then

    def _read(self) -> tuple[float, float, datetime]:
        """How long the answer took, and what time it was at which moment of our own."""
        before = self._own.monotonic()
        then = self._ask()
        after = self._own.monotonic()
        return after - before, (before + after) / 2, then


def ends_within(seconds: float, call: Callable[[], object], name: str) -> bool:
    """Makes the call in a thread of its own; False if it is still at work after that time, and is left to it.

    The call takes care of what it raises.
    """
    # a daemon: what never ends must not keep the process from ending
    thread = threading.Thread(target=call, name=name, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()
