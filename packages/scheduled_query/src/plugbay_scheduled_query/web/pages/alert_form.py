"""“Tell me when …”: an alert as a sentence of fields, what it would say now, and what it would have said."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from plugbay_scheduled_query.alerts.backtest import USUAL_DAYS, Period, Played, Question, read_question
from plugbay_scheduled_query.core.alerting.conditions import (
    KINDS,
    OP_WORDS,
    Condition,
    NoDataCondition,
    RowsCondition,
    ValueCondition,
    condition_json,
)
from plugbay_scheduled_query.core.alerting.judging import Evidence, Verdict, judge
from plugbay_scheduled_query.core.alerting.model import Alert, AlertDraft, Severity, State
from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.metric import number_in
from plugbay_scheduled_query.core.model import Number, Query, Status
from plugbay_scheduled_query.repository.channels import Channel
from plugbay_scheduled_query.web.pages.site import Site

PREFIX = "alert_"
CHANNEL = f"{PREFIX}channel_"
KIND_WORDS = (
    ("value", "the value"),
    ("rows", "the number of rows"),
    ("change", "it changes:"),
    ("no_data", "there is no data"),
    ("failing", "executions fail,"),
    ("stale", "nothing has succeeded for"),
)
ROWS_WORDS = (("first", "in the first row"), ("any", "in any row"), ("all", "in all rows"))
COMPARING = ("value", "rows")  # kinds that go by a number
OF_WORDS = (("value", "the value"), ("rows", "the number of rows"), ("result", "the result"))
NEW = {
    "alert_op": ">",
    "alert_rows": "first",
    "alert_of": "value",
    "alert_times": "3",
    "alert_minutes": "60",
    "alert_severity": "warning",
    "alert_for_runs": "1",
    "alert_recover_runs": "1",
    "alert_enabled": "on",
}
MOST_POINTS = 400  # of a chart that shows what a rule saw
BLAMED_AS_ONE = "condition"  # errors of it stand below the sentence

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_FIELDS = {
    "value": ("op", "value", "column", "rows"),
    "rows": ("op", "value"),
    "change": ("of", "column", "by", "percent"),
    "no_data": (),
    "failing": ("times",),
    "stale": ("minutes",),
}
_TEXTS = ("op", "rows", "of", "column")


def from_alert_form(typed: Mapping[str, str], channels: Sequence[Channel]) -> dict[str, Any]:
    """What the fields of an alert say, as the API would have sent it."""
    fields = ((name.partition(PREFIX), text) for name, text in typed.items())
    given = {name: text.strip() for (before, _, name), text in fields if name and not before}
    chosen = [channel.name for channel in channels if typed.get(f"{CHANNEL}{channel.id}")]
    return {
        "name": given.get("name") or None,
        "condition": _condition(given),
        "enabled": bool(given.get("enabled")),
        "severity": given.get("severity"),
        "for_runs": _number(given.get("for_runs", "")),
        "recover_runs": _number(given.get("recover_runs", "")),
        "repeat_minutes": _number(given.get("repeat_minutes", "")),
        "channels": chosen,
        "message": given.get("message", "").replace("\r\n", "\n"),
        "with_rows": bool(given.get("with_rows")),
    }


def as_alert_form(draft: AlertDraft, channels: Sequence[Channel]) -> dict[str, str]:
    """The fields that show an alert; a box that is not ticked is left out."""
    said = condition_json(draft.condition)
    fields = {
        **said,
        "name": draft.name,
        "severity": draft.severity.value,
        "for_runs": draft.for_runs,
        "recover_runs": draft.recover_runs,
        "repeat_minutes": draft.repeat_minutes,
        "message": draft.message,
        "enabled": draft.enabled,
        "with_rows": draft.with_rows,
    }
    ticked = {f"{CHANNEL}{each.id}": "on" for each in channels if each.name in draft.channels}
    return {f"{PREFIX}{name}": _text(value) for name, value in fields.items() if value is not False} | ticked


def alerts_of(site: Site, query: Query) -> list[Alert]:
    """What watches a query."""
    return site.parts.alerts.alerts.of_queries([query.id]).get(query.id, [])


def wants_alert(typed: Mapping[str, str]) -> bool:
    """Whether the form of a query asks for an alert, too."""
    return typed.get("alert_kind", "") in KINDS


def form_context(site: Site, typed: Mapping[str, str]) -> dict[str, Any]:
    """What the fields need beside what was typed."""
    return {
        "typed_alert": NEW | {name: text for name, text in typed.items() if name.startswith(PREFIX)},
        "channels": site.parts.alerts.channels.all(),
        "kind_words": KIND_WORDS,
        "op_words": OP_WORDS,
        "rows_words": ROWS_WORDS,
        "of_words": OF_WORDS,
        "severities": [severity.value for severity in Severity],
    }


@dataclass(frozen=True, slots=True)
class AlertPreview:
    """What a rule that is being typed says: now, and of the past."""

    error: str = ""
    words: str = ""
    verdict: Verdict | None = None
    played: Played | None = None
    days: int = USUAL_DAYS
    chart: dict[str, Any] | None = None

    @property
    def would_fire(self) -> bool:
        """Whether it would, at the latest result; by the past where only that tells."""
        if self.verdict and self.verdict.is_true is not None:
            return self.verdict.is_true
        return self.played is not None and self.played.standing.state is State.FIRING


def preview(site: Site, typed: Mapping[str, str], query: Query | None) -> AlertPreview | None:
    """The preview of what is typed; None while nothing is chosen, or the number is still to come."""
    if not wants_alert(typed) or (
        typed["alert_kind"] in COMPARING and not typed.get("alert_value", "").strip()
    ):
        return None
    given = from_alert_form(typed, ())
    question = read_question({**given, "query_id": query.id if query else 0})
    if isinstance(question, Refused):
        return AlertPreview(error="; ".join(question.errors.values()))
    words = question.draft.condition.words
    if query is None or query.last_executed is None:
        return AlertPreview(words=words)
    return _preview(site, question, query)


def _preview(site: Site, question: Question, query: Query) -> AlertPreview:
    condition, played = question.draft.condition, site.parts.alerts.backtest.play(question)
    return AlertPreview(
        words=condition.words,
        verdict=_verdict(condition, query),
        played=played,
        days=question.days,
        chart=backtest_chart(played),
    )


def _verdict(condition: Condition, query: Query) -> Verdict | None:
    """What it says of the latest result, where that alone tells."""
    if query.last_result is None or not isinstance(
        condition, ValueCondition | RowsCondition | NoDataCondition
    ):
        return None
    evidence = Evidence(Status.SUCCESS, query.last_result_key, query.last_result)
    counted = Evidence(Status.SUCCESS, query.last_result_key, query.last_result, len(evidence.rows))
    return judge(condition, counted)


def backtest_chart(played: Played) -> dict[str, Any] | None:
    """The values that a rule saw, and apart from them those at which it would have fired."""
    points = [(at, float(value)) for at, value in played.points if value is not None]
    if len(points) < 2:
        return None
    firing = [_is_within(at, played.periods) for at, _ in points]
    step = -(-len(points) // MOST_POINTS)
    kept = [n for n in range(len(points)) if n % step == 0 or firing[n] != firing[n - 1]]
    values = [points[n][1] for n in kept]
    # up to where it is over: a line needs two points
    hot = [points[n][1] if firing[n] or (n and firing[n - 1]) else None for n in kept]
    return {
        "t": [round(points[n][0].timestamp(), 3) for n in kept],
        "series": [
            {"label": "value", "values": values},
            {"label": "would fire", "tone": "red", "values": hot},
        ],
    }


def _is_within(at: datetime, periods: Sequence[Period]) -> bool:
    return any(period.since <= at and (period.until is None or at < period.until) for period in periods)


def _condition(given: Mapping[str, str]) -> dict[str, Any]:
    kind = given.get("kind", "")
    said: dict[str, Any] = {"kind": kind}
    for name in _FIELDS.get(kind, ()):
        text = given.get(name, "")
        if name == "percent":
            said[name] = bool(text)
        else:
            said[name] = (text or None) if name in _TEXTS else _number(text)
    return said


def _number(text: str) -> Number | str | None:
    """The number that was typed; what is none stays as it is, for the check to name."""
    text = text.replace(",", "").strip()
    if not text:
        return None
    if _WHOLE.fullmatch(text):
        return int(text)
    found = number_in(text)
    return text if found is None else float(found)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if value is True:
        return "on"
    return f"{Decimal(repr(value)):f}" if isinstance(value, float) else str(value)
