"""Try it: a definition that is not stored yet, run as it would be."""

import uuid
from collections.abc import Mapping
from typing import Any

from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.model import Outcome
from plugbay_scheduled_query.queries.editing import QueryEditing
from plugbay_scheduled_query.queries.tried import TriedResults
from plugbay_scheduled_query.runs.executing import Executing

# what a definition needs beside what is tried, and what is taken of what was sent
_FILLED_IN = {"name": "(try it)", "cron_schedule": "@daily"}
_TAKEN = ("query", "data_source", "timeout")


class Trying:
    """Try it: runs a query with the guard, limits and time of an execution, and keeps nothing of it."""

    def __init__(self, editing: QueryEditing, executing: Executing) -> None:
        self._editing = editing
        self._executing = executing
        self.results = TriedResults()

    def trial(self, given: Mapping[str, Any], by: str) -> "Trial":
        """One attempt, to be run and perhaps cancelled from another thread."""
        return Trial(self._editing, self._executing, given, by)


class Trial:
    """One attempt at a query, of which nothing is kept."""

    def __init__(
        self, editing: QueryEditing, executing: Executing, given: Mapping[str, Any], by: str
    ) -> None:
        self._editing = editing
        self._executing = executing
        self._given = {name: given[name] for name in _TAKEN if name in given}
        self._by = by
        self._id = f"try-{uuid.uuid4()}"
        self._is_cancelled = False

    def run(self) -> Outcome | Refused:
        """Runs `query` on `data_source` within `timeout`; blocks until it ends."""
        checked = self._editing.check(_FILLED_IN | self._given, at="try")
        if isinstance(checked, Refused):
            return checked
        draft, source = checked
        outcome = self._executing.ask(self._id, source.id, draft.query, draft.timeout, self._stopped_by)
        if outcome.rejection:  # by a rule that was set a moment ago
            return Refused({"query": outcome.rejection.reason})
        return outcome

    def cancel(self) -> None:
        """Stops it, whether it has begun or not."""
        self._is_cancelled = True
        self._executing.cancel(self._id, self._by)

    def _stopped_by(self) -> str:
        return self._by if self._is_cancelled else ""
