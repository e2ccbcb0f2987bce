"""Room on the disk of the store: with too little of it, executions are recorded without their results.

A store that has run full takes nothing any more, not even the news of it. So results, which are what fills
it, stop some time before, and all else goes on: the schedule, gauges, and the record of each execution.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from plugbay import Clock, get_logger

from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.settings import Settings

LOOK_S = 5.0  # how long a measurement counts: a result has 10 MB, so the floor is not missed by much

log = get_logger(__name__)


def free_bytes_at(folder: Path) -> int:
    """What an ordinary process may still write there."""
    room = os.statvfs(folder)
    return room.f_bavail * room.f_frsize


class DiskRoom:
    """Measures the disk now and then; for any thread. Without a measure (PostgreSQL's disk) there is room."""

    def __init__(
        self, clock: Clock, settings: Callable[[], Settings], measure: Callable[[], int] | None
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._measure = measure
        self._measured: tuple[float, int] | None = None
        self._was_short = False

    def free_bytes(self) -> int | None:
        """How much is free, as of a moment ago; None where nobody can tell."""
        if self._measure is None:
            return None
        now = self._clock.monotonic()
        if self._measured is None or now - self._measured[0] >= LOOK_S:
            self._measured = now, self._measure()
        return self._measured[1]

    def problem(self) -> str | None:
        """What everybody should know, in a sentence."""
        free, least = self.free_bytes(), self._settings().min_free_bytes
        is_short = free is not None and free < least
        self._tell(is_short, free)
        if not is_short or free is None:
            return None
        return (
            f"The disk of the store is nearly full: {free / 1e6:,.0f} MB are free,"
            f" fewer than {least / 1e6:,.0f} MB."
            " Queries run and are recorded, but their results are not kept until there is room again."
        )

    def keeping(self) -> Keeping:
        """What is kept of executions now."""
        return replace(self._settings().keeping, keeps_results=self.problem() is None)

    def _tell(self, is_short: bool, free: int | None) -> None:
        if is_short != self._was_short:
            self._was_short = is_short
            tell = log.error if is_short else log.info
            tell("disk_nearly_full" if is_short else "disk_has_room", free_bytes=free)
