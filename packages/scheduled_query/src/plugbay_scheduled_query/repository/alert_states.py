"""The states of all alerts at a glance: for /metrics, and for the pages that show queries."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from plugbay import Store

from plugbay_scheduled_query.core.alerting.model import State
from plugbay_scheduled_query.tables import alerts


@dataclass(frozen=True, slots=True)
class AlertView:
    """As much of an alert as a line of /metrics or a mark on a card shows."""

    alert_id: int
    query_id: int
    name: str
    severity: str
    state: str

    @property
    def is_firing(self) -> bool:
        return self.state == State.FIRING


_VIEW = sa.select(alerts.c.id, alerts.c.query_id, alerts.c.name, alerts.c.severity, alerts.c.state)
_NEWEST = sa.select(
    sa.select(sa.func.max(alerts.c.changed_at)).scalar_subquery(),
    sa.select(sa.func.count(alerts.c.id)).scalar_subquery(),
)


class AlertStates:
    """Reads few columns of many alerts."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def newest(self) -> tuple[Any, ...]:
        """What is different after each change of a state or definition, read from indexes."""
        with self._store.connect() as connection:
            return tuple(connection.execute(_NEWEST).one())

    def all(self) -> list[AlertView]:
        """Every alert that is enabled, by id."""
        with self._store.connect() as connection:
            rows = connection.execute(_VIEW.where(alerts.c.enabled).order_by(alerts.c.id))
            return [AlertView(*row) for row in rows]

    def alarming(self, query_ids: Collection[int]) -> dict[int, list[AlertView]]:
        """Those of some queries that fire or are about to, the firing ones first."""
        alarming = alerts.c.state.in_((State.FIRING.value, State.PENDING.value))
        select = _VIEW.where(alerts.c.query_id.in_(query_ids), alarming).order_by(alerts.c.state, alerts.c.id)
        found: dict[int, list[AlertView]] = {}
        with self._store.connect() as connection:
            for row in connection.execute(select):
                found.setdefault(row.query_id, []).append(AlertView(*row))
        return found
