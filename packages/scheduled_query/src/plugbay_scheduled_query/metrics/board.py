"""The board of all that queries publish: pieces of ready text, joined when something changed."""

import threading
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from plugbay import metric_header, metric_sample

from plugbay_scheduled_query.core.exposition import key_of, lines_of
from plugbay_scheduled_query.core.model import Block, Feed, MetricConfig
from plugbay_scheduled_query.repository.gauges import Publication

MAX_HELP_TEXT = 1024  # characters of a query in its help line
NOTHING = Block(0, b"")

_HEALTH = {
    "plugbay_query_up": "Whether the last execution of the query succeeded (1) or not (0).",
    "plugbay_query_last_success_timestamp_seconds": "When the query last succeeded, in Unix time.",
    "plugbay_query_samples": "How many samples the metrics of the query have.",
    "plugbay_query_metric_problem": "Whether the latest result was not good for its metrics (1) or was (0).",
}

_Place = tuple[int, int]  # query and position: the lowest of a name gives the help text


class GaugeBoard:
    """The latest samples of each query; any thread may write and read."""

    def __init__(self, publications: Iterable[Publication] = ()) -> None:
        self._lock = threading.Lock()
        self._shown: dict[int, _Shown] = {}
        self._families: dict[str, dict[_Place, tuple[bytes, bytes]]] = {}  # header and lines of each metric
        self._pieces: dict[str, list[bytes]] = {}  # of each family, in the order of their names
        self._changed: set[str] = set()  # families whose pieces are out of date
        self._health: dict[str, dict[int, bytes]] = {name: {} for name in _HEALTH}
        self._ready: bytes | None = None
        for publication in publications:
            self.put(publication)

    def replace(self, publications: Iterable[Publication]) -> None:
        """Forgets everything but these."""
        with self._lock:
            self._shown, self._families, self._pieces, self._changed = {}, {}, {}, set()
            self._health = {name: {} for name in _HEALTH}
            self._ready = None
            for publication in publications:
                self._put(publication)

    def put(self, publication: Publication) -> None:
        """Shows a query as it is now, unless something newer is there already."""
        with self._lock:
            there = self._shown.get(publication.query_id)
            if there is None or there.publication.changed_at <= publication.changed_at:
                self._put(publication)

    def feed(self, feed: Feed) -> bool:
        """Takes over what an execution changed; False when the query must be read anew."""
        with self._lock:
            there = self._shown.get(feed.query_id)
            if there is None:
                return not feed.has_metrics
            known = there.publication
            if known.version != feed.version or not feed.has_metrics:
                return False
            if known.changed_at < feed.changed_at:
                self._put(_fed(known, feed), there)
            return True

    def drop(self, query_id: int, changed_at: datetime | None = None) -> None:
        """Takes everything about a query away, unless what is there came after that."""
        with self._lock:
            there = self._shown.get(query_id)
            if there and (changed_at is None or there.publication.changed_at <= changed_at):
                self._take_away(there)

    def text(self) -> bytes:
        """The exposition of everything; the same object as long as nothing changed."""
        with self._lock:
            if self._ready is None:
                self._refresh()
                pieces = [piece for family in self._pieces.values() for piece in family]
                for name, lines in self._health.items():
                    if lines:
                        pieces += [_HEALTH_HEADERS[name], *lines.values()]
                self._ready = b"".join(pieces)
            return self._ready

    def _put(self, publication: Publication, before: "_Shown | None" = None) -> None:
        self._ready = None
        shown = _Shown(publication, before)
        if before is None and (there := self._shown.get(publication.query_id)):
            self._take_metrics_away(there.publication)
        self._shown[publication.query_id] = shown
        for position, metric in enumerate(publication.metrics):
            self._put_metric(metric.metric_name, (publication.query_id, position), shown.lines[position])
        health = shown.health()
        for name, lines in self._health.items():
            if name in health:
                lines[publication.query_id] = health[name]
            else:
                lines.pop(publication.query_id, None)

    def _put_metric(self, name: str, place: _Place, lines: tuple[bytes, bytes]) -> None:
        family = self._families.setdefault(name, {})
        if lines[1]:
            family[place] = lines
        elif family.pop(place, None) is None:
            return
        if len(family) == 1 and name in self._pieces and lines[1]:
            self._pieces[name] = [*lines]
        else:
            self._changed.add(name)

    def _take_away(self, shown: "_Shown") -> None:
        self._ready = None
        query_id = shown.publication.query_id
        del self._shown[query_id]
        self._take_metrics_away(shown.publication)
        for lines in self._health.values():
            lines.pop(query_id, None)

    def _take_metrics_away(self, publication: Publication) -> None:
        for position, metric in enumerate(publication.metrics):
            self._put_metric(metric.metric_name, (publication.query_id, position), (b"", b""))

    def _refresh(self) -> None:
        """Writes the families anew that changed since the last scrape."""
        is_new = not self._changed <= self._pieces.keys()
        for name in self._changed:
            if family := self._families.get(name):
                ordered = [family[place] for place in sorted(family)]
                self._pieces[name] = [ordered[0][0], *[lines for _, lines in ordered]]
            else:
                self._families.pop(name, None)
                self._pieces.pop(name, None)
        self._changed.clear()
        if is_new:
            self._pieces = dict(sorted(self._pieces.items()))


