"""Judging: in the transaction that records executions, and by the clock for what time alone changes."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

import sqlalchemy as sa
from plugbay import Clock, Store

from plugbay_scheduled_query.core.alerting.conditions import Condition, StaleCondition
from plugbay_scheduled_query.core.alerting.judging import Evidence, Verdict, follow, judge, judge_age
from plugbay_scheduled_query.core.alerting.model import UNTIL_RESOLVED, AlertEvent, EventKind, Standing, State
from plugbay_scheduled_query.core.alerting.wording import rows_told
from plugbay_scheduled_query.core.model import MetricConfig, Outcome, Run, Status
from plugbay_scheduled_query.repository.alert_events import write_events
from plugbay_scheduled_query.repository.alert_rows import (
    Values,
    advance,
    condition_of,
    digits,
    draft_of,
    event_of,
    look_after,
)
from plugbay_scheduled_query.repository.bulk import Bulk, among
from plugbay_scheduled_query.repository.rows import Row, first_metric_of
from plugbay_scheduled_query.tables import alerts, queries

CALM = Standing(State.OK)  # what most rules are, and stay
LOOK_STEP = 200  # alerts that are looked at in one transaction

# what a judgement that moves nothing writes; as few columns are read for it, because most are of this kind
_OFTEN = ("trues", "falses", "memory", "last_value", "last_evaluated", "problem")
_MOVED = (
    *_OFTEN,
    "state",
    "state_since",
    "counts_from",
    "fired_event_id",
    "told_at",
    "muted_until",
    "look_at",
    "changed_at",
)
# locked in one order everywhere, so that a look and a recording never wait for each other
_RULES = (
    sa.select(
        *(alerts.c.id, alerts.c.query_id, alerts.c.condition, alerts.c.memory),
        *(alerts.c.state, alerts.c.trues, alerts.c.falses, alerts.c.for_runs, alerts.c.recover_runs),
    )
    .join(queries, queries.c.id == alerts.c.query_id)
    .where(among(alerts.c.query_id))
    .where(alerts.c.enabled, queries.c.enabled, queries.c.deleted_at.is_(None))
    .order_by(alerts.c.id)
    .with_for_update(of=alerts)
)
_WATCHED = sa.select(alerts, queries.c.name.label("query_name")).join(
    queries, queries.c.id == alerts.c.query_id
)
_MOVING = _WATCHED.where(among(alerts.c.id)).order_by(alerts.c.id)
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


_WRITE_OFTEN, _WRITE_MOVED = _update_of(_OFTEN), _update_of(_MOVED)


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
    quiet: list[Values] = []
    moving: list[int] = []
    for rule in connection.execute(_RULES, {"ids": list(watched)}):
        condition = condition_of(rule.condition)
        verdict = judge(condition, evidence[rule.query_id], rule.memory)
        after = _after(rule, verdict)
        if after and after.state == rule.state and type(condition) is not StaleCondition:
            quiet.append(_counted(rule.id, verdict, after, now))
        elif after or verdict.problem:  # else the execution says nothing about it
            moving.append(rule.id)
    _WRITE_OFTEN(connection, quiet)
    for event in _move(connection, moving, watched, evidence, now):
        watched[event.query_id].alert_events += (event,)


def _after(rule: Row, verdict: Verdict) -> Standing | None:
    if verdict.is_true is None:
        return None
    if not verdict.is_true and rule.state == State.OK:
        return CALM
    standing = Standing(State(rule.state), rule.trues, rule.falses)
    return follow(standing, verdict.is_true, rule.for_runs, rule.recover_runs)


def _counted(alert_id: int, verdict: Verdict, after: Standing, now: datetime) -> Values:
    return {
        "b_id": alert_id,
        "trues": after.trues,
        "falses": after.falses,
        "memory": verdict.memory,
        "last_value": digits(verdict.value),
        "last_evaluated": now,
        "problem": None,
    }


def _move(
    connection: sa.Connection,
    ids: list[int],
    watched: Mapping[int, Judged],
    evidence: Mapping[int, Evidence],
    now: datetime,
) -> list[AlertEvent]:
    rows = connection.execute(_MOVING, {"ids": ids}).all() if ids else []
    found = [_judged(row, watched[row.query_id], evidence[row.query_id], now) for row in rows]
    return _store(connection, found, now)


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


def _judged(row: Row, entry: Judged, evidence: Evidence, now: datetime) -> _Finding:
    finding = _Finding(row, next(iter(entry.run.metrics), None), now)
    verdict = judge(finding.condition, evidence, row.memory)
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
    rows = [{name: found.row[name] for name in _MOVED} | {"b_id": found.row["id"]} for found in findings]
    _WRITE_MOVED(connection, rows)
    return written
