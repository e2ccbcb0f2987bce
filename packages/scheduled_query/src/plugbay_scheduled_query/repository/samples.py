"""The gauges as the store keeps them: they survive a restart, and every node shows all of them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from plugbay import Store

from plugbay_scheduled_query.core.model import Sample
from plugbay_scheduled_query.repository.rows import Row, metric_of
from plugbay_scheduled_query.tables import queries, states

_COLUMNS = (
    queries.c.id,
    queries.c.name,
    queries.c.query,
    queries.c.metric_config,
    queries.c.enabled,
    queries.c.deleted_at,
    states.c.metric_value,
    states.c.last_status,
    states.c.last_success_at,
    states.c.changed_at,
)
_JOINED = sa.select(*_COLUMNS).select_from(queries.join(states, states.c.query_id == queries.c.id))
_SHOWN = _JOINED.where(
    queries.c.metric_config.is_not(None), queries.c.enabled, queries.c.deleted_at.is_(None)
)


class Samples:
    """Reads the gauges of all queries, or of those that changed."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self) -> list[Sample]:
        with self._store.connect() as connection:
            return [_sample(row) for row in connection.execute(_SHOWN)]

    def of(self, query_id: int) -> Sample | None:
        """The gauge of one query; None when it shows none."""
        with self._store.connect() as connection:
            row = connection.execute(_SHOWN.where(queries.c.id == query_id)).first()
        return _sample(row) if row else None

    def changed_since(self, moment: datetime) -> list[tuple[int, Sample | None]]:
        """The queries that changed, each with its gauge, or None when it shows none any more."""
        changed = _JOINED.where(states.c.changed_at > moment)
        with self._store.connect() as connection:
            rows: Sequence[Row] = connection.execute(changed).all()
        return [(row.id, _sample(row) if _is_shown(row) else None) for row in rows]


def _is_shown(row: Row) -> bool:
    return bool(row.metric_config and row.enabled and row.deleted_at is None)


def _sample(row: Any) -> Sample:
    metric = metric_of(row.metric_config)
    assert metric
    return Sample(
        query_id=row.id,
        query_name=row.name,
        query_text=row.query,
        metric_name=metric.metric_name,
        labels=metric.labels,
        value=row.metric_value,
        is_up=row.last_status == "success" if row.last_status else None,
        last_success_at=row.last_success_at,
    )