class _Shown:
    """A query on the board, with what of its text does not change by an execution."""

    __slots__ = ("headers", "lines", "publication", "size", "who")

    def __init__(self, publication: Publication, before: "_Shown | None") -> None:
        self.publication = publication
        self.headers: list[bytes] = before.headers if before else _headers(publication)
        self.who: bytes = before.who if before else _who(publication)
        blocks = [block_of(publication, metric) for metric in publication.metrics]
        self.lines = [(header, block.text) for header, block in zip(self.headers, blocks, strict=True)]
        self.size = sum(block.size for block in blocks)

    def health(self) -> dict[str, bytes]:
        """The line of each health metric that has something to say."""
        shown, success = self.publication, self.publication.last_success_at
        numbers = {
            "plugbay_query_up": None if shown.is_up is None else float(shown.is_up),
            "plugbay_query_last_success_timestamp_seconds": success and success.timestamp(),
            "plugbay_query_samples": float(self.size),
            "plugbay_query_metric_problem": float(shown.problem is not None),
        }
        return {
            name: b"%s%s%r\n" % (name.encode(), self.who, number)
            for name, number in numbers.items()
            if number is not None
        }


def block_of(publication: Publication, metric: MetricConfig) -> Block:
    """The samples of one metric of a query, as they stand on /metrics now."""
    if metric.is_dropped_on_failure and publication.is_up is False:
        return NOTHING
    if not metric.is_plain:
        return publication.blocks.get(key_of(metric), NOTHING)
    if publication.value is None:
        return NOTHING
    return Block(1, lines_of(metric, {(): float(publication.value)})[0].encode(errors="replace"))


def publication_text(publication: Publication, most_lines: int) -> str:
    """What a query shows on /metrics, the first lines of each metric and how many there are beside."""
    pieces: list[bytes] = []
    for metric in publication.metrics:
        block = block_of(publication, metric)
        lines = block.text.splitlines(keepends=True)
        pieces += [header_of(metric, publication.query_text), *lines[:most_lines]]
        if block.size > most_lines:
            pieces.append(f"… and {block.size - most_lines:,} more\n".encode())
    return b"".join(pieces).decode()


def header_of(metric: MetricConfig, query_text: str) -> bytes:
    """The lines that say what a metric means and of which type it is."""
    meaning = metric.help or f"metric for query {query_text[:MAX_HELP_TEXT]}"
    return metric_header(metric.metric_name, meaning, metric.kind).encode(errors="replace")


def _fed(known: Publication, feed: Feed) -> Publication:
    return replace(
        known,
        changed_at=feed.changed_at,
        value=feed.value,
        blocks={**known.blocks, **feed.blocks},
        is_up=feed.is_up,
        last_success_at=feed.last_success_at,
        problem=feed.problem,
    )


def _headers(publication: Publication) -> list[bytes]:
    return [header_of(metric, publication.query_text) for metric in publication.metrics]


def _who(publication: Publication) -> bytes:
    labels = {"query_id": str(publication.query_id), "name": publication.query_name}
    return metric_sample("", labels, 0).removesuffix("0\n").encode(errors="replace")


_HEALTH_HEADERS = {name: metric_header(name, meaning).encode() for name, meaning in _HEALTH.items()}
