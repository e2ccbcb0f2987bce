"""The metrics of queries on /metrics: kept as ready text, and up to date with the store."""

import threading
from datetime import datetime, timedelta

from plugbay import Clock, get_logger

from plugbay_scheduled_query.core.model import Feed
from plugbay_scheduled_query.metrics.board import GaugeBoard
from plugbay_scheduled_query.repository.gauges import Publication, Reading, StoredGauges
from plugbay_scheduled_query.repository.pruning import REMEMBERED

OVERLAP = timedelta(seconds=60)  # clocks of nodes differ, and a long transaction shows its changes late

log = get_logger("plugbay.scheduled_query")


class GaugeKeeper:
    """Reads everything once, then only what others changed: what this node records it is told."""

    def __init__(self, stored: StoredGauges, clock: Clock) -> None:
        self._stored = stored
        self._clock = clock
        self._board = GaugeBoard()
        self._lock = threading.Lock()  # one scrape at a time looks into the store; the board has its own
        self._stale: set[int] = set()  # queries that must be read, whoever changed them
        self._seen: dict[int, datetime] = {}  # of what changed lately, what was read
        self._seen_until: datetime | None = None
        self._seen_stamp: object = None

    def text(self) -> bytes:
        """The exposition of everything as the store has it now."""
        with self._lock:
            stamp = self._stored.stamp()
            if stamp != self._seen_stamp or self._stale:
                self._seen_stamp = None
                self._catch_up()
                self._seen_stamp = stamp
        return self._board.text()

    def feed(self, feed: Feed) -> None:
        """Something was recorded here: the board has it from now on, or at the next scrape."""
        try:
            is_known = self._board.feed(feed)
        except Exception:
            log.exception("metric_not_updated", id=feed.query_id, reason="its text could not be written")
            is_known = False
        if not is_known:
            self._stale.add(feed.query_id)

    def publication(self, query_id: int) -> Publication | None:
        """What one query publishes, or would if it were switched on; as the store has it."""
        return self._stored.publication(query_id)

    def _catch_up(self) -> None:
        now = self._clock.now()
        # a clock that was set back hides changes, and of what was deleted long ago nothing is left to read
        if self._seen_until is None or not timedelta(0) <= now - self._seen_until < REMEMBERED / 2:
            self._start_afresh(now)
        else:
            self._follow(self._stored.changed_since(self._seen_until - OVERLAP))
        self._seen_until = now

    def _start_afresh(self, now: datetime) -> None:
        readings = self._stored.all()
        self._board.replace(reading.publication for reading in readings if reading.publication)
        self._seen = {reading.query_id: reading.changed_at for reading in readings}
        # what was recorded here while they were read is known by nobody else
        self._follow(self._stored.changed_since(now - OVERLAP, by_all=True))

    def _follow(self, changed: dict[int, datetime]) -> None:
        """Reads what is not on the board in this version yet."""
        stale = {self._stale.pop() for _ in range(len(self._stale))}
        newer = {key for key, changed_at in changed.items() if self._seen.get(key) != changed_at}
        try:
            readings = self._stored.of(sorted(newer | stale))
        except Exception:
            self._stale |= stale
            raise
        self._show(readings)
        for query_id in stale - {reading.query_id for reading in readings}:
            self._board.drop(query_id)
        self._seen = changed

    def _show(self, readings: list[Reading]) -> None:
        for reading in readings:
            if reading.publication:
                self._board.put(reading.publication)
            else:
                self._board.drop(reading.query_id, reading.changed_at)
