"""How full each source is, worked out now and then rather than for every page."""

import threading
from collections.abc import Callable

from plugbay import Clock

from plugbay_scheduled_query.core.capacity import Capacity, Pace, measure
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.settings import Settings

FRESH_S = 30.0  # for so long a figure is good enough for a page


class Capacities:
    """Starts needed against starts possible, by source."""

    def __init__(self, definitions: Definitions, settings: Callable[[], Settings], clock: Clock) -> None:
        self._definitions = definitions
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._known: tuple[float, dict[str, Capacity]] | None = None

    def by_source(self) -> dict[str, Capacity]:
        """Of every source that has enabled queries."""
        with self._lock:
            now = self._clock.monotonic()
            if self._known is None or now - self._known[0] > FRESH_S:
                self._known = now, self._measure()
            return self._known[1]

    def forget(self) -> None:
        """A definition changed: the next to ask gets new figures."""
        with self._lock:
            self._known = None

    def pace(self) -> Pace:
        settings = self._settings()
        return Pace(settings.interval, settings.max_parallel)

    def _measure(self) -> dict[str, Capacity]:
        loads = self._definitions.loads(self._settings().timezone)
        pace, at = self.pace(), self._clock.now()
        return {name: measure(items, pace, at) for name, items in loads.items()}
