"""What queries publish, as the store keeps it: it survives a restart, and every node shows all of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa
from plugbay import Store

from plugbay_scheduled_query.core.model import Block, MetricConfig
from plugbay_scheduled_query.repository.rows import Row, metrics_of
from plugbay_scheduled_query.repository.series import read_series
from plugbay_scheduled_query.tables import queries, states

_READ_AT_ONCE = 1000  # queries, by their ids

_COLUMNS = (
    queries.c.id,
    queries.c.name,
    queries.c.query,
    queries.c.metric_config,
    queries.c.version,
    queries.c.enabled,
    queries.c.deleted_at,
    states.c.metric_value,
    states.c.metric_problem,
    states.c.last_status,
    states.c.last_success_at,
    states.c.changed_at,
)
_JOINED = sa.select(*_COLUMNS).select_from(queries.join(states, states.c.query_id == queries.c.id))
_SHOWN = _JOINED.where(
    queries.c.metric_config.is_not(None), queries.c.enabled, queries.c.deleted_at.is_(None)
)
_OF = _JOINED.where(queries.c.id.in_(sa.bindparam("ids", expanding=True)))
_CHANGED = sa.select(states.c.query_id, states.c.changed_at).where(
    states.c.changed_at > sa.bindparam("moment")
)
_BY_OTHERS = _CHANGED.where(
    sa.or_(states.c.changed_by.is_(None), states.c.changed_by != sa.bindparam("node"))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What one query shows on /metrics: its metrics with their samples, and how fresh they are."""

    query_id: int
    query_name: str
    query_text: str
    metrics: Sequence[MetricConfig]
    version: int = 1  # of the definition
    changed_at: datetime
    value: float | None = None  # of metrics without columns; none until an execution brought a number
    blocks: Mapping[str, Block] = field(default_factory=dict)  # of metrics with columns, by key
    is_up: bool | None = None  # whether the last execution succeeded; none until there was one
    last_success_at: datetime | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A query as of its latest change; without a publication it shows nothing."""

    query_id: int
    changed_at: datetime
    publication: Publication | None


class StoredGauges:
    """Reads what all queries publish, or some, and which of them changed."""

    def __init__(self, store: Store, node: str | None = None) -> None:
        self._store = store
        self._node = node  # what this one recorded is known already

    def stamp(self) -> object:
        """The same as before if nothing in the store has changed since."""
        return self._store.stamp()

    def all(self) -> list[Reading]:
        """Everything that is shown."""
        with self._store.connect() as connection:
            blocks = read_series(connection)
            return [_reading(row, blocks.get(row.id, {})) for row in connection.execute(_SHOWN)]

    def of(self, query_ids: Sequence[int]) -> list[Reading]:
        """What these queries publish, also of those that show nothing."""
        parts = [query_ids[n : n + _READ_AT_ONCE] for n in range(0, len(query_ids), _READ_AT_ONCE)]
        found: list[Reading] = []
        with self._store.connect() as connection:
            for part in parts:
                blocks = read_series(connection, part)
                rows = connection.execute(_OF, {"ids": part})
                found += [_reading(row, blocks.get(row.id, {})) for row in rows]
        return found

    def publication(self, query_id: int) -> Publication | None:
        """What one query publishes, or would if it were switched on."""
        with self._store.connect() as connection:
            row = connection.execute(_OF, {"ids": [query_id]}).first()
            blocks = read_series(connection, [query_id]).get(query_id, {})
        return _publication(row, blocks) if row else None

    def changed_since(self, moment: datetime, by_all: bool = False) -> dict[int, datetime]:
        """The queries that changed, each with when; those that this node recorded only if asked for."""
        changed = _CHANGED if by_all or self._node is None else _BY_OTHERS
        with self._store.connect() as connection:
            found = connection.execute(changed, {"moment": moment, "node": self._node})
            return {query_id: changed_at for query_id, changed_at in found}  # noqa: C416 - dict(found) is slower


def _reading(row: Row, blocks: Mapping[str, Block]) -> Reading:
    is_shown = row.metric_config and row.enabled and row.deleted_at is None
    return Reading(row.id, row.changed_at, _publication(row, blocks) if is_shown else None)


def _publication(row: Row, blocks: Mapping[str, Block]) -> Publication:
    return Publication(
        query_id=row.id,
        query_name=row.name,
        query_text=row.query,
        metrics=metrics_of(row.metric_config),
        version=row.version,
        changed_at=row.changed_at,
        value=row.metric_value,
        blocks=blocks,
        is_up=row.last_status == "success" if row.last_status else None,
        last_success_at=row.last_success_at,
        problem=row.metric_problem,
    )
