"""Why a query that is due has not started, in words that say what to change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from plugbay_scheduled_query.core.capacity import Pace
from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.core.standstill import Standstill
from plugbay_scheduled_query.core.text import format_utc, quoted


@dataclass(frozen=True, slots=True)
class SourceState:
    """What goes on at a source."""

    pace: Pace
    runs_now: str | None = None  # the query that has the lane
    ended_at: datetime | None = None  # when the last one had it
    under_way: int = 0  # scheduled runs

    def free_at(self, now: datetime) -> datetime | None:
        """When the lane has rested; None: it has."""
        at = self.ended_at + timedelta(seconds=self.pace.interval_s) if self.ended_at else now
        return at if at > now else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """All that can keep queries waiting, at one moment."""

    now: datetime
    hold: Standstill | None = None  # the pause of all queries
    pauses: Mapping[str, str] = field(default_factory=dict)  # reasons, by source
    sources: Mapping[str, SourceState] = field(default_factory=dict)


def is_due(query: Query, now: datetime) -> bool:
    """Whether its time has come and nothing was started for it."""
    return not query.running and query.next_run_at is not None and query.next_run_at <= now


def waiting_for(source: str, at: Situation) -> str:
    """What a due query of this source waits for, and what would help: it follows the words `waits for`."""
    if at.hold:
        who, when = at.hold.by or "somebody", format_utc(at.hold.since)
        return f"the end of a pause: {who} paused all queries at {when} UTC, and an admin can resume them"
    if source in at.pauses:
        return f"its source to go on: {at.pauses[source]}"
    state = at.sources.get(source)
    if state is None:
        return "its start, which is due now"
    return _for_the_lane(source, state, at.now) if state.pace.is_paced else _for_a_slot(source, state)


def advice(source: str) -> str:
    """What to change where a pace is what makes runs late."""
    return f"set the pace of {source} to 0, and its queries start when they are due"


def _for_the_lane(source: str, state: SourceState, now: datetime) -> str:
    pace = f"{quoted(source)} runs {state.pace.words}"
    if state.runs_now is not None:
        return f"the run of {quoted(state.runs_now)}: {pace}; {advice(source)}"
    if free_at := state.free_at(now):
        then = f"the next starts at {format_utc(free_at)} UTC"
        return f"the pace of its source: {pace}, and {then}; {advice(source)}"
    return "its turn, which is next"


def _for_a_slot(source: str, state: SourceState) -> str:
    if state.under_way >= state.pace.max_parallel:
        pace = f"{quoted(source)} runs {state.pace.words}, and {state.under_way} are under way"
        return f"the other runs of its source: {pace}; raise max_parallel of {source}"
    return "a free worker: if that takes long, raise the setting max_parallel, or run more processes"
