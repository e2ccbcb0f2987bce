"""Alerts in the store: made, read, edited with a look at their version, muted and deleted."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from plugbay import Clock, Store, UntilChanged

from plugbay_scheduled_query.core.alerting.draft import JUDGED_BY
from plugbay_scheduled_query.core.alerting.model import (
    UNTIL_RESOLVED,
    Alert,
    AlertDraft,
    AlertEvent,
    EventKind,
    State,
)
from plugbay_scheduled_query.repository.alert_events import write_events
from plugbay_scheduled_query.repository.alert_rows import (
    AFRESH,
    Values,
    alert_of,
    condition_of,
    draft_of,
    draft_values,
    enter_state,
    event_of,
    look_after,
)
from plugbay_scheduled_query.repository.rows import Row, first_metric_of
from plugbay_scheduled_query.tables import alert_channels, alerts, channels, queries, states

MOST_PER_QUERY = 50  # each of them is judged at every execution
EXPORT_STEP = 500  # alerts read at a time

_LIVE = (
    sa.select(alerts, queries.c.name.label("query_name"), queries.c.metric_config)
    .join(queries, queries.c.id == alerts.c.query_id)
    .where(queries.c.deleted_at.is_(None))
)
_ORDER = sa.case({"firing": 0, "pending": 1, "unknown": 2}, value=alerts.c.state, else_=3)
_WORST = sa.case({"critical": 0, "warning": 1}, value=alerts.c.severity, else_=2)
_LOCK_QUERY = (
    sa.select(states.c.query_id, states.c.last_success_at)
    .join(queries, queries.c.id == states.c.query_id)
    .where(states.c.query_id == sa.bindparam("id"), queries.c.deleted_at.is_(None))
    .with_for_update(of=states)
)
_COUNT_FIRING = sa.select(sa.func.count()).where(alerts.c.state == State.FIRING.value)


class AlertConflict(Exception):
    """Somebody else saved this alert meanwhile."""

    def __init__(self, current: Alert) -> None:
        self.current = current
        super().__init__(f"somebody else saved this alert meanwhile (it is now version {current.version})")


class ChannelGone(Exception):
    """A channel was deleted or renamed a moment ago."""


class TooManyAlerts(Exception):
    """The query has as many alerts as it may have."""

    def __init__(self) -> None:
        super().__init__(f"a query has at most {MOST_PER_QUERY} alerts")


@dataclass(frozen=True, slots=True)
class AlertFilter:
    """Which alerts to show."""

    query_id: int | None = None
    state: str | None = None


@dataclass(frozen=True, slots=True)
class AlertChange:
    """An alert as it is now, and what is to be told of the change."""

    alert: Alert
    events: tuple[AlertEvent, ...] = ()


class Alerts:
    """The table of alerts."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.firing = UntilChanged(store, self._count_firing)
        """How many fire now: every page asks."""

    def get(self, alert_id: int) -> Alert | None:
        with self._store.connect() as connection:
            return _one(connection, alert_id)

    def page(self, wanted: AlertFilter, offset: int, limit: int) -> tuple[list[Alert], int]:
        """A page of alerts, firing ones first and the worst of them before, and how many there are."""
        select = _filtered(_LIVE, wanted)
        count = select.with_only_columns(sa.func.count(), maintain_column_froms=True)
        ordered = select.order_by(_ORDER, _WORST, sa.func.lower(alerts.c.name), alerts.c.id)
        with self._store.connect() as connection:
            found = _alerts(connection, connection.execute(ordered.offset(offset).limit(limit)).all())
            return found, connection.scalar(count) or 0

    def of_queries(self, query_ids: Collection[int]) -> dict[int, list[Alert]]:
        """The alerts of some queries, by query, in the order of their making."""
        select = _LIVE.where(alerts.c.query_id.in_(query_ids)).order_by(alerts.c.id)
        found: dict[int, list[Alert]] = {}
        with self._store.connect() as connection:
            for alert in _alerts(connection, connection.execute(select).all()):
                found.setdefault(alert.query_id, []).append(alert)
        return found

    def all(self) -> Iterator[Alert]:
        """Every alert, by id, read in steps."""
        last = 0
        while True:
            step = _LIVE.where(alerts.c.id > last).order_by(alerts.c.id).limit(EXPORT_STEP)
            with self._store.connect() as connection:
                found = _alerts(connection, connection.execute(step).all())
            yield from found
            if len(found) < EXPORT_STEP:
                return
            last = found[-1].id

    def counts(self) -> dict[str, int]:
        """How many alerts there are in each state."""
        select = sa.select(alerts.c.state, sa.func.count()).group_by(alerts.c.state)
        with self._store.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(select)}

    def _count_firing(self) -> int:
        with self._store.connect() as connection:
            return connection.scalar(_COUNT_FIRING) or 0

    def create(self, query_id: int, draft: AlertDraft) -> Alert | None:
        """Stores a new alert; None: there is no such query. Raises ChannelGone or TooManyAlerts."""
        now = self._clock.now()
        with self._store.begin() as connection:
            query = connection.execute(_LOCK_QUERY, {"id": query_id}).first()
            if query is None:
                return None
            if _count_of(connection, query_id) >= MOST_PER_QUERY:
                raise TooManyAlerts
            row = _new_row(query_id, draft, query.last_success_at, now)
            insert = sa.insert(alerts).values(row).returning(alerts.c.id)
            alert_id = connection.execute(insert).scalar_one()
            _link(connection, alert_id, draft.channels)
            _recount(connection, query_id)
            return _one(connection, alert_id)

    def update(self, alert_id: int, draft: AlertDraft, version: int) -> AlertChange | None:
        """Stores an edit of that version; None: it is gone. One that fires is resolved, and judged afresh."""
        now = self._clock.now()
        with self._store.begin() as connection:
            held = _hold(connection, alert_id)
            if held is None:
                return None
            row, query = held
            if row.version != version:
                current = _one(connection, alert_id)
                assert current
                raise AlertConflict(current)
            why = "The alert was switched off." if not draft.enabled else "The alert was edited."
            events = _resolve(connection, [row], why, now)
            values = _edited(row, draft, query.last_success_at, now)
            connection.execute(sa.update(alerts).where(alerts.c.id == alert_id).values(values))
            _link(connection, alert_id, draft.channels)
            changed = _one(connection, alert_id)
            assert changed
            return AlertChange(changed, tuple(events))

    def delete(self, alert_id: int) -> AlertChange | None:
        """Takes an alert away; its events stay. None: it is gone."""
        with self._store.begin() as connection:
            held, alert = _hold(connection, alert_id), _one(connection, alert_id)
            if held is None or alert is None:
                return None
            events = _resolve(connection, [held[0]], "The alert was deleted.", self._clock.now())
            _delete(connection, [alert_id])
            _recount(connection, alert.query_id)
        return AlertChange(alert, tuple(events))

    def mute(self, alert_id: int, minutes: int | None) -> AlertChange | None:
        """Tells nothing of it for so long; None is until it is resolved, 0 from now on again."""
        now = self._clock.now()
        with self._store.begin() as connection:
            held = _hold(connection, alert_id)
            if held is None:
                return None
            row = held[0]
            values = _values(row)
            values["muted_until"] = _mute_end(minutes, now)
            has_ended = minutes == 0 and row.muted_until is not None and row.muted_until > now
            events = _speak_again(connection, row, values, now) if has_ended else []
            look_after(values, condition_of(row.condition), now)
            kept = {name: values[name] for name in ("muted_until", "look_at", "told_at")}
            connection.execute(sa.update(alerts).where(alerts.c.id == alert_id).values(kept))
            changed = _one(connection, alert_id)
            assert changed
            return AlertChange(changed, tuple(events))


