"""What people are told of an alert: the sentence of an event, and messages made of events."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from plugbay_scheduled_query.core.alerting.conditions import (
    ChangeCondition,
    Condition,
    FailingCondition,
    NoDataCondition,
    RowsCondition,
    StaleCondition,
)
from plugbay_scheduled_query.core.alerting.judging import Evidence
from plugbay_scheduled_query.core.alerting.model import AlertDraft, AlertEvent, EventKind, Severity
from plugbay_scheduled_query.core.metric import format_number
from plugbay_scheduled_query.core.model import Number
from plugbay_scheduled_query.core.results import iter_rows
from plugbay_scheduled_query.core.text import format_utc

ROWS_TOLD = 10
CELLS_TOLD = 12  # of a row
CELL_TOLD = 60  # characters of a cell
TYPES = {Severity.CRITICAL: "failure", Severity.WARNING: "warning", Severity.INFO: "info"}
RESOLVED_TYPE = "success"
LINES_OF_DIGEST = 100  # a message with more is read by nobody, and refused by many a channel
_WORST_FIRST = ("failure", "warning", "info", RESOLVED_TYPE)


@dataclass(frozen=True, slots=True)
class AlertMessage:
    """What one channel is sent; `type` is Apprise's."""

    title: str
    body: str
    type: str


def sentence(draft: AlertDraft, kind: EventKind, value: Number | None) -> str:
    """The `message` of an event: the alert's own text, and what was found."""
    if kind is EventKind.RESOLVED:
        found = "" if value is None else _found(draft.condition, value)
        return f"It is over: {found or 'the condition is no longer true'}."
    found = f"{_found(draft.condition, value) or draft.condition.words} ({draft.condition.words})."
    reason = f"Still so: {found}" if kind is EventKind.REPEATED else found[:1].upper() + found[1:]
    return "\n".join(filter(None, [draft.message, reason]))


def rows_told(evidence: Evidence) -> str:
    """The first rows of a result as lines of a message."""
    rows = [evidence.columns, *islice(iter_rows(evidence.text), ROWS_TOLD)]
    lines = [" | ".join(map(_cell, row[:CELLS_TOLD])) for row in rows]
    if evidence.row_count > ROWS_TOLD:
        lines.append(f"… and {evidence.row_count - ROWS_TOLD:,} more")
    return "\n".join(lines)


def message_of(event: AlertEvent, public_url: str = "") -> AlertMessage:
    """One event as a message."""
    lines = [
        event.message,
        "",
        f"Query: {event.query_name}",
        f"Alert: {event.alert_name} ({event.severity})",
        f"Value: {format_number(event.value)}" if event.value is not None else "",
        f"Time: {format_utc(event.at)} UTC, event {event.id}",
        link_to(event, public_url),
        f"\n{event.rows}" if event.rows else "",
    ]
    body = "\n".join(line for number, line in enumerate(lines) if line or number == 1)
    return AlertMessage(title_of(event), body, type_of(event))


def digest_of(events: Sequence[AlertEvent], public_url: str = "") -> AlertMessage:
    """Many events as one message, of the type of the worst."""
    kinds = [f"{_count(events, kind)} {kind}" for kind in EventKind if _count(events, kind)]
    lines = [_digest_line(event, public_url) for event in events[:LINES_OF_DIGEST]]
    if len(events) > LINES_OF_DIGEST:
        names = "; ".join(f"{event.alert_name} (event {event.id})" for event in events[LINES_OF_DIGEST:])
        lines.append(f"Also: {names}")
    worst = min((type_of(event) for event in events), key=_WORST_FIRST.index)
    return AlertMessage(f"{len(events)} alert events: {', '.join(kinds)}", "\n".join(lines), worst)


def type_of(event: AlertEvent) -> str:
    """Apprise's word for how bad it is."""
    return RESOLVED_TYPE if event.kind is EventKind.RESOLVED else TYPES[event.severity]


def title_of(event: AlertEvent) -> str:
    """An event in a few words."""
    what = f"{event.query_name}: {event.alert_name}"
    if event.kind is EventKind.RESOLVED:
        return f"Resolved: {what}"
    still = "still firing, " if event.kind is EventKind.REPEATED else ""
    return f"[{still}{event.severity}] {what}"


def _digest_line(event: AlertEvent, public_url: str) -> str:
    value = f", value {format_number(event.value)}" if event.value is not None else ""
    line = f"{title_of(event)}{value}, {format_utc(event.at)} UTC, event {event.id}"
    link = link_to(event, public_url)
    return f"{line}, {link}" if link else line


def link_to(event: AlertEvent, public_url: str) -> str:
    """Where its query is shown, if the host knows its own address."""
    return f"{public_url.rstrip('/')}/scheduled_query/query/{event.query_id}" if public_url else ""


def _found(condition: Condition, value: Number | None) -> str:
    """What is there now, in words."""
    if isinstance(condition, NoDataCondition):
        return "there is no data" if value is None else f"the value is {format_number(value)}"
    if value is None:
        return "the result changed" if isinstance(condition, ChangeCondition) else ""
    number = format_number(value)
    if isinstance(condition, FailingCondition):
        return f"{number} executions in a row failed" if value else "the last execution succeeded"
    if isinstance(condition, StaleCondition):
        return f"the last success was {number} minutes ago" if value else "an execution succeeded"
    if isinstance(condition, RowsCondition) or (
        isinstance(condition, ChangeCondition) and condition.of == "rows"
    ):
        return f"the result has {number} row{'' if value == 1 else 's'}"
    column = condition.column
    return f"“{column}” is {number}" if column else f"the value is {number}"


def _cell(cell: Any) -> str:
    if cell is None:
        return "NULL"
    text = cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False, default=str)
    line = " ".join(text.split())
    return line if len(line) <= CELL_TOLD else line[: CELL_TOLD - 1] + "…"


def _count(events: Sequence[AlertEvent], kind: EventKind) -> int:
    return sum(event.kind is kind for event in events)
