"""The gauges as the store keeps them: they survive a restart, and every node shows all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from plugbay import Store

from plugbay_scheduled_query.core.model import Sample
from plugbay_scheduled_query.repository.rows import Row, metric_of
from plugbay_scheduled_query.tables import queries, states

_READ_AT_ONCE = 1000  # gauges, by their ids

# only compared, so that no text need become a time; the index has all of it
_VERSION = sa.type_coerce(states.c.changed_at, sa.String).label("version")
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
    _VERSION,
)
_JOINED = sa.select(*_COLUMNS).select_from(queries.join(states, states.c.query_id == queries.c.id))
_SHOWN = _JOINED.where(
    queries.c.metric_config.is_not(None), queries.c.enabled, queries.c.deleted_at.is_(None)
)
_OF = _JOINED.where(queries.c.id.in_(sa.bindparam("ids", expanding=True)))


@dataclass(frozen=True, slots=True)
class Reading:
    """The gauge of a query as of one version of it; None when it shows none."""

    query_id: int
    version: object
    sample: Sample | None


class StoredGauges:
    """Reads the gauges of all queries, or of some, and which of them changed."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self) -> list[Reading]:
        """Every gauge that is shown."""
        with self._store.connect() as connection:
            return [_reading(row) for row in connection.execute(_SHOWN)]

    def of(self, query_ids: Sequence[int]) -> list[Reading]:
        """The gauges of these queries, also of those that show none."""
        parts = [query_ids[n : n + _READ_AT_ONCE] for n in range(0, len(query_ids), _READ_AT_ONCE)]
        with self._store.connect() as connection:
            return [_reading(row) for part in parts for row in connection.execute(_OF, {"ids": part})]

    def changed_since(self, moment: datetime) -> dict[int, object]:
        """The queries that changed, each with its version."""
        changed = sa.select(states.c.query_id, _VERSION).where(states.c.changed_at > moment)
        with self._store.connect() as connection:
            found = connection.execute(changed)
            return {query_id: version for query_id, version in found}  # noqa: C416 - dict(found) is slower


def _reading(row: Row) -> Reading:
    return Reading(row.id, row.version, _sample(row) if _is_shown(row) else None)


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
