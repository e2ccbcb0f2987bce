"""The gauges of all queries as ready text, so that a scrape only joins what is there."""

from collections.abc import Iterable
from threading import Lock

from plugbay_scheduled_query.core.exposition import family_header, gauge_help, sample_line
from plugbay_scheduled_query.core.model import Sample

UP = "plugbay_query_up"
LAST_SUCCESS = "plugbay_query_last_success_timestamp_seconds"

_UP_HEADER = family_header(UP, "gauge", "Whether the last execution of the query succeeded (1) or not (0).")
_LAST_SUCCESS_HEADER = family_header(LAST_SUCCESS, "gauge", "When the query last succeeded, in Unix time.")


class _Family:
    """All samples of one metric name; queries may share it, and the lowest id gives the help text."""

    def __init__(self) -> None:
        self._lines: dict[int, tuple[str, str]] = {}
        self._text: str | None = None

    def put(self, query_id: int, header: str, line: str) -> None:
        self._lines[query_id] = header, line
        self._text = None

    def drop(self, query_id: int) -> None:
        self._lines.pop(query_id, None)
        self._text = None

    def is_empty(self) -> bool:
        return not self._lines

    def text(self) -> str:
        if self._text is None:
            ordered = sorted(self._lines.items())
            _, (header, _) = ordered[0]
            self._text = header + "".join([line for _, (_, line) in ordered])
        return self._text


class GaugeBoard:
    """The latest sample of each query; any thread may write and read."""

    def __init__(self, samples: Iterable[Sample] = ()) -> None:
        self._lock = Lock()
        self._names: dict[int, str] = {}
        self._families: dict[str, _Family] = {}
        self._up: dict[int, str] = {}
        self._last_success: dict[int, str] = {}
        self.replace(samples)

    def replace(self, samples: Iterable[Sample]) -> None:
        """Forgets everything but these."""
        with self._lock:
            for kept in (self._names, self._families, self._up, self._last_success):
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
            parts = [self._families[name].text() for name in sorted(self._families)]
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
            family = self._families.setdefault(sample.metric_name, _Family())
            family.put(key, _header(sample), sample_line(sample.metric_name, sample.labels, sample.value))
        if sample.is_up is not None:
            self._up[key] = sample_line(UP, who, sample.is_up)
        if sample.last_success_at is not None:
            self._last_success[key] = sample_line(LAST_SUCCESS, who, sample.last_success_at.timestamp())

    def _drop_gauge(self, query_id: int) -> None:
        name = self._names.pop(query_id, None)
        if name is not None:
            self._families[name].drop(query_id)
            if self._families[name].is_empty():
                del self._families[name]


def exposition(samples: Iterable[Sample]) -> str:
    """The text of these samples alone."""
    return GaugeBoard(samples).text()


def _header(sample: Sample) -> str:
    return family_header(sample.metric_name, "gauge", gauge_help(sample.query_text))
