"""The alerts inside a document of queries: out with each query, and in by their names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plugbay_scheduled_query.alerts.editing import AlertEditing
from plugbay_scheduled_query.core.alerting.draft import draft_json
from plugbay_scheduled_query.core.alerting.model import Alert, AlertDraft
from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.repository.alerts import Alerts

NO_LIST = "must be a list of alerts"


@dataclass(frozen=True, slots=True)
class AlertPlan:
    """An alert of the document, and the one of its name that is there."""

    draft: AlertDraft
    current: Alert | None

    @property
    def is_change(self) -> bool:
        return self.current is None or self.current.draft != self.draft


class AlertTransfer:
    """Channels are named, not described; alerts that a document does not name stay as they are."""

    def __init__(self, alerts: Alerts, editing: AlertEditing) -> None:
        self._alerts = alerts
        self._editing = editing

    def of_all(self) -> dict[int, list[dict[str, Any]]]:
        """Every alert as the API would take it, by query."""
        found: dict[int, list[dict[str, Any]]] = {}
        for alert in self._alerts.all():
            found.setdefault(alert.query_id, []).append(draft_json(alert.draft))
        return found

    def plans(self, given: Any, query: Query | None) -> list[AlertPlan] | Refused:
        """What becomes of the alerts of one query; the first of a name changes the first one there is."""
        if given is None:
            return []
        if not isinstance(given, list) or not all(isinstance(item, Mapping) for item in given):
            return Refused({"alerts": NO_LIST})
        there = self._alerts.of_queries([query.id]).get(query.id, []) if query else []
        plans: list[AlertPlan] = []
        for item in given:
            draft = self._editing.check(item)
            if isinstance(draft, Refused):
                return Refused({"alerts": "; ".join(f"{k}: {text}" for k, text in draft.errors.items())})
            current = next((alert for alert in there if alert.draft.name == draft.name), None)
            there = [alert for alert in there if alert is not current]
            plans.append(AlertPlan(draft, current))
        return plans

    def carry_out(self, plans: Sequence[AlertPlan], query_id: int, by: str) -> None:
        for plan in plans:
            fields = draft_json(plan.draft)
            if plan.current is None:
                self._editing.create({**fields, "query_id": query_id}, by)
            elif plan.is_change:
                self._editing.edit(plan.current.id, fields, by)
