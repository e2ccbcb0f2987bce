"""Rows of alerts, as values and as what changes in them: one judgement, a resolution, the next look."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

from plugbay_scheduled_query.core.alerting.conditions import (
    Condition,
    StaleCondition,
    check_condition,
    condition_json,
)
from plugbay_scheduled_query.core.alerting.judging import Verdict, follow
from plugbay_scheduled_query.core.alerting.model import (
    UNTIL_RESOLVED,
    Alert,
    AlertDraft,
    AlertEvent,
    EventKind,
    Severity,
    Standing,
    State,
)
from plugbay_scheduled_query.core.alerting.wording import sentence
from plugbay_scheduled_query.core.model import MetricConfig, Number
from plugbay_scheduled_query.repository.rows import Row, moment_after

MINUTE = timedelta(minutes=1)
AFRESH: Mapping[str, Any] = {"trues": 0, "falses": 0, "memory": None, "problem": None, "last_value": None}
"""What an alert knows before its first judgement, beside its state."""

Values = dict[str, Any]


@lru_cache(maxsize=4096)
def condition_of(text: str) -> Condition:
    """A stored condition; the same text is read again and again, at each execution."""
    return check_condition(json.loads(text))


def draft_of(row: Row, channels: tuple[str, ...] = ()) -> AlertDraft:
    """What a person wrote, from a row of alerts."""
    return AlertDraft(
        name=row.name,
        condition=condition_of(row.condition),
        enabled=row.enabled,
        severity=Severity(row.severity),
        for_runs=row.for_runs,
        recover_runs=row.recover_runs,
        repeat_minutes=row.repeat_minutes,
        channels=channels,
        message=row.message,
        with_rows=row.with_rows,
    )


def draft_values(draft: AlertDraft) -> Values:
    return {
        "name": draft.name,
        "condition": json.dumps(condition_json(draft.condition), ensure_ascii=False),
        "enabled": draft.enabled,
        "severity": draft.severity.value,
        "for_runs": draft.for_runs,
        "recover_runs": draft.recover_runs,
        "repeat_minutes": draft.repeat_minutes,
        "message": draft.message,
        "with_rows": draft.with_rows,
    }


def alert_of(row: Row, channels: tuple[str, ...] = ()) -> Alert:
    """An alert from its row, with the name of its query in it."""
    return Alert(
        id=row.id,
        query_id=row.query_id,
        query_name=row.query_name,
        draft=draft_of(row, channels),
        standing=Standing(State(row.state), row.trues, row.falses),
        state_since=row.state_since,
        muted_until=row.muted_until,
        last_value=number_of(row.last_value),
        last_evaluated=row.last_evaluated,
        last_notified=row.last_notified,
        problem=row.problem,
        version=row.version,
    )


def digits(number: Number | None) -> str | None:
    """A number as it is stored: no digit of a decimal is lost."""
    return None if number is None else str(number)


def number_of(text: str | None) -> Number | None:
    if text is None:
        return None
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() and "E" not in text else number


def advance(row: Values, verdict: Verdict, now: datetime) -> EventKind | None:
    """Writes a judgement into a row; returns what is to be told of it."""
    row |= {"memory": verdict.memory, "problem": verdict.problem, "last_evaluated": now}
    if verdict.is_true is None:
        return None
    before = State(row["state"])
    standing = Standing(before, row["trues"], row["falses"])
    after = follow(standing, verdict.is_true, row["for_runs"], row["recover_runs"])
    row |= {"state": after.state.value, "trues": after.trues, "falses": after.falses}
    row["last_value"] = digits(verdict.value)
    if after.state is before:
        return None
    enter_state(row, after.state, now)
    if after.state is State.FIRING:
        return EventKind.FIRED
    return EventKind.RESOLVED if before is State.FIRING else None


def enter_state(row: Values, state: State, now: datetime) -> None:
    row |= {"state": state.value, "state_since": now, "changed_at": moment_after(row["changed_at"], now)}


def look_after(row: Values, condition: Condition, now: datetime) -> None:
    """Sets when time alone may change something about an alert; at rest, never."""
    moments: list[datetime] = []
    if isinstance(condition, StaleCondition) and row["state"] != State.FIRING and row["enabled"]:
        due = row["counts_from"] + timedelta(minutes=condition.minutes)
        moments.append(due if row["state"] != State.PENDING else now + MINUTE)
    if row["state"] == State.FIRING:
        moments += _looks_while_firing(row)
    row["look_at"] = min(moments, default=None)


def _looks_while_firing(row: Values) -> list[datetime]:
    muted_until: datetime | None = row["muted_until"]
    if muted_until:  # over or not: the look that finds it over takes it away
        return [] if muted_until == UNTIL_RESOLVED else [muted_until]
    if row["repeat_minutes"]:
        told_at: datetime = row["told_at"] or row["state_since"]
        return [told_at + timedelta(minutes=row["repeat_minutes"])]
    return []


def event_of(
    row: Values,
    draft: AlertDraft,
    kind: EventKind,
    now: datetime,
    metric: MetricConfig | None,
    **more: Any,
) -> AlertEvent:
    """What is told of an alert now, before it has an id."""
    value = number_of(row["last_value"])
    return AlertEvent(
        id=0,
        alert_id=row["id"],
        query_id=row["query_id"],
        alert_name=draft.name,
        query_name=row["query_name"],
        severity=draft.severity,
        kind=kind,
        at=now,
        labels=tuple(metric.labels.items()) if metric else (),
        **{"started_at": row["state_since"], "value": value, "message": sentence(draft, kind, value), **more},
    )
