"""Group commit: finished runs are recorded together, all that came in while the last group was written."""

import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime

from plugbay import get_logger

from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.repository.recording import Finished, Recorded, Recording

MOST_AT_ONCE = 128  # runs in one transaction: enough to share its cost, few enough to be quick
RETRY_S = 1.0  # between attempts while the store does not take anything

log = get_logger(__name__)

Listener = Callable[[list[Recorded]], None]


class Recorder:
    """One thread that writes; whoever submits goes on at once, and is told when it is on the disk."""

    def __init__(
        self,
        recording: Recording,
        now: Callable[[], datetime],
        keeping: Callable[[], Keeping],
        on_recorded: Listener,
    ) -> None:
        self._recording = recording
        self._now = now
        self._keeping = keeping
        self._on_recorded = on_recorded
        self._waiting: deque[Finished] = deque()
        self._changed = threading.Condition()
        self._is_closing = self._is_busy = False
        self._thread = threading.Thread(target=self._work, name="scheduled-query-recorder", daemon=True)
        self._thread.start()

    def is_idle_while(self, condition: Callable[[], bool]) -> bool:
        """Whether all that was submitted is on the disk and told, while the condition holds, too."""
        with self._changed:
            return not (self._waiting or self._is_busy) and condition()

    def submit(self, finished: Finished) -> None:
        with self._changed:
            self._waiting.append(finished)
            self._changed.notify()

    def close(self, patience_s: float = 10.0) -> None:
        """Writes what is there and ends; what the store does not take is recovered at the next start."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join(patience_s)

    def _work(self) -> None:
        while group := self._next_group():
            self._record(group)

    def _next_group(self) -> list[Finished]:
        with self._changed:
            self._is_busy = False
            self._changed.wait_for(lambda: self._waiting or self._is_closing)
            self._is_busy = bool(self._waiting)
            return [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_AT_ONCE))]

    def _record(self, group: list[Finished]) -> None:
        recorded = self._until_written(group)
        if recorded is None:
            return
        try:
            self._on_recorded(recorded)
        except Exception:
            log.exception("after_recording_failed")

    def _until_written(self, group: list[Finished]) -> list[Recorded] | None:
        """A store that is full or away gets the same group again: nothing vanishes while we live."""
        while True:
            try:
                return self._recording.record(group, self._now(), self._keeping())
            except Exception as error:
                log.error("record_failed", runs=len(group), error=error)
            with self._changed:
                if self._changed.wait_for(lambda: self._is_closing, RETRY_S):
                    return None
