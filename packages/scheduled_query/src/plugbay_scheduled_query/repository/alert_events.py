"""Alert events: written together with what is to be sent of them, and read for pages and programs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from plugbay import Clock, Store

from plugbay_scheduled_query.core.alerting.model import (
    AlertEvent,
    Delivery,
    DeliveryStatus,
    EventKind,
    Severity,
)
from plugbay_scheduled_query.repository.alert_rows import digits, number_of
from plugbay_scheduled_query.repository.rows import Row
from plugbay_scheduled_query.tables import alert_channels, alert_deliveries, alert_events, channels

KEPT = timedelta(days=365)  # how long events are shown
FORGET_STEP = 200  # events that go in one transaction

_INSERT = sa.insert(alert_events).returning(alert_events.c.id, sort_by_parameter_order=True)
_OWN_CHANNELS = (
    sa.select(alert_channels.c.alert_id, channels.c.id, channels.c.name)
    .join(channels, channels.c.id == alert_channels.c.channel_id)
    .where(alert_channels.c.alert_id.in_(sa.bindparam("ids", expanding=True)))
    .order_by(alert_channels.c.position)
)
_DEFAULTS = sa.select(channels.c.id, channels.c.name).where(channels.c.is_default).order_by(channels.c.name)

Target = tuple[int, str]  # id and name of a channel


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Whose events to show."""

    alert_id: int | None = None
    query_id: int | None = None


def write_events(
    connection: sa.Connection, found: Sequence[tuple[AlertEvent, bool]], now: datetime
) -> list[AlertEvent]:
    """Stores events, each with whether it is muted, and what is to be sent; a repeat for nobody is left out.

    Called in the transaction that changes the alerts, so that state, event and outbox never disagree.
    """
    targets = _targets(connection, [event.alert_id for event, is_muted in found if not is_muted])
    told = [(event, [] if is_muted else targets[event.alert_id]) for event, is_muted in found]
    told = [(event, to) for event, to in told if to or event.kind is not EventKind.REPEATED]
    if not told:
        return []
    ids = connection.scalars(_INSERT, [_event_row(event) for event, _ in told]).all()
    written = [(replace(event, id=key), to) for (event, to), key in zip(told, ids, strict=True)]
    rows = [_delivery_row(event, target, now) for event, to in written for target in to]
    if rows:
        connection.execute(sa.insert(alert_deliveries), rows)
    return [_with_deliveries(event, to) for event, to in written]


def _targets(connection: sa.Connection, alert_ids: Sequence[int]) -> dict[int, list[Target]]:
    """The channels of each alert: its own, else the default ones."""
    if not alert_ids:
        return {}
    own: dict[int, list[Target]] = {}
    for alert_id, channel_id, name in connection.execute(_OWN_CHANNELS, {"ids": list(alert_ids)}):
        own.setdefault(alert_id, []).append((channel_id, name))
    usual: list[Target] = []
    if len(own) < len(set(alert_ids)):
        usual = [(row.id, row.name) for row in connection.execute(_DEFAULTS)]
    return {alert_id: own.get(alert_id, usual) for alert_id in alert_ids}


def _event_row(event: AlertEvent) -> dict[str, Any]:
    return {
        "alert_id": event.alert_id,
        "query_id": event.query_id,
        "alert_name": event.alert_name,
        "query_name": event.query_name,
        "severity": event.severity.value,
        "kind": event.kind.value,
        "at": event.at,
        "started_at": event.started_at,
        "value": digits(event.value),
        "execution_id": event.execution_id,
        "message": event.message,
        "rows": event.rows,
        "labels": json.dumps(dict(event.labels), ensure_ascii=False),
    }


def _delivery_row(event: AlertEvent, target: Target, now: datetime) -> dict[str, Any]:
    return {
        "event_id": event.id,
        "alert_id": event.alert_id,
        "channel_id": target[0],
        "channel_name": target[1],
        "status": DeliveryStatus.WAITING.value,
        "made_at": now,
        "next_at": now,
    }


def _with_deliveries(event: AlertEvent, targets: Sequence[Target]) -> AlertEvent:
    return replace(event, deliveries=tuple(Delivery(name, DeliveryStatus.WAITING) for _, name in targets))


def stored_event(row: Row, deliveries: Sequence[Delivery] = ()) -> AlertEvent:
    """An event from its row."""
    labels: Mapping[str, str] = json.loads(row.labels)
    return AlertEvent(
        id=row.id,
        alert_id=row.alert_id,
        query_id=row.query_id,
        alert_name=row.alert_name,
        query_name=row.query_name,
        severity=Severity(row.severity),
        kind=EventKind(row.kind),
        at=row.at,
        started_at=row.started_at,
        value=number_of(row.value),
        execution_id=row.execution_id,
        message=row.message,
        rows=row.rows,
        labels=tuple(labels.items()),
        deliveries=tuple(deliveries),
    )


class AlertEvents:
    """Reads the events of all alerts, newest first, and forgets old ones."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def page(self, wanted: EventFilter, offset: int, limit: int) -> tuple[list[AlertEvent], int]:
        """A page of events, and how many there are in all."""
        select = _filtered(sa.select(alert_events), wanted)
        total = _filtered(sa.select(sa.func.count()).select_from(alert_events), wanted)
        with self._store.connect() as connection:
            rows = connection.execute(
                select.order_by(alert_events.c.id.desc()).offset(offset).limit(limit)
            ).all()
            deliveries = _deliveries_of(connection, [row.id for row in rows])
            count: int = connection.scalar(total) or 0
        return [stored_event(row, deliveries.get(row.id, ())) for row in rows], count

    def forget_step(self) -> bool:
        """Removes some of the events that are too old; False when there are none left."""
        old = sa.select(alert_events.c.id).where(alert_events.c.at < self._clock.now() - KEPT)
        with self._store.connect() as connection:
            ids = connection.scalars(old.limit(FORGET_STEP)).all()
        if ids:
            with self._store.begin() as connection:
                connection.execute(sa.delete(alert_deliveries).where(alert_deliveries.c.event_id.in_(ids)))
                connection.execute(sa.delete(alert_events).where(alert_events.c.id.in_(ids)))
        return bool(ids)


def _filtered(select: sa.Select[Any], wanted: EventFilter) -> sa.Select[Any]:
    if wanted.alert_id is not None:
        select = select.where(alert_events.c.alert_id == wanted.alert_id)
    if wanted.query_id is not None:
        select = select.where(alert_events.c.query_id == wanted.query_id)
    return select


def _deliveries_of(connection: sa.Connection, event_ids: Sequence[int]) -> dict[int, list[Delivery]]:
    found: dict[int, list[Delivery]] = {}
    of_events = alert_deliveries.c.event_id.in_(event_ids)
    for row in connection.execute(
        sa.select(alert_deliveries).where(of_events).order_by(alert_deliveries.c.id)
    ):
        delivery = Delivery(row.channel_name, DeliveryStatus(row.status), row.attempts, row.error)
        found.setdefault(row.event_id, []).append(delivery)
    return found
