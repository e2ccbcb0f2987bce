"""Definitions as one JSON document, out of a store and into another: by name, as often as one likes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from plugbay_scheduled_query.core.draft import Refused, changed_fields, draft_of
from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.queries.alert_transfer import AlertPlan, AlertTransfer
from plugbay_scheduled_query.queries.editing import Checked, QueryEditing
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.sources import StoredSource

FORMAT = 1  # of the document: the number that a reader must know


class BadDocument(ValueError):
    """This is not an export of queries, and why."""


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one definition of the document."""

    name: str
    outcome: Literal["created", "changed", "unchanged", "refused"]
    details: str = ""


@dataclass(frozen=True, slots=True)
class _Plan:
    given: Mapping[str, Any]
    current: Query | None
    checked: Checked | Refused
    alerts: list[AlertPlan]

    @property
    def has_other_alerts(self) -> bool:
        return any(plan.is_change for plan in self.alerts)

    @property
    def is_simple(self) -> bool:
        """A new definition and nothing else."""
        return self.current is None and not self.alerts


def document_of(definitions: Definitions, alerts: AlertTransfer) -> dict[str, Any]:
    """Every definition as the API would take it; sources are named, their secrets stay where they are."""
    watching = alerts.of_all()
    return {
        "plugbay_queries": FORMAT,
        "queries": [
            draft_of(query).as_json() | ({"alerts": watching[query.id]} if query.id in watching else {})
            for query in definitions.all()
        ],
    }


def read_document(found: Any) -> list[Mapping[str, Any]]:
    """The definitions of a document, which may also be a plain list of them; raises BadDocument."""
    if isinstance(found, Mapping):
        if found.get("plugbay_queries") not in (None, FORMAT):
            raise BadDocument(f"its format is not known here: this is Plugbay's format {FORMAT}")
        found = found.get("queries")
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        raise BadDocument('it has no list of queries: {"plugbay_queries": 1, "queries": [{"name": …}, …]}')
    return list(found)


class Import:
    """Brings definitions in: the first of a name changes the first one there is, the second the second."""

    def __init__(self, editing: QueryEditing, definitions: Definitions, alerts: AlertTransfer) -> None:
        self._editing = editing
        self._definitions = definitions
        self._alerts = alerts

    def run(self, given: Sequence[Mapping[str, Any]], by: str, is_trial: bool = False) -> list[Step]:
        """Checks all of them first; if one is refused, or this is only a trial, nothing is stored.

        New ones are stored together. If the store does not take them so (two of them would feed one series,
        or somebody was quicker), each is stored alone, and the one that is to blame is refused.
        """
        plans = list(self._plans(given))
        steps = [_foreseen(plan) for plan in plans]
        if is_trial or any(step.outcome == "refused" for step in steps):
            return steps
        new = [plan.checked for plan in plans if plan.is_simple and not isinstance(plan.checked, Refused)]
        are_stored = bool(new) and self._editing.create_many(new, by) is None
        return [
            step if are_stored and plan.is_simple else self._carry_out(plan, step, by)
            for plan, step in zip(plans, steps, strict=True)
        ]

    def _plans(self, given: Sequence[Mapping[str, Any]]) -> Iterator[_Plan]:
        there = _by_name(self._definitions.all(), {_name_in(item) for item in given})
        known = self._editing.known_sources()
        for item in given:
            of_name = there.get(_name_in(item))
            current = of_name.pop(0) if of_name else None
            yield self._plan(item, current, known)

    def _plan(
        self, item: Mapping[str, Any], current: Query | None, known: Mapping[str, StoredSource]
    ) -> _Plan:
        checked = self._editing.check(item, current, known=known)
        alerts = self._alerts.plans(item.get("alerts"), current)
        if isinstance(checked, Refused) or isinstance(alerts, Refused):
            refusals = [found for found in (checked, alerts) if isinstance(found, Refused)]
            errors = {name: text for refusal in refusals for name, text in refusal.errors.items()}
            return _Plan(item, current, Refused(errors), [])
        return _Plan(item, current, checked, alerts)

    def _carry_out(self, plan: _Plan, step: Step, by: str) -> Step:
        if step.outcome == "unchanged":
            return step
        if plan.current:
            saved = self._editing.edit(plan.current.id, plan.given, by)
        else:
            saved = self._editing.create(plan.given, by)
        if isinstance(saved, Refused):
            return _refused(step.name, saved)
        self._alerts.carry_out(plan.alerts, saved.query.id, by)
        return step


def _foreseen(plan: _Plan) -> Step:
    name = _name_in(plan.given) or "(no name)"
    if isinstance(plan.checked, Refused):
        return _refused(name, plan.checked)
    if plan.current is None:
        return Step(name, "created")
    changed = changed_fields(draft_of(plan.current), plan.checked[0])
    changed += ("alerts",) if plan.has_other_alerts else ()
    return Step(name, "changed", ", ".join(changed)) if changed else Step(name, "unchanged")


def _refused(name: str, refusal: Refused) -> Step:
    return Step(name, "refused", "; ".join(f"{field}: {text}" for field, text in refusal.errors.items()))


def _by_name(queries: Iterable[Query], wanted: set[str]) -> dict[str, list[Query]]:
    found: dict[str, list[Query]] = {}
    for query in queries:
        if query.name in wanted:
            found.setdefault(query.name, []).append(query)
    return found


def _name_in(item: Mapping[str, Any]) -> str:
    name = item.get("name")
    return name.strip() if isinstance(name, str) else ""
