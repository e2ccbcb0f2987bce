"""Why a query ran, or did not, at a time of its past: an answer from what is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from plugbay_scheduled_query.core.capacity import Pace
from plugbay_scheduled_query.core.model import Execution, Query, Status, Trigger
from plugbay_scheduled_query.core.schedule import next_run
from plugbay_scheduled_query.core.standstill import Standstill, StandstillKind
from plugbay_scheduled_query.core.text import as_sentence, format_utc, quoted
from plugbay_scheduled_query.core.waiting import advice

LATE = timedelta(seconds=5)  # later than this is worth a reason
MINUTE = timedelta(minutes=1)
_JUST_BEFORE = timedelta(seconds=1)


class Reason(StrEnum):
    """What came of a time."""

    RAN = "ran"
    RAN_LATE = "ran_late"
    RUNNING = "running"
    WAITING = "waiting"
    MISSED = "missed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    DISABLED = "disabled"
    NOT_SCHEDULED = "not_scheduled"
    NOT_THERE_YET = "not_there_yet"
    PAUSED = "paused"
    FUTURE = "future"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Answer:
    """Why, in one word and in a sentence."""

    reason: Reason
    answer: str
    execution_id: int | None = None


@dataclass(frozen=True, slots=True)
class Switch:
    """Somebody enabled or disabled a query."""

    at: datetime
    enabled: bool
    by: str | None


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A run that is under way; `due_at` is none for Run Now."""

    claimed_at: datetime
    due_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that is known about a time of a query."""

    at: datetime
    now: datetime
    query: Query
    timezone: str
    words: str  # of the schedule
    pace: Pace
    due_then: Execution | None = None  # the execution of that time
    begun_then: Execution | None = None  # one that began in that minute
    before: Execution | None = None  # the last scheduled one that was due earlier
    earlier: Execution | None = None  # the one before that
    run: LiveRun | None = None
    standstills: Sequence[Standstill] = ()
    switches: Sequence[Switch] = ()  # in their order
    waiting_for: str | None = None

    @property
    def slot(self) -> datetime:
        """The minute that was asked about: no schedule knows seconds."""
        return minute_of(self.at)


def minute_of(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def explain(facts: Facts) -> Answer:
    """What came of that time, from the surest to the least sure."""
    looks = (_not_yet, _executed, _under_way, _disabled, _not_scheduled, _paused, _missed, _waiting)
    for look in looks:
        if answer := look(facts):
            return answer
    return _unknown(facts)


def is_late(execution: Execution) -> bool:
    """Whether it began later than it should, or stands for times that passed meanwhile."""
    due_at = execution.due_at
    return due_at is not None and (execution.missed > 0 or execution.executed_at - due_at > LATE)


def lateness_of(execution: Execution, facts: Facts) -> str | None:
    """Why an execution was late or stands for missed times, and what to change; None when all was well."""
    if execution.due_at is None or not is_late(execution):
        return None
    late = execution.executed_at - execution.due_at
    missed = f" and stands for {_times(execution.missed)} that passed meanwhile" if execution.missed else ""
    return f"{duration(late)} late{missed}: {_cause(facts, execution)}"


def duration(span: timedelta) -> str:
    """A span as people say it."""
    seconds = max(0, round(span.total_seconds()))
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _not_yet(facts: Facts) -> Answer | None:
    query = facts.query
    if facts.at > facts.now:
        has = "has that time" if _is_scheduled(facts) else "has no such time"
        return Answer(Reason.FUTURE, f"That is still to come. The schedule ({_plan(facts)}) {has}.")
    if query.created_at and facts.at < query.created_at and not (facts.due_then or facts.begun_then):
        return _not_there(query, query.created_at)
    return None


def _not_there(query: Query, created_at: datetime) -> Answer:
    by = f" by {query.created_by}" if query.created_by else ""
    return Answer(Reason.NOT_THERE_YET, f"The query was made{by} at {_utc(created_at)}, later than that.")


def _executed(facts: Facts) -> Answer | None:
    execution = facts.due_then or facts.begun_then
    if execution is None or (facts.due_then is None and _is_another(execution, facts)):
        return None
    began = f"at {_utc(execution.executed_at)}"
    if execution.trigger is Trigger.MANUAL:
        began += f", by hand ({execution.triggered_by})" if execution.triggered_by else ", by hand"
    lateness = lateness_of(execution, facts)
    late = f" It began {lateness}." if lateness else ""
    if execution.status is not Status.SUCCESS:
        word = "took too long" if execution.status is Status.TIMEOUT else "failed"
        text = f"It ran {began} and {word}: {execution.error_message or 'no reason is kept'}"
        return Answer(Reason(execution.status.value), f"{text.rstrip('.')}.{late}", execution.id)
    reason = Reason.RAN_LATE if lateness else Reason.RAN
    took = f"took {execution.duration_ms:,} ms"
    return Answer(reason, f"It ran {began} and {took}.{late}", execution.id)


def _is_another(execution: Execution, facts: Facts) -> bool:
    """Whether it began in that minute for the sake of an earlier one, and that minute was due itself."""
    return execution.trigger is Trigger.SCHEDULE and _is_scheduled(facts)


def _under_way(facts: Facts) -> Answer | None:
    run = facts.run
    if run is None:
        return None
    is_then = run.due_at == facts.slot if run.due_at else minute_of(run.claimed_at) == facts.slot
    if not is_then:
        return None
    if facts.waiting_for:
        return Answer(Reason.WAITING, f"It waits for {facts.waiting_for}.")
    return Answer(Reason.RUNNING, f"It runs, since {_utc(run.claimed_at)}.")


def _not_scheduled(facts: Facts) -> Answer | None:
    if _is_scheduled(facts):
        return None
    after = _first_after(facts, facts.slot)
    then = f"; the next one after it is {_utc(after)}" if after else ""
    text = f"The schedule ({_plan(facts)}) has no such time{then}."
    return Answer(Reason.NOT_SCHEDULED, text + _since_edited(facts))


def _disabled(facts: Facts) -> Answer | None:
    earlier = [switch for switch in facts.switches if switch.at <= facts.at]
    later = [switch for switch in facts.switches if switch.at > facts.at]
    was_enabled = not later[0].enabled if later else facts.query.enabled
    if was_enabled:
        return None
    began = f" {_by_whom(earlier[-1])}" if earlier else ""
    end = f"; it was enabled {_by_whom(later[0])}" if later else ""
    return Answer(Reason.DISABLED, f"It was disabled{began}{end}.")


def _paused(facts: Facts) -> Answer | None:
    source = facts.query.data_source
    for standstill in facts.standstills:
        if standstill.kind is not StandstillKind.DOWN and _covers(standstill, facts):
            text = as_sentence(standstill.words(source))
            return Answer(Reason.PAUSED, text + _stands_for_it(facts), _id_of(_standing_for(facts)))
    return None


def _missed(facts: Facts) -> Answer | None:
    execution = _standing_for(facts)
    if execution:
        text = f"It was missed: {_cause(facts, execution)}.{_stands_for_it(facts)}"
        return Answer(Reason.MISSED, text, execution.id)
    down = [one for one in facts.standstills if one.kind is StandstillKind.DOWN and _covers(one, facts)]
    why = f": {down[0].words(facts.query.data_source)}" if down else ""
    if facts.run and facts.run.due_at and facts.run.due_at < facts.slot <= facts.run.claimed_at:
        text = f"the run that is under way since {_utc(facts.run.claimed_at)} stands for it"
        return Answer(Reason.MISSED, f"It was missed{why}; {text}.")
    return Answer(Reason.MISSED, f"It was missed{why}.") if down and not _is_waiting(facts) else None


def _waiting(facts: Facts) -> Answer | None:
    if not _is_waiting(facts):
        return None
    return Answer(Reason.WAITING, f"It waits for {facts.waiting_for or 'its turn, which is next'}.")


def _unknown(facts: Facts) -> Answer:
    if facts.query.created_at and facts.slot < facts.query.created_at:  # it was made in that minute
        return _not_there(facts.query, facts.query.created_at)
    text = "The schedule has that time, and what came of it is not kept: history was off, or is gone."
    return Answer(Reason.UNKNOWN, text + _since_edited(facts))


def _cause(facts: Facts, execution: Execution) -> str:
    """What kept an execution from starting when it was due."""
    source, due_at, began = facts.query.data_source, execution.due_at, execution.executed_at
    for standstill in facts.standstills:
        if due_at and standstill.since < began and (standstill.until is None or standstill.until > due_at):
            return standstill.words(source)
    if execution.attempt > 1:
        return "a server ended in the middle of it, and it ran again"
    previous = facts.earlier if execution is facts.before else facts.before
    if previous and due_at and _end_of(previous) > due_at + LATE:
        end = _utc(_end_of(previous))
        return f"its own run before took until {end}, and a query never overlaps itself; run it less often"
    if facts.pace.is_paced:
        return f"it waited for its source, {quoted(source)}, which runs {facts.pace.words}; {advice(source)}"
    return f"it waited for a free worker; raise max_parallel of {source}, or run more processes"


def _standing_for(facts: Facts) -> Execution | None:
    """The execution that was due earlier, began later, and so passed over that time."""
    before = facts.before
    return before if before and before.missed and before.executed_at >= facts.slot else None


def _stands_for_it(facts: Facts) -> str:
    execution = _standing_for(facts)
    return f" The run that began at {_utc(execution.executed_at)} stands for it." if execution else ""


def _covers(standstill: Standstill, facts: Facts) -> bool:
    return standstill.covers(facts.slot) or standstill.covers(facts.at)


def _is_waiting(facts: Facts) -> bool:
    due = facts.query.next_run_at
    return due is not None and due <= facts.slot


def _is_scheduled(facts: Facts) -> bool:
    return _first_after(facts, facts.slot - _JUST_BEFORE) == facts.slot


def _first_after(facts: Facts, moment: datetime) -> datetime | None:
    """The next time of the schedule; none at the end of the calendar, or where its zone left the machine."""
    try:
        return next_run(facts.query.cron_schedule, facts.timezone, moment)
    except (ValueError, OverflowError):
        return None


def _plan(facts: Facts) -> str:
    return f"{facts.words}, {facts.timezone}"


def _since_edited(facts: Facts) -> str:
    query = facts.query
    if query.updated_at is None or query.updated_at <= facts.slot or query.version == 1:
        return ""
    by = f" by {query.updated_by}" if query.updated_by else ""
    when = f"at {_utc(query.updated_at)}, later than that"
    return f" The query was saved{by} {when}: its schedule may have been another then."


def _by_whom(switch: Switch) -> str:
    return f"by {switch.by or 'somebody'} at {_utc(switch.at)}"


def _times(count: int) -> str:
    return "1 time" if count == 1 else f"{count:,} times"


def _end_of(execution: Execution) -> datetime:
    return execution.executed_at + timedelta(milliseconds=execution.duration_ms)


def _id_of(execution: Execution | None) -> int | None:
    return execution.id if execution else None


def _utc(moment: datetime) -> str:
    return f"{format_utc(moment)} UTC"
