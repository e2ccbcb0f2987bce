"""How full each source is, worked out now and then rather than for every page."""

import threading
from collections.abc import Callable, Mapping

from plugbay import Clock

from plugbay_scheduled_query.core.capacity import Capacity

FRESH_S = 30.0  # for so long a figure is good enough for a page


class Capacities:
    """Remembers what was measured."""

    def __init__(self, measure: Callable[[], Mapping[str, Capacity]], clock: Clock) -> None:
        self._measure = measure
        self._clock = clock
        self._lock = threading.Lock()
        self._known: tuple[float, Mapping[str, Capacity]] | None = None

    def by_source(self) -> Mapping[str, Capacity]:
        """Starts needed against starts possible, of every source."""
        with self._lock:
            now = self._clock.monotonic()
            if self._known is None or now - self._known[0] > FRESH_S:
                self._known = now, self._measure()
            return self._known[1]

    def forget(self) -> None:
        """A definition changed: the next to ask gets new figures."""
        with self._lock:
            self._known = None
