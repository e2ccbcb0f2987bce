"""Keeps the board of gauges true: at once for what happens here, at the next scrape for other nodes."""

import threading
from datetime import datetime, timedelta

from plugbay import Clock, get_logger

from plugbay_scheduled_query.gauges import GaugeBoard
from plugbay_scheduled_query.repository.housekeeping import REMEMBERED
from plugbay_scheduled_query.repository.samples import Reading, Samples

OVERLAP = timedelta(seconds=60)  # clocks of nodes differ, and a long transaction shows its changes late

log = get_logger("plugbay.scheduled_query")


class GaugeKeeper:
    """Reads everything once, then only what changed."""

    def __init__(self, samples: Samples, clock: Clock) -> None:
        self._samples = samples
        self._clock = clock
        self._lock = threading.Lock()
        self._board = GaugeBoard()
        self._versions: dict[int, object] = {}  # of what is on the board, as far as the overlap reaches
        self._seen_until: datetime | None = None

    def text(self) -> str:
        """The exposition of all gauges as the store has them now."""
        with self._lock:
            self._catch_up()
            return self._board.text()

    def refresh(self, query_id: int) -> None:
        """Something happened to a query here: its gauge is current from now on, or at the next scrape."""
        try:
            readings = self._samples.of([query_id])
            with self._lock:
                self._show(readings)
        except Exception:
            log.exception("metric_not_updated", id=query_id, reason="its gauge could not be read")

    def _catch_up(self) -> None:
        now = self._clock.now()
        # a clock that was set back hides changes, and of what was deleted long ago nothing is left to read
        if self._seen_until is None or not timedelta(0) <= now - self._seen_until < REMEMBERED / 2:
            self._start_afresh()
        else:
            self._follow(self._samples.changed_since(self._seen_until - OVERLAP))
        self._seen_until = now

    def _start_afresh(self) -> None:
        readings = self._samples.all()
        self._board.replace(())
        self._versions.clear()
        self._show(readings)

    def _follow(self, changed: dict[int, object]) -> None:
        """Reads what is not on the board in this version yet."""
        known = self._versions
        readings = self._samples.of([key for key, version in changed.items() if known.get(key) != version])
        self._versions = changed
        self._show(readings)

    def _show(self, readings: list[Reading]) -> None:
        for reading in readings:
            self._versions[reading.query_id] = reading.version
            if reading.sample:
                self._board.put(reading.sample)
            else:
                self._board.drop(reading.query_id)
