"""The pulse of a node: beats on a thread of its own while anything runs here, whatever else stops."""

import threading
from collections.abc import Callable

from plugbay import get_logger

BEAT_S = 0.5  # how soon a cancel from another node is seen

log = get_logger(__name__)


class Pulse:
    """Calls `beat` again and again while `is_wanted`; one that fails is followed by the next."""

    def __init__(self, beat: Callable[[], None], is_wanted: Callable[[], object]) -> None:
        self._beat = beat
        self._is_wanted = is_wanted
        self._is_failing = self._is_closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="scheduled-query-pulse", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """There may be something to beat for."""
        with self._changed:
            self._changed.notify()

    def close(self, patience_s: float = 10.0) -> None:
        """Beats no more."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join(patience_s)

    def _work(self) -> None:
        while self._waited():
            try:
                self._beat()
                self._is_failing = False
            except Exception as error:
                if not self._is_failing:  # once, not twice a second for as long as the store is away
                    log.error("pulse_failed", error=error)
                self._is_failing = True

    def _waited(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._is_closing, BEAT_S)
            self._changed.wait_for(lambda: self._is_closing or self._is_wanted())
            return not self._is_closing
