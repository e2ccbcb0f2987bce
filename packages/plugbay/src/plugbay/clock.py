"""Time as an argument: the one place that asks the machine for it, and calls that may take only so long."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol


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


def ends_within(seconds: float, call: Callable[[], object], name: str) -> bool:
    """Makes the call in a thread of its own; False if it is still at work after that time, and is left to it.

    The call takes care of what it raises.
    """
    # a daemon: what never ends must not keep the process from ending
    thread = threading.Thread(target=call, name=name, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()
