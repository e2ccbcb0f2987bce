"""Judging: in the transaction that records executions, and by the clock for what time alone changes."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Protocol

import sqlalchemy as sa
from plugbay import Clock, Store

from plugbay_scheduled_query.core.alerting.conditions import Condition, StaleCondition
from plugbay_scheduled_query.core.alerting.judging import Evidence, judge, judge_age
from plugbay_scheduled_query.core.alerting.model import UNTIL_RESOLVED, AlertEvent, EventKind, State
from plugbay_scheduled_query.core.alerting.wording import rows_told
from plugbay_scheduled_query.core.model import MetricConfig, Outcome, Run, Status
from plugbay_scheduled_query.repository.alert_events import write_events
from plugbay_scheduled_query.repository.alert_rows import (
    Values,
    advance,
    condition_of,
    draft_of,
    event_of,
    look_after,
)
from plugbay_scheduled_query.repository.bulk import Bulk, among
from plugbay_scheduled_query.repository.rows import Row, first_metric_of
from plugbay_scheduled_query.tables import alerts, queries

LOOK_STEP = 200  # alerts that are looked at in one transaction

# what each judgement writes, and what only one that is told of or moves the state writes, too
_OFTEN = ("trues", "falses", "memory", "last_value", "last_evaluated", "problem")
_SELDOM = (
    "state",
    "state_since",
    "counts_from",
    "fired_event_id",
    "told_at",
    "muted_until",
    "look_at",
    "changed_at",
)
# the columns that are only shown are not read: three rules shall cost a tenth of an execution at most
_SHOWN = ("created_at", "version", "last_notified")
_WATCHED = sa.select(
    *(column for column in alerts.c if column.name not in _SHOWN), queries.c.name.label("query_name")
).join(queries, queries.c.id == alerts.c.query_id)
# locked in one order everywhere, so that a look and a recording never wait for each other
_RULES = (
    _WATCHED.where(among(alerts.c.query_id))
    .where(alerts.c.enabled, queries.c.enabled, queries.c.deleted_at.is_(None))
    .order_by(alerts.c.id)
    .with_for_update(of=alerts)
)
_DUE = (
    _WATCHED.add_columns(queries.c.metric_config, queries.c.enabled.label("is_query_enabled"))
    .where(alerts.c.look_at <= sa.bindparam("now"))
    .order_by(alerts.c.id)
    .limit(LOOK_STEP)
    .with_for_update(of=alerts)
)
_ANY_DUE = sa.select(alerts.c.id).where(alerts.c.look_at <= sa.bindparam("now")).limit(1)


def _update_of(names: tuple[str, ...]) -> Bulk:
    update = sa.update(alerts).where(alerts.c.id == sa.bindparam("b_id"))
    return Bulk(update.values({name: sa.bindparam(name) for name in names}))


_UPDATES = {names: _update_of(names) for names in (_OFTEN, _OFTEN + _SELDOM)}


class Judged(Protocol):
    """An execution on its way into the tables."""

    run: Run
    outcome: Outcome
    state: dict[str, Any]
    history_id: int | None
    alert_events: tuple[AlertEvent, ...]


class _Finding:
    """An alert that was judged, and what is to be told of it."""

    def __init__(self, row: Row, metric: MetricConfig | None, now: datetime) -> None:
        self.stored = row
        self.row: Values = dict(row._mapping)
        self.condition: Condition = condition_of(row.condition)
        self.event: AlertEvent | None = None
        self.is_muted = row.muted_until is not None and row.muted_until > now
        self.is_at_rest = False  # its query is disabled: when that changes, it is looked at again
        self._metric = metric
        self._now = now

    @property
    def is_quiet(self) -> bool:
        """Whether nothing but counts and the value changed."""
        row, stored = self.row, self.stored
        return (
            self.event is None
            and row["state"] == stored.state
            and row["counts_from"] == stored.counts_from
            and row["look_at"] == stored.look_at
        )

    def tell(self, kind: EventKind, **more: Any) -> None:
        if kind is EventKind.RESOLVED:
            more["started_at"] = self.stored.state_since
        self.event = event_of(self.row, draft_of(self.stored), kind, self._now, self._metric, **more)

    def settle(self, event_id: int | None) -> None:
        """After its event was written, if there was one: what the row must know of it."""
        row = self.row
        if self.event and self.event.kind is EventKind.RESOLVED:
            row |= {"fired_event_id": None, "told_at": None}
            if row["muted_until"] == UNTIL_RESOLVED:
                row["muted_until"] = None
        elif self.event:
            row["told_at"] = self._now
            if self.event.kind is EventKind.FIRED:
                row["fired_event_id"] = event_id
        if self.is_at_rest:
            row["look_at"] = None
        else:
            look_after(row, self.condition, self._now)


def judge_executions(connection: sa.Connection, entries: Iterable[Judged], now: datetime) -> None:
    """Judges the alerts of these executions, and leaves with each what is to be told of it."""
    watched = {entry.run.query_id: entry for entry in entries if entry.state["alert_count"]}
    if not watched:
        return
    evidence = {query_id: _evidence(entry.outcome) for query_id, entry in watched.items()}
    rows = connection.execute(_RULES, {"ids": list(watched)}).all()
    findings = [
        finding
        for row in rows
        if (finding := _judged(row, watched[row.query_id], evidence[row.query_id], now))
    ]
    for event in _store(connection, findings, now):
        watched[event.query_id].alert_events += (event,)


class AlertLooks:
    """What time alone changes: stale alerts, repeats and the ends of mutes."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def look(self) -> list[AlertEvent]:
        """Looks at all that is due; what rests costs nothing."""
        now, told = self._clock.now(), []
        while self._is_any_due(now):
            with self._store.begin() as connection:
                rows = connection.execute(_DUE, {"now": now}).all()
                told += _store(connection, [_looked_at(row, now) for row in rows], now)
        return told

    def _is_any_due(self, now: datetime) -> bool:
        with self._store.connect() as connection:
            return connection.execute(_ANY_DUE, {"now": now}).first() is not None


