"""How fast this process works, as of late: it takes on no more than it can do."""

from plugbay import Clock

WINDOW_S = 1.0


class Throughput:
    """Counts what gets done, a second at a time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since = clock.monotonic()
        self._done = 0
        self._last = 0

    def add(self, done: int) -> None:
        """So much more got done."""
        self._turn_over()
        self._done += done

    @property
    def per_second(self) -> int:
        """What got done in the last second, or already in this one if that is more."""
        self._turn_over()
        return max(self._last, self._done)

    def _turn_over(self) -> None:
        now = self._clock.monotonic()
        elapsed = now - self._since
        if elapsed >= WINDOW_S:
            self._last = round(self._done / elapsed)
            self._since, self._done = now, 0
