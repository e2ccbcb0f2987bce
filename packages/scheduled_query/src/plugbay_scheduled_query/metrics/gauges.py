"""The text format that Prometheus scrapes, line by line."""

import re
import threading
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from threading import Lock

from plugbay import Clock, get_logger

from plugbay_scheduled_query.core.model import Sample
from plugbay_scheduled_query.repository.gauges import Reading, Samples
from plugbay_scheduled_query.repository.pruning import REMEMBERED

MAX_HELP_TEXT = 1024  # characters of a query in its help line

# what some readers take for the end of a line, though the format knows only the line feed
_OTHER_LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def family_header(name: str, kind: str, help_text: str) -> str:
    """The help and type lines that stand before the samples of a metric."""
    return f"# HELP {name} {_escape_help(help_text)}\n# TYPE {name} {kind}\n"


def sample_line(name: str, labels: Mapping[str, str], value: float) -> str:
    """One sample."""
    # repr is the shortest text that reads back as the same float, also to Prometheus
    return f"{name}{_label_part(labels)} {float(value)!r}\n"


def gauge_help(query_text: str) -> str:
    """The specified help text of a query's gauge."""
    return f"metric for query {query_text[:MAX_HELP_TEXT]}"


def _label_part(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join([f'{name}="{_escape_label(value)}"' for name, value in labels.items()]) + "}"


def _escape_help(text: str) -> str:
    return _OTHER_LINE_ENDS.sub("\n", text).replace("\\", r"\\").replace("\n", r"\n")


def _escape_label(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


UP = "plugbay_query_up"
LAST_SUCCESS = "plugbay_query_last_success_timestamp_seconds"

_UP_HEADER = family_header(UP, "gauge", "Whether the last execution of the query succeeded (1) or not (0).")
_LAST_SUCCESS_HEADER = family_header(LAST_SUCCESS, "gauge", "When the query last succeeded, in Unix time.")


class GaugeBoard:
    """The latest sample of each query; any thread may write and read."""

    def __init__(self, samples: Iterable[Sample] = ()) -> None:
        self._lock = Lock()
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
            line = sample_line(sample.metric_name, sample.labels, sample.value)
            self._families.setdefault(sample.metric_name, {})[key] = _header(sample), line
            self._changed.add(sample.metric_name)
        if sample.is_up is not None:
            self._up[key] = sample_line(UP, who, sample.is_up)
        if sample.last_success_at is not None:
            self._last_success[key] = sample_line(LAST_SUCCESS, who, sample.last_success_at.timestamp())

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


def exposition(samples: Iterable[Sample]) -> str:
    """The text of these samples alone."""
    return GaugeBoard(samples).text()


def _header(sample: Sample) -> str:
    return family_header(sample.metric_name, "gauge", gauge_help(sample.query_text))


def _family_text(family: dict[int, tuple[str, str]]) -> str:
    """All samples of one metric name; queries may share it, and the lowest id gives the help text."""
    ordered = [family[query_id] for query_id in sorted(family)]
    return ordered[0][0] + "".join([line for _, line in ordered])


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