def _evidence(outcome: Outcome) -> Evidence:
    text = outcome.result_json or "[]"
    return Evidence(outcome.status, outcome.columns, text, outcome.row_count, outcome.binary)


def _judged(row: Row, entry: Judged, evidence: Evidence, now: datetime) -> _Finding | None:
    finding = _Finding(row, next(iter(entry.run.metrics), None), now)
    verdict = judge(finding.condition, evidence, row.memory)
    if verdict.is_true is None and verdict.problem is None:
        return None  # an execution that says nothing about it
    if isinstance(finding.condition, StaleCondition) and evidence.status is Status.SUCCESS:
        finding.row["counts_from"] = entry.outcome.executed_at
    kind = advance(finding.row, verdict, now)
    if kind:
        rows = rows_told(evidence) if row.with_rows and kind is EventKind.FIRED else None
        finding.tell(kind, execution_id=entry.history_id, rows=rows)
    return finding


def _looked_at(row: Row, now: datetime) -> _Finding:
    finding = _Finding(row, first_metric_of(row.metric_config), now)
    values = finding.row
    if not (row.enabled and row.is_query_enabled):
        finding.is_at_rest = True
    elif row.state == State.FIRING:
        if not finding.is_muted:
            values["muted_until"] = None
            finding.tell(EventKind.REPEATED)
    elif isinstance(finding.condition, StaleCondition):
        kind = advance(values, judge_age(finding.condition, row.counts_from, now), now)
        if kind:
            finding.tell(kind)
    return finding


def _store(connection: sa.Connection, findings: Sequence[_Finding], now: datetime) -> list[AlertEvent]:
    """Events, outbox and alerts, in this order, because an alert knows the event that it fired with."""
    if not findings:
        return []
    told = [(found.event, found.is_muted) for found in findings if found.event]
    written = write_events(connection, told, now) if told else []
    ids = {event.alert_id: event.id for event in written}
    for found in findings:
        found.settle(ids.get(found.row["id"]))
    for names, update in _UPDATES.items():
        rows = [_values(found.row, names) for found in findings if found.is_quiet == (names is _OFTEN)]
        update(connection, rows)
    return written


def _values(row: Values, names: tuple[str, ...]) -> Values:
    return {name: row[name] for name in names} | {"b_id": row["id"]}
