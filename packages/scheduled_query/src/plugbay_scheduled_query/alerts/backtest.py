"""Backtest: a rule is played against the kept results, to see when it would have fired."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from plugbay import Clock

from plugbay_scheduled_query.core.alerting.conditions import (
    ChangeCondition,
    Condition,
    FailingCondition,
    RowsCondition,
    StaleCondition,
    ValueCondition,
)
from plugbay_scheduled_query.core.alerting.draft import check_new_alert
from plugbay_scheduled_query.core.alerting.judging import Evidence, Verdict, follow, judge
from plugbay_scheduled_query.core.alerting.model import AlertDraft, Standing, State
from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.model import Number, Status
from plugbay_scheduled_query.repository.past import Kept, Past, Reach

MOST_EXECUTIONS = 10_000
MAX_DAYS = 3650
USUAL_DAYS = 30


@dataclass(slots=True)
class Period:
    """From the execution that would have fired to the one that would have resolved it, if there was one."""

    since: datetime
    value: Number | None
    until: datetime | None = None
    runs: int = 1


@dataclass(slots=True)
class Played:
    """What a backtest found: how many executions it judged, when it would have fired, the values it saw."""

    executions: int = 0
    periods: list[Period] = field(default_factory=list)
    points: list[tuple[datetime, Number | None]] = field(default_factory=list)
    standing: Standing = field(default_factory=Standing)


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What the rule says at a moment; `is_run` unless only time had passed."""

    at: datetime
    is_true: bool
    value: Number | None
    is_run: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """Which rule to play against how much of which query's past."""

    query_id: int
    draft: AlertDraft
    days: int = USUAL_DAYS


def read_question(given: Mapping[str, Any]) -> Question | Refused:
    """What was asked for, or a sentence for each field that is wrong."""
    wanted = {name: given.get(name) for name in ("condition", "for_runs", "recover_runs")}
    draft = check_new_alert(wanted, ())
    errors = dict(draft.errors) if isinstance(draft, Refused) else {}
    query_id, days = given.get("query_id"), given.get("days")
    days = USUAL_DAYS if days is None else days
    if isinstance(query_id, bool) or not isinstance(query_id, int):
        errors["query_id"] = "must be the id of a query"
    if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= MAX_DAYS:
        errors["days"] = f"must be a whole number from 1 to {MAX_DAYS:,}"
    if errors or isinstance(draft, Refused):
        return Refused(errors)
    return Question(query_id, draft, days)  # type: ignore[arg-type]


class Backtest:
    """Plays rules; stores nothing."""

    def __init__(self, past: Past, clock: Clock) -> None:
        self._past = past
        self._clock = clock

    def play(self, question: Question) -> Played:
        """Goes through the newest executions of these days, oldest first."""
        now, draft = self._clock.now(), question.draft
        since = now - timedelta(days=question.days)
        kept = self._past.since(question.query_id, since, MOST_EXECUTIONS, _reach(draft.condition))
        return replay(draft, kept, now)


def replay(draft: AlertDraft, kept: Iterable[Kept], now: datetime) -> Played:
    """What the rule says of each execution, and the periods that follow."""
    played = Played()
    if isinstance(draft.condition, StaleCondition):
        judgements = _ages(draft.condition, draft.for_runs, kept, now)
    else:
        judgements = _judgements(draft.condition, kept)
    for judgement in judgements:
        played.executions += judgement.is_run
        _take_in(played, judgement, draft)
    return played


def _take_in(played: Played, found: _Judgement, draft: AlertDraft) -> None:
    before = played.standing.state
    played.standing = follow(played.standing, found.is_true, draft.for_runs, draft.recover_runs)
    is_firing = played.standing.state is State.FIRING
    played.points.append((found.at, found.value))
    if is_firing and before is not State.FIRING:
        played.periods.append(Period(found.at, found.value, runs=int(found.is_run)))
    elif is_firing:
        played.periods[-1].runs += found.is_run
    elif before is State.FIRING:
        played.periods[-1].until = found.at


def _judgements(condition: Condition, kept: Iterable[Kept]) -> Iterator[_Judgement]:
    memory: str | None = None
    for each in kept:
        evidence = Evidence(each.status, each.columns, each.text, each.row_count)
        verdict: Verdict = judge(condition, evidence, memory)
        memory = verdict.memory
        if verdict.is_true is not None:
            yield _Judgement(each.at, verdict.is_true, verdict.value)


def _ages(
    condition: StaleCondition, for_runs: int, kept: Iterable[Kept], now: datetime
) -> Iterator[_Judgement]:
    """As the looks of each minute would have gone: true from so long after a success up to the next one."""
    last: datetime | None = None
    for at in (each.at for each in kept if each.status is Status.SUCCESS):
        yield from _looks(condition, for_runs, last, at)
        yield _Judgement(at, False, 0)
        last = at
    yield from _looks(condition, for_runs, last, now)


def _looks(
    condition: StaleCondition, for_runs: int, last: datetime | None, until: datetime
) -> Iterator[_Judgement]:
    """As many as it takes to fire; those after them change nothing."""
    if last is None:
        return
    for minutes in range(condition.minutes, condition.minutes + for_runs):
        at = last + timedelta(minutes=minutes)
        if at > until:
            return
        yield _Judgement(at, True, minutes, is_run=False)


def _reach(condition: Condition) -> Reach:
    if isinstance(condition, RowsCondition | FailingCondition | StaleCondition):
        return Reach.COUNT
    if isinstance(condition, ChangeCondition):
        return {"rows": Reach.COUNT, "value": Reach.BEGINNING, "result": Reach.WHOLE}[condition.of]
    if isinstance(condition, ValueCondition) and condition.rows != "first":
        return Reach.WHOLE
    return Reach.BEGINNING
