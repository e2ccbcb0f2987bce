"""The outbox: what is yet to be told, who sends through a channel now, and what became of it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from plugbay import Clock, Store

from plugbay_scheduled_query.core.alerting.model import AlertEvent, DeliveryStatus, State
from plugbay_scheduled_query.repository.alert_events import stored_event
from plugbay_scheduled_query.repository.rows import store_now
from plugbay_scheduled_query.tables import (
    alert_channels,
    alert_deliveries,
    alert_events,
    alerts,
    channels,
)

LEASE = timedelta(seconds=90)  # longer than one message may take; after a crash another node goes on then
MOST_AT_ONCE = 1000  # deliveries of one channel that are read at a time

_DUE = (
    sa.select(
        alert_deliveries.c.channel_id,
        sa.func.min(alert_deliveries.c.made_at),
        sa.func.max(alert_deliveries.c.made_at),
    )
    .where(alert_deliveries.c.next_at <= sa.bindparam("now"))
    .group_by(alert_deliveries.c.channel_id)
)


@dataclass(frozen=True, slots=True)
class Due:
    """A channel that something waits for, and since when: the oldest of it, and the newest."""

    channel_id: int
    oldest: datetime
    newest: datetime


@dataclass(frozen=True, slots=True)
class Waiting:
    """A delivery that is due, with what it tells."""

    id: int
    event: AlertEvent
    attempts: int
    made_at: datetime


class Outbox:
    """The table of deliveries, and the claims on channels."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._me = uuid4().hex

    def due(self) -> list[Due]:
        """The channels that something is due for."""
        with self._store.connect() as connection:
            return [Due(*row) for row in connection.execute(_DUE, {"now": self._clock.now()})]

    def claim(self, channel_id: int) -> bool:
        """Makes this process the only one that sends through a channel, for a while; False: another does."""
        with self._store.begin() as connection:
            now = store_now(connection, self._clock)
            is_free = channels.c.claimed_until.is_(None) | (channels.c.claimed_until < now)
            claim = sa.update(channels).where(channels.c.id == channel_id, is_free)
            values = {"claimed_by": self._me, "claimed_until": now + LEASE}
            return connection.execute(claim.values(values)).rowcount > 0

    def renew(self, channel_id: int) -> bool:
        """Keeps the claim for a while longer; False: it was lost."""
        with self._store.begin() as connection:
            until = store_now(connection, self._clock) + LEASE
            return connection.execute(self._mine(channel_id).values(claimed_until=until)).rowcount > 0

    def release(self, channel_id: int) -> None:
        """Lets others send through the channel."""
        with self._store.begin() as connection:
            connection.execute(self._mine(channel_id).values(claimed_by=None, claimed_until=None))

    def waiting(self, channel_id: int) -> list[Waiting]:
        """What is due for a channel, in order, and before it what the same alerts had to tell earlier."""
        is_waiting = (alert_deliveries.c.channel_id == channel_id) & alert_deliveries.c.next_at.is_not(None)
        due = sa.select(alert_deliveries.c.alert_id).where(
            is_waiting, alert_deliveries.c.next_at <= self._clock.now()
        )
        select = (
            sa.select(
                alert_events,
                alert_deliveries.c.id.label("delivery_id"),
                alert_deliveries.c.attempts,
                alert_deliveries.c.made_at,
            )
            .join(alert_events, alert_events.c.id == alert_deliveries.c.event_id)
            .where(is_waiting, alert_deliveries.c.alert_id.in_(due))
            .order_by(alert_deliveries.c.id)
            .limit(MOST_AT_ONCE)
        )
        with self._store.connect() as connection:
            return [
                Waiting(row.delivery_id, stored_event(row), row.attempts, row.made_at)
                for row in connection.execute(select)
            ]

    def note_sent(self, sent: Sequence[Waiting]) -> None:
        """They are told; the alerts know since when."""
        now = self._clock.now()
        done = {"status": DeliveryStatus.SENT.value, "next_at": None, "error": None}
        with self._store.begin() as connection:
            self._note(connection, sent, {**done, "attempts": alert_deliveries.c.attempts + 1})
            told = {waiting.event.alert_id for waiting in sent}
            notified = sa.update(alerts).where(alerts.c.id.in_(told))
            connection.execute(notified.values(last_notified=now))

    def note_failed(self, failed: Sequence[Waiting], error: str, next_at: datetime | None) -> None:
        """They were not taken, and are tried again then; None: no more."""
        values: dict[str, Any] = {"error": error, "next_at": next_at}
        if next_at is None:
            values["status"] = DeliveryStatus.FAILED.value
        with self._store.begin() as connection:
            self._note(connection, failed, {**values, "attempts": alert_deliveries.c.attempts + 1})

    def postpone(self, waiting: Sequence[Waiting], next_at: datetime) -> None:
        """They wait behind one that was not taken, so that the order stays."""
        with self._store.begin() as connection:
            self._note(connection, waiting, {"next_at": next_at})

    def firing(self, channel_id: int) -> list[AlertEvent]:
        """The events that the alerts of a channel fired with, of those that fire now and are not muted."""
        now = self._clock.now()
        own = sa.select(alert_channels.c.alert_id).where(alert_channels.c.channel_id == channel_id)
        any_own = sa.exists().where(alert_channels.c.alert_id == alerts.c.id)
        is_default = sa.exists().where(channels.c.id == channel_id, channels.c.is_default)
        muted = alerts.c.muted_until.is_not(None) & (alerts.c.muted_until > now)
        select = (
            sa.select(alert_events)
            .join(alerts, alerts.c.fired_event_id == alert_events.c.id)
            .where(alerts.c.state == State.FIRING.value, ~muted)
            .where(alerts.c.id.in_(own) | (~any_own & is_default))
            .order_by(alert_events.c.id)
        )
        with self._store.connect() as connection:
            return [stored_event(row) for row in connection.execute(select)]

    def _mine(self, channel_id: int) -> sa.Update:
        return sa.update(channels).where(channels.c.id == channel_id, channels.c.claimed_by == self._me)

    def _note(self, connection: sa.Connection, those: Collection[Waiting], values: dict[str, Any]) -> None:
        ids = [waiting.id for waiting in those]
        still = alert_deliveries.c.next_at.is_not(None)
        connection.execute(
            sa.update(alert_deliveries).where(alert_deliveries.c.id.in_(ids), still).values(values)
        )
