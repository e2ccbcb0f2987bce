"""The samples of metrics with columns: kept in parts, of which recording replaces those that changed."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from plugbay_scheduled_query.core.exposition import key_of
from plugbay_scheduled_query.core.model import Block, MetricConfig, Part, Sampled
from plugbay_scheduled_query.tables import series

_IDS: sa.BindParameter[list[int]] = sa.bindparam("ids", expanding=True)
_DIGESTS = sa.select(series.c.query_id, series.c.metric_key, series.c.digest).where(
    series.c.query_id.in_(_IDS)
)
_OF_QUERY = series.c.query_id == sa.bindparam("b_query_id")
_OF_METRIC = _OF_QUERY & (series.c.metric_key == sa.bindparam("b_metric_key"))
_DELETE_PARTS = sa.delete(series).where(
    _OF_METRIC, series.c.digest.in_(sa.bindparam("b_digests", expanding=True))
)
_DELETE_OTHERS = sa.delete(series).where(
    _OF_QUERY, series.c.metric_key.not_in(sa.bindparam("b_keys", expanding=True))
)
_ALL_PARTS = sa.select(series.c.query_id, series.c.metric_key, series.c.size, series.c.text)
_PARTS = _ALL_PARTS.where(series.c.query_id.in_(_IDS))


class NewSeries(NamedTuple):
    """What the samples of one metric of a query are from now on."""

    query_id: int
    metric_key: str
    parts: Sequence[Part] = ()

    @property
    def block(self) -> Block:
        return Block(sum(part.size for part in self.parts), b"".join([part.text for part in self.parts]))


def sampled_series(
    query_id: int, sampled: Iterable[Sampled], current: Sequence[MetricConfig]
) -> list[NewSeries]:
    """Of the metrics that got samples, be it none, and still are the query's; the others stay as they are."""
    keys = {key_of(metric) for metric in current if not metric.is_plain}
    found = [NewSeries(query_id, key_of(one.metric), one.parts) for one in sampled if one.values is not None]
    return [one for one in found if one.metric_key in keys]


def dropped_series(query_id: int, metrics: Iterable[MetricConfig]) -> list[NewSeries]:
    """What a failure leaves of metrics that shall not outlive one."""
    return [
        NewSeries(query_id, key_of(metric))
        for metric in metrics
        if metric.is_dropped_on_failure and not metric.is_plain
    ]


def write_series(connection: sa.Connection, replaced: Sequence[NewSeries]) -> None:
    """Replaces the samples of these metrics; what did not change is not written."""
    if not replaced:
        return
    known = _digests(connection, {one.query_id for one in replaced})
    new: list[dict[str, object]] = []
    for one in replaced:
        before = known.get(one[:2], set())
        now = {part.digest: part for part in one.parts}
        if gone := sorted(before - now.keys()):
            connection.execute(_DELETE_PARTS, _key(one) | {"b_digests": gone})
        new += [_row(one, part) for digest, part in now.items() if digest not in before]
    if new:
        connection.execute(sa.insert(series), new)


def keep_series(connection: sa.Connection, query_id: int, metrics: Iterable[MetricConfig]) -> None:
    """Takes the samples of all other metrics of a query away."""
    keys = [key_of(metric) for metric in metrics]
    connection.execute(_DELETE_OTHERS, {"b_query_id": query_id, "b_keys": keys})


def read_series(
    connection: sa.Connection, query_ids: Sequence[int] | None = None
) -> dict[int, dict[str, Block]]:
    """The samples of these queries, or of all, ready to be sent."""
    if query_ids is None:
        rows = connection.execute(_ALL_PARTS)
    else:
        rows = connection.execute(_PARTS, {"ids": query_ids})
    parts: dict[int, dict[str, list[tuple[bytes, int]]]] = {}
    for query_id, metric_key, size, text in rows:
        parts.setdefault(query_id, {}).setdefault(metric_key, []).append((bytes(text), size))
    return {query_id: {key: _joined(found) for key, found in of.items()} for query_id, of in parts.items()}


def _joined(parts: list[tuple[bytes, int]]) -> Block:
    parts.sort()
    return Block(sum(size for _, size in parts), b"".join([text for text, _ in parts]))


def _digests(connection: sa.Connection, query_ids: set[int]) -> dict[tuple[int, str], set[str]]:
    found: dict[tuple[int, str], set[str]] = {}
    for query_id, metric_key, digest in connection.execute(_DIGESTS, {"ids": sorted(query_ids)}):
        found.setdefault((query_id, metric_key), set()).add(digest)
    return found


def _key(one: NewSeries) -> dict[str, object]:
    return {"b_query_id": one.query_id, "b_metric_key": one.metric_key}


def _row(one: NewSeries, part: Part) -> dict[str, object]:
    return {
        "query_id": one.query_id,
        "metric_key": one.metric_key,
        "digest": part.digest,
        "size": part.size,
        "text": part.text,
    }
