"""The gauges of all queries as ready text, so that a scrape only joins what is there."""

from collections.abc import Iterable
from threading import Lock

from plugbay_scheduled_query.core.exposition import family_header, gauge_help, sample_line
from plugbay_scheduled_query.core.model import Sample

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
