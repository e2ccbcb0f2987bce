"""Who publishes which metric name: two may share one only if Prometheus can tell their series apart."""

from collections.abc import Sequence
from hashlib import blake2b

import sqlalchemy as sa

from plugbay_scheduled_query.core.metric import clash
from plugbay_scheduled_query.core.model import MetricConfig
from plugbay_scheduled_query.core.text import quoted
from plugbay_scheduled_query.repository.rows import metrics_of
from plugbay_scheduled_query.tables import metric_names, queries

_NAME, _TYPE = metric_names.c.metric_name, metric_names.c.type
_LABEL, _VALUE = metric_names.c.first_label, metric_names.c.first_value
_OF_NAME = sa.bindparam("name") == _NAME
_OF_TYPE = _OF_NAME & (sa.bindparam("type") == _TYPE)
# ranges of the index: who has another type, another first label, or the same one with the same value
_ALIKE = sa.or_(
    _OF_NAME & (sa.bindparam("type") > _TYPE),
    _OF_NAME & (sa.bindparam("type") < _TYPE),
    _OF_TYPE & (sa.bindparam("label") > _LABEL),
    _OF_TYPE & (sa.bindparam("label") < _LABEL),
    _OF_TYPE & (sa.bindparam("label") == _LABEL) & (sa.bindparam("value") == _VALUE),
)
_OTHERS = (
    sa.select(queries.c.name, queries.c.metric_config)
    .join(metric_names, metric_names.c.query_id == queries.c.id)
    .where(_ALIKE, queries.c.id != sa.bindparam("but_for"))
    .order_by(queries.c.id)
)
_LOCK_NAME = sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtext(sa.bindparam("name"))))
_FORGET = sa.delete(metric_names).where(metric_names.c.query_id == sa.bindparam("b_query_id"))


class SeriesTaken(Exception):
    """Another query came to publish this metric a moment ago, and why both cannot."""


def clash_with(connection: sa.Connection, metric: MetricConfig, but_for: int | None = None) -> str | None:
    """Which other query publishes a metric that this one cannot stand beside, and why not."""
    label, value = _first(metric)
    wanted = {"name": metric.metric_name, "type": metric.kind.value, "label": label, "value": value}
    for name, text in connection.execute(_OTHERS, {**wanted, "but_for": but_for or 0}):
        for other in metrics_of(text):
            if reason := clash(metric, other):
                return f"the query {quoted(name)} already publishes this metric {reason}"
    return None


def take_names(connection: sa.Connection, query_id: int, metrics: Sequence[MetricConfig]) -> None:
    """Writes down what a query publishes from now on; raises SeriesTaken when another was quicker."""
    connection.execute(_FORGET, {"b_query_id": query_id})
    _lock_names(connection, metrics)
    for metric in metrics:
        if reason := clash_with(connection, metric, query_id):
            raise SeriesTaken(reason)
    rows = [_row(query_id, position, metric) for position, metric in enumerate(metrics)]
    if rows:
        connection.execute(sa.insert(metric_names), rows)


def _lock_names(connection: sa.Connection, metrics: Sequence[MetricConfig]) -> None:
    """Two who save the same name go one after the other; on SQLite whoever writes is alone anyway."""
    if connection.dialect.name != "sqlite":
        for name in sorted({metric.metric_name for metric in metrics}):
            connection.execute(_LOCK_NAME, {"name": name})


def _row(query_id: int, position: int, metric: MetricConfig) -> dict[str, object]:
    label, value = _first(metric)
    return {
        "query_id": query_id,
        "position": position,
        "metric_name": metric.metric_name,
        "type": metric.kind.value,
        "first_label": label,
        "first_value": value,
    }


def _first(metric: MetricConfig) -> tuple[str, str]:
    """The first fixed label by name, and a hash of its value, which may be long."""
    name = min(metric.labels, default="")
    return name, blake2b(metric.labels.get(name, "").encode(), digest_size=8).hexdigest()
