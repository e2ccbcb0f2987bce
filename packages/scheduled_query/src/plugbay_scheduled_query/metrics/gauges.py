"""The gauges of queries on /metrics: kept as text, and up to date with the store."""

import threading
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from plugbay import Clock, get_logger, metric_header, metric_sample

from plugbay_scheduled_query.core.model import MetricConfig, Sample
from plugbay_scheduled_query.repository.gauges import Reading, StoredGauges
from plugbay_scheduled_query.repository.pruning import REMEMBERED

MAX_HELP_TEXT = 1024  # characters of a query in its help line
OVERLAP = timedelta(seconds=60)  # clocks of nodes differ, and a long transaction shows its changes late
UP = "plugbay_query_up"
LAST_SUCCESS = "plugbay_query_last_success_timestamp_seconds"

_UP_HEADER = metric_header(UP, "Whether the last execution of the query succeeded (1) or not (0).")
_LAST_SUCCESS_HEADER = metric_header(LAST_SUCCESS, "When the query last succeeded, in Unix time.")

log = get_logger("plugbay.scheduled_query")


def gauge_text(metric: MetricConfig, query_text: str, value: float | None) -> str:
    """One gauge as /metrics shows it; before its first value, the lines that stand before that."""
    header = _header(metric.metric_name, query_text)
    return (
        header if value is None else header + metric_sample(metric.metric_name, metric.labels, float(value))
    )


class GaugeKeeper:
    """Reads everything once, then only what changed."""

    def __init__(self, stored: StoredGauges, clock: Clock) -> None:
        self._stored = stored
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

    def refresh(self, query_ids: Sequence[int]) -> None:
        """Something happened to queries here: their gauges are current from now on, or at the next scrape."""
        try:
            readings = self._stored.of(query_ids)
            with self._lock:
                self._show(readings)
        except Exception:
            log.exception("metrics_not_updated", ids=query_ids, reason="their gauges could not be read")

    def _catch_up(self) -> None:
        now = self._clock.now()
        # a clock that was set back hides changes, and of what was deleted long ago nothing is left to read
        if self._seen_until is None or not timedelta(0) <= now - self._seen_until < REMEMBERED / 2:
            self._start_afresh()
        else:
            self._follow(self._stored.changed_since(self._seen_until - OVERLAP))
        self._seen_until = now

    def _start_afresh(self) -> None:
        readings = self._stored.all()
        self._board.replace(())
        self._versions.clear()
        self._show(readings)

    def _follow(self, changed: dict[int, object]) -> None:
        """Reads what is not on the board in this version yet."""
        known = self._versions
        readings = self._stored.of([key for key, version in changed.items() if known.get(key) != version])
        self._versions = changed
        self._show(readings)

    def _show(self, readings: list[Reading]) -> None:
        for reading in readings:
            self._versions[reading.query_id] = reading.version
            if reading.sample:
                self._board.put(reading.sample)
            else:
                self._board.drop(reading.query_id)


class GaugeBoard:
    """The latest sample of each query; any thread may write and read."""

    def __init__(self, samples: Iterable[Sample] = ()) -> None:
        self._lock = threading.Lock()
        self._names: dict[int, str] = {}
        self._families: dict[str, dict[int, tuple[str, str]]] = {}  # header and line of each query
        self._texts: dict[str, str] = {}  # of each family, in the order of their names
        self._changed: set[str] = set()
        self._up: dict[int, str] = {}
        self._last_success: dict[int, str] = {}
        self.replace(samples)

    def replace(self, samples: Iterable[Sample]) -> None:
        """Forgets everything but these."""
        with self._lock:
            for kept in (self._names, self._families, self._texts, self._up, self._last_success):
                kept.clear()
            for sample in samples:
                self._put(sample)

    def put(self, sample: Sample) -> None:
        """Shows the newest state of a query in place of what was there."""
        with self._lock:
            self._put(sample)

    def drop(self, query_id: int) -> None:
        """Takes everything about a query away."""
        with self._lock:
            self._drop_gauge(query_id)
            self._up.pop(query_id, None)
            self._last_success.pop(query_id, None)

    def text(self) -> str:
        """The exposition of all gauges, and beside them of how fresh they are."""
        with self._lock:
            self._refresh()
            parts = list(self._texts.values())
            for header, lines in ((_UP_HEADER, self._up), (_LAST_SUCCESS_HEADER, self._last_success)):
                if lines:
                    parts += [header, *lines.values()]
            return "".join(parts)

    def _put(self, sample: Sample) -> None:
        key, who = sample.query_id, {"query_id": str(sample.query_id), "name": sample.query_name}
        if sample.value is None or self._names.get(key) != sample.metric_name:
            self._drop_gauge(key)
        if sample.value is not None:
            self._names[key] = sample.metric_name
            line = metric_sample(sample.metric_name, sample.labels, float(sample.value))
            header = _header(sample.metric_name, sample.query_text)
            self._families.setdefault(sample.metric_name, {})[key] = header, line
            self._changed.add(sample.metric_name)
        if sample.is_up is not None:
            self._up[key] = metric_sample(UP, who, float(sample.is_up))
        if sample.last_success_at is not None:
            self._last_success[key] = metric_sample(LAST_SUCCESS, who, sample.last_success_at.timestamp())

    def _drop_gauge(self, query_id: int) -> None:
        name = self._names.pop(query_id, None)
        if name is not None:
            del self._families[name][query_id]
            self._changed.add(name)

    def _refresh(self) -> None:
        """Writes the families anew that changed since the last scrape."""
        is_new = not self._changed <= self._texts.keys()
        for name in self._changed:
            if family := self._families.get(name):
                self._texts[name] = _family_text(family)
            else:
                self._families.pop(name, None)
                self._texts.pop(name, None)
        self._changed.clear()
        if is_new:
            self._texts = dict(sorted(self._texts.items()))


def _header(metric_name: str, query_text: str) -> str:
    return metric_header(metric_name, f"metric for query {query_text[:MAX_HELP_TEXT]}")


def _family_text(family: dict[int, tuple[str, str]]) -> str:
    """All samples of one metric name; queries may share it, and the lowest id gives the help text."""
    ordered = [family[query_id] for query_id in sorted(family)]
    return ordered[0][0] + "".join([line for _, line in ordered])
