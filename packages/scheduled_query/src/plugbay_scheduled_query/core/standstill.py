"""Times in which the schedule started nothing, and what is said about them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from plugbay_scheduled_query.core.text import format_utc, quoted


class StandstillKind(StrEnum):
    """What stood still, and why."""

    DOWN = "down"  # no server was at work
    ALL = "all"  # an admin paused the schedule
    SOURCE = "source"  # a session did not end there


@dataclass(frozen=True, slots=True)
class Standstill:
    """A time in which nothing started; without an end it lasts."""

    kind: StandstillKind
    since: datetime
    until: datetime | None = None
    by: str | None = None
    ended_by: str | None = None

    def covers(self, moment: datetime) -> bool:
        """Whether it lasted at that moment."""
        return self.since <= moment and (self.until is None or moment < self.until)

    def words(self, source: str) -> str:
        """What it was, as part of a sentence about a query of this source."""
        if self.kind is StandstillKind.DOWN:
            return f"no server was at work {self._span}"
        if self.kind is StandstillKind.SOURCE:
            reason = "because a session there did not end"
            return f"the data source {quoted(source)} was paused {self._span}, {reason}"
        return f"all queries were paused by {self.by or 'somebody'} {self._span}"

    @property
    def _span(self) -> str:
        since = f"from {format_utc(self.since)}"
        return f"{since} to {format_utc(self.until)} UTC" if self.until else f"{since} UTC on, and it lasts"
