"""Try it: runs a query as its schedule would, and keeps nothing of it."""

import uuid
from collections.abc import Mapping
from typing import Any

from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.model import Outcome
from plugbay_scheduled_query.queries.editing import QueryEditing
from plugbay_scheduled_query.runs.executing import Executing

# what a definition needs and a trial does not
_FILLED_IN = {"name": "(try it)", "cron_schedule": "@daily"}
_TAKEN = ("query", "data_source", "timeout")


class Trying:
    """The same guard, limits and time as an execution has."""

    def __init__(self, editing: QueryEditing, executing: Executing) -> None:
        self._editing = editing
        self._executing = executing

    def run(self, given: Mapping[str, Any]) -> Outcome | Refused:
        """Runs `query` on `data_source` within `timeout`; blocks until it ends."""
        wanted = {name: given[name] for name in _TAKEN if name in given}
        checked = self._editing.check(_FILLED_IN | wanted, at="try")
        if isinstance(checked, Refused):
            return checked
        draft, source = checked
        outcome = self._executing.ask(f"try-{uuid.uuid4()}", source.id, draft.query, draft.timeout)
        if outcome.rejection:  # by a rule that was set a moment ago
            return Refused({"query": outcome.rejection.reason})
        return outcome