def end_alerts(connection: sa.Connection, query_id: int, now: datetime) -> list[AlertEvent]:
    """Deletes the alerts of a query that is deleted; those that fire tell that it is over."""
    select = _LIVE_OR_NOT.where(alerts.c.query_id == query_id).order_by(alerts.c.id)
    rows = connection.execute(select.with_for_update(of=alerts)).all()
    events = _resolve(connection, rows, "The query was deleted.", now)
    _delete(connection, [row.id for row in rows])
    return events


def wake_alerts(connection: sa.Connection, query_id: int, now: datetime) -> None:
    """A query is enabled again: what goes by time counts from now on."""
    select = _LIVE_OR_NOT.where(alerts.c.query_id == query_id).order_by(alerts.c.id)
    for row in connection.execute(select.with_for_update(of=alerts)).all():
        values = _values(row)
        values["counts_from"] = now
        look_after(values, condition_of(row.condition), now)
        kept = {name: values[name] for name in ("counts_from", "look_at")}
        connection.execute(sa.update(alerts).where(alerts.c.id == row.id).values(kept))


_LIVE_OR_NOT = sa.select(alerts, queries.c.name.label("query_name"), queries.c.metric_config).join(
    queries, queries.c.id == alerts.c.query_id
)


def _filtered(select: sa.Select[Any], wanted: AlertFilter) -> sa.Select[Any]:
    if wanted.query_id is not None:
        select = select.where(alerts.c.query_id == wanted.query_id)
    if wanted.state is not None:
        select = select.where(alerts.c.state == wanted.state)
    return select


def _one(connection: sa.Connection, alert_id: int) -> Alert | None:
    rows = connection.execute(_LIVE.where(alerts.c.id == alert_id)).all()
    return next(iter(_alerts(connection, rows)), None)


def _alerts(connection: sa.Connection, rows: Sequence[Row]) -> list[Alert]:
    names: dict[int, tuple[str, ...]] = {}
    if rows:
        linked = (
            sa.select(alert_channels.c.alert_id, channels.c.name)
            .join(channels, channels.c.id == alert_channels.c.channel_id)
            .where(alert_channels.c.alert_id.in_([row.id for row in rows]))
            .order_by(alert_channels.c.position)
        )
        for alert_id, name in connection.execute(linked):
            names[alert_id] = (*names.get(alert_id, ()), name)
    return [alert_of(row, names.get(row.id, ())) for row in rows]


