"""Whether an admin paused all queries: known a moment late, and on every node."""

from collections.abc import Callable

from plugbay import Clock, get_logger

FRESH_S = 0.5  # for so long a thousand runs ask once: a pause counts within two seconds everywhere
LOOK_S = 1.0  # how often a node with runs that wait looks whether the pause is over

log = get_logger(__name__)


class Hold:
    """What the store said last; while it lasts, the store is asked each time."""

    def __init__(self, clock: Clock, ask: Callable[[], bool]) -> None:
        self._clock = clock
        self._ask = ask
        self._asked_at: float | None = None
        self.is_known = False  # as of the last look

    def is_on(self) -> bool:
        now = self._clock.monotonic()
        if self.is_known or self._asked_at is None or now - self._asked_at >= FRESH_S:
            self._asked_at = now
            self._look()
        return self.is_known

    def _look(self) -> None:
        try:
            self.is_known = self._ask()
        except Exception as error:  # whoever asks has a run in hand, which must go on
            log.error("pause_not_known", error=error)
