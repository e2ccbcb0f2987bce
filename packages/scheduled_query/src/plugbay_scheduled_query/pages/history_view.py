"""Which executions a page of history shows, as its address says. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime

from plugbay_scheduled_query.core.model import Status
from plugbay_scheduled_query.core.parameters import BadParameter, Period, period
from plugbay_scheduled_query.pages.list_view import page_number
from plugbay_scheduled_query.repository.histories import ALL, HistoryFilter

DAY = len("2026-11-15")
STATUSES = (ALL, *(status.value for status in Status))


@dataclass(frozen=True, slots=True)
class HistoryView:
    """The filters above a history, and the page of it."""

    wanted: HistoryFilter
    page: int
    date_from: str = ""
    date_to: str = ""
    query: str = ""
    error: str = ""

    @property
    def is_filtered(self) -> bool:
        return bool(self.wanted.status != ALL or self.date_from or self.date_to or self.query)

    def within(self, total: int, limit: int) -> "HistoryView":
        """The same, or its last page when there are fewer by now."""
        return replace(self, page=max(1, min(self.page, -(-total // limit))))

    def is_current(self, now: datetime) -> bool:
        """Whether what happens now belongs on it; who looks back must not have rows pushed away."""
        return self.page == 1 and (self.wanted.until is None or self.wanted.until >= now)


def history_view(given: Mapping[str, str]) -> HistoryView:
    """Reads an address; dates that cannot be read are not applied, and the reason is told."""
    status = given.get("status", ALL)
    status = status if status in STATUSES else ALL
    date_from, date_to = given.get("date_from", "").strip(), given.get("date_to", "").strip()
    error, found = "", Period()
    try:
        found = period(date_from, date_to)
    except BadParameter as problem:
        error = str(problem)
    wanted, days = HistoryFilter.of(status, found), (_day(date_from), _day(date_to))
    return HistoryView(wanted, page_number(given), *days, given.get("query", "").strip(), error)


def _day(text: str) -> str:
    """What a field for days can show; browsers complain about anything else."""
    try:
        return date.fromisoformat(text[:DAY]).isoformat()
    except ValueError:
        return ""