def _hold(connection: sa.Connection, alert_id: int) -> tuple[Row, Row] | None:
    """An alert and its query, locked in the order in which a recording locks them."""
    query_id = connection.scalar(sa.select(alerts.c.query_id).where(alerts.c.id == alert_id))
    query = connection.execute(_LOCK_QUERY, {"id": query_id}).first() if query_id else None
    held = _LIVE.where(alerts.c.id == alert_id).with_for_update(of=alerts)
    row = connection.execute(held).first() if query else None
    return (row, query) if row and query else None


def _values(row: Row) -> Values:
    return dict(row._mapping)


def _new_row(query_id: int, draft: AlertDraft, last_success_at: datetime | None, now: datetime) -> Values:
    values = {
        **draft_values(draft),
        **AFRESH,
        "query_id": query_id,
        "created_at": now,
        "muted_until": None,
        "state": State.UNKNOWN.value,
        "state_since": now,
        "counts_from": last_success_at or now,
        "changed_at": now,
        "told_at": None,
    }
    look_after(values, draft.condition, now)
    return values


def _edited(row: Row, draft: AlertDraft, last_success_at: datetime | None, now: datetime) -> Values:
    values = _values(row)
    before, is_firing = draft_of(row, draft.channels), row.state == State.FIRING
    values |= draft_values(draft) | {"version": row.version + 1}
    is_judged_otherwise = any(getattr(before, name) != getattr(draft, name) for name in JUDGED_BY)
    if is_firing or is_judged_otherwise:
        values |= {**AFRESH, "fired_event_id": None, "told_at": None}
        values["counts_from"] = last_success_at or row.created_at
        values["muted_until"] = None if row.muted_until == UNTIL_RESOLVED else row.muted_until
        enter_state(values, State.UNKNOWN, now)
    else:
        enter_state(values, State(row.state), now)
        values["state_since"] = row.state_since
    look_after(values, draft.condition, now)
    return {name: value for name, value in values.items() if name in alerts.c and name != "id"}


def _resolve(connection: sa.Connection, rows: Sequence[Row], why: str, now: datetime) -> list[AlertEvent]:
    """Tells of those that fire that it is over, because somebody wants it so."""
    found = []
    for row in rows:
        if row.state == State.FIRING:
            is_muted = row.muted_until is not None and row.muted_until > now
            found.append((_event(row, EventKind.RESOLVED, now, message=why), is_muted))
    return write_events(connection, found, now) if found else []


def _speak_again(connection: sa.Connection, row: Row, values: Values, now: datetime) -> list[AlertEvent]:
    """A mute was ended by hand: if it still fires, that is told."""
    if row.state != State.FIRING:
        return []
    values["told_at"] = now
    return write_events(connection, [(_event(row, EventKind.REPEATED, now), False)], now)


def _event(row: Row, kind: EventKind, now: datetime, **more: Any) -> AlertEvent:
    return event_of(_values(row), draft_of(row), kind, now, first_metric_of(row.metric_config), **more)


def _mute_end(minutes: int | None, now: datetime) -> datetime | None:
    if minutes is None:
        return UNTIL_RESOLVED
    return now + timedelta(minutes=minutes) if minutes else None


def _link(connection: sa.Connection, alert_id: int, names: Sequence[str]) -> None:
    """Ties an alert to its channels, which stay until the transaction ends."""
    connection.execute(sa.delete(alert_channels).where(alert_channels.c.alert_id == alert_id))
    if not names:
        return
    known = sa.select(channels.c.name, channels.c.id).where(channels.c.name.in_(names))
    ids = {row.name: row.id for row in connection.execute(known.with_for_update(read=True))}
    if len(ids) < len(names):
        raise ChannelGone
    rows = [{"alert_id": alert_id, "channel_id": ids[name], "position": n} for n, name in enumerate(names)]
    connection.execute(sa.insert(alert_channels), rows)


def _delete(connection: sa.Connection, alert_ids: Sequence[int]) -> None:
    connection.execute(sa.delete(alert_channels).where(alert_channels.c.alert_id.in_(alert_ids)))
    connection.execute(sa.delete(alerts).where(alerts.c.id.in_(alert_ids)))


def _count_of(connection: sa.Connection, query_id: int) -> int:
    select = sa.select(sa.func.count()).where(alerts.c.query_id == query_id)
    return connection.scalar(select) or 0


def _recount(connection: sa.Connection, query_id: int) -> None:
    """Keeps beside the query how many alerts it has: recording looks for none where there are none."""
    count = _count_of(connection, query_id)
    connection.execute(sa.update(states).where(states.c.query_id == query_id).values(alert_count=count))
