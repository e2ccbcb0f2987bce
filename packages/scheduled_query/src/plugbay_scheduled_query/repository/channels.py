"""Channels in the store: named, their URLs encrypted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from plugbay import Clock, Secrets, Store, get_logger

from plugbay_scheduled_query.core.alerting.model import DeliveryStatus
from plugbay_scheduled_query.repository.rows import Row
from plugbay_scheduled_query.tables import alert_channels, alert_deliveries, alerts, channels

NAMED_AT_MOST = 10  # of the alerts that keep a channel from being deleted

log = get_logger(__name__)


class ChannelNameTaken(Exception):
    """Another channel has this name."""


class ChannelInUse(Exception):
    """Alerts name this channel; the message names them."""

    def __init__(self, names: Sequence[str], count: int) -> None:
        more = f" and {count - len(names)} more" if count > len(names) else ""
        super().__init__(f"it is named by {', '.join(f'“{name}”' for name in names)}{more}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A way to somebody; its URL can be read only with the host's keys."""

    id: int
    name: str
    masked_url: str
    is_default: bool
    secret_url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ChannelDraft:
    """What an admin writes of a channel."""

    name: str
    url: str = field(repr=False)
    masked_url: str
    is_default: bool = False


class Channels:
    """The table of channels."""

    def __init__(self, store: Store, secrets: Secrets, clock: Clock) -> None:
        self._store = store
        self._secrets = secrets
        self._clock = clock

    def all(self) -> list[Channel]:
        """Every channel, by name."""
        with self._store.connect() as connection:
            rows = connection.execute(sa.select(channels).order_by(sa.func.lower(channels.c.name)))
            return [_channel(row) for row in rows]

    def names(self) -> list[str]:
        with self._store.connect() as connection:
            return list(connection.scalars(sa.select(channels.c.name)))

    def get(self, channel_id: int) -> Channel | None:
        with self._store.connect() as connection:
            row = connection.execute(sa.select(channels).where(channels.c.id == channel_id)).first()
        return _channel(row) if row else None

    def url_of(self, channel: Channel) -> str:
        """The URL in plain text; raises SecretUnreadable when the key is not here."""
        return self._secrets.decrypt(channel.secret_url)

    def add(self, draft: ChannelDraft) -> Channel:
        """A new channel; raises ChannelNameTaken."""
        now = self._clock.now()
        values = self._values(draft) | {"created_at": now, "updated_at": now}
        try:
            with self._store.begin() as connection:
                row = connection.execute(sa.insert(channels).values(values).returning(channels)).one()
        except sa.exc.IntegrityError:
            raise ChannelNameTaken from None
        log.info("channel_added", channel=draft.name)
        return _channel(row)

    def update(self, channel_id: int, draft: ChannelDraft) -> Channel | None:
        """Stores another name or URL; alerts stay with the channel. None: it is gone; or ChannelNameTaken."""
        values = self._values(draft) | {"updated_at": self._clock.now()}
        update = sa.update(channels).where(channels.c.id == channel_id).values(values)
        try:
            with self._store.begin() as connection:
                row = connection.execute(update.returning(channels)).first()
        except sa.exc.IntegrityError:
            raise ChannelNameTaken from None
        if row:
            log.info("channel_changed", channel=row.name)
        return _channel(row) if row else None

    def delete(self, channel_id: int) -> bool:
        """Takes a channel away, and what waits for it; raises ChannelInUse while an alert names it."""
        with self._store.begin() as connection:
            held = sa.select(channels).where(channels.c.id == channel_id).with_for_update()
            row = connection.execute(held).first()
            if row is None:
                return False
            _refuse_in_use(connection, channel_id)
            waiting = (alert_deliveries.c.channel_id == channel_id) & alert_deliveries.c.next_at.is_not(None)
            ended = {"status": DeliveryStatus.FAILED.value, "error": "the channel was deleted"}
            connection.execute(sa.update(alert_deliveries).where(waiting).values(**ended, next_at=None))
            connection.execute(sa.delete(channels).where(channels.c.id == channel_id))
        log.info("channel_deleted", channel=row.name)
        return True

    def _values(self, draft: ChannelDraft) -> dict[str, Any]:
        return {
            "name": draft.name,
            "secret_url": self._secrets.encrypt(draft.url),
            "masked_url": draft.masked_url,
            "is_default": draft.is_default,
        }


def _channel(row: Row) -> Channel:
    return Channel(
        id=row.id,
        name=row.name,
        masked_url=row.masked_url,
        is_default=row.is_default,
        secret_url=row.secret_url,
    )


def _refuse_in_use(connection: sa.Connection, channel_id: int) -> None:
    users = (
        sa.select(alerts.c.name)
        .join(alert_channels, alert_channels.c.alert_id == alerts.c.id)
        .where(alert_channels.c.channel_id == channel_id)
    )
    names = connection.scalars(users.order_by(alerts.c.name).limit(NAMED_AT_MOST)).all()
    if names:
        count = connection.scalar(sa.select(sa.func.count()).select_from(users.subquery())) or 0
        raise ChannelInUse(names, count)
