"""Definitions as people make, edit and delete them: the same for form, API and command line."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from plugbay import EventBus, get_logger

from plugbay_scheduled_query.core.draft import (
    FIELDS,
    FIRST_METRIC,
    MAX_NAME,
    Draft,
    DraftRules,
    Refused,
    changed_fields,
    check_edit,
    check_new,
    draft_of,
    starts_afresh,
)
from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.core.schedule import BadCron, UnknownTimezone, parse, zone
from plugbay_scheduled_query.dialects import check, check_words
from plugbay_scheduled_query.queries.capacity import Capacities, KnownSources
from plugbay_scheduled_query.repository.definitions import (
    Definitions,
    SourceGone,
    VersionConflict,
)
from plugbay_scheduled_query.repository.metric_names import SeriesTaken
from plugbay_scheduled_query.repository.sources import StoredSource
from plugbay_scheduled_query.settings import Settings

PATIENCE = 10  # edits by others that an edit without a version lets go before it
PACED_BY = {"cron_schedule", "timezone", "enabled", "data_source"}  # what the load of a source depends on
METRICS = {"metrics", FIRST_METRIC}
NO_QUERY = "there is no such query"
BUSY = "others are changing these queries right now; try again"
GONE = "this data source was deleted or renamed a moment ago"

FIRST_VERSION = 1

T = TypeVar("T")
Checked = tuple[Draft, StoredSource]  # what is to be stored, and which source it asks

log = get_logger("plugbay.scheduled_query")


class UnknownQuery(Exception):
    """A query that is not there, perhaps no longer."""

    def __init__(self) -> None:
        super().__init__(NO_QUERY)


@dataclass(frozen=True, slots=True)
class Saved:
    """A definition that was stored, and what changed in it."""

    query: Query
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Many:
    """What became of several queries: those it was done to as they were before, and why not to the others."""

    done: list[Query]
    refused: dict[int, str]


class QueryEditing:
    """Checks what people write, stores it, and tells everybody."""

    def __init__(
        self,
        definitions: Definitions,
        sources: KnownSources,
        settings: Callable[[], Settings],
        events: EventBus,
        capacities: Capacities,
        cancel: Callable[[int, str], object] | None = None,
    ) -> None:
        self._definitions = definitions
        self._sources = sources
        self._settings = settings
        self._events = events
        self._capacities = capacities
        self._cancel = cancel

    def create(self, given: Mapping[str, Any], by: str | None) -> Saved | Refused:
        """A new definition from whatever was sent, or a sentence for each field that is wrong."""
        checked = self.check(given)
        if isinstance(checked, Refused):
            return checked
        draft, source = checked
        timezone = self._settings().timezone
        query = self._stored(given, lambda: self._definitions.create(draft, source.id, by, timezone))
        return query if isinstance(query, Refused) else self._saved(query, FIELDS, by)

    def create_many(self, checked: Sequence[Checked], by: str | None) -> Refused | None:
        """New definitions that were checked before, all or none of them."""
        drafts = [(draft, source.id) for draft, source in checked]
        timezone = self._settings().timezone
        made = self._stored({}, lambda: self._definitions.create_many(drafts, by, timezone))
        if isinstance(made, Refused):
            return made
        self._capacities.forget()
        for query_id, name in made:
            self._tell_saved(query_id, name, FIRST_VERSION, FIELDS, by)
        return None

    def edit(
        self, query_id: int, given: Mapping[str, Any], by: str | None, version: int | None = None
    ) -> Saved | Refused:
        """Changes the fields that were sent; raises UnknownQuery, or VersionConflict for an older version."""
        for _ in range(PATIENCE):
            current = self._existing(query_id)
            if version not in (None, current.version):
                raise VersionConflict(current)
            try:
                return self._edit(current, given, by)
            except VersionConflict as error:
                conflict = error  # with no version asked for, the newest is the one to edit
                if version is not None:
                    raise
        raise conflict

    def edit_many(
        self, query_ids: Sequence[int], change: Callable[[Query], Mapping[str, Any]], by: str | None
    ) -> Many:
        """The same change to each of these that allows it, all of them in one transaction."""
        for _ in range(PATIENCE):
            found = self._definitions.get_many(query_ids)
            refused = {query_id: NO_QUERY for query_id in query_ids if query_id not in found}
            with suppress(VersionConflict, SourceGone):  # somebody was quicker: what they left is looked at
                return self._edit_many(found, change, refused, by)
        return Many([], dict.fromkeys(query_ids, BUSY))

    def toggle(self, query_id: int, by: str | None) -> Saved | Refused:
        """Switches a query on or off."""
        current = self._existing(query_id)
        return self.edit(query_id, {"enabled": not current.enabled}, by, current.version)

    def duplicate(self, query_id: int, by: str | None) -> Saved | Refused:
        """A copy that does not run yet and publishes nothing, because two cannot feed one series."""
        given = draft_of(self._existing(query_id)).as_json()
        copy = given | {"name": _copy_name(given["name"]), "enabled": False}
        return self.create(copy | {"metrics": [], FIRST_METRIC: None}, by)

    def delete(self, query_id: int, by: str | None) -> Query:
        """Takes a query out of sight at once, and stops it if it runs; raises UnknownQuery."""
        deleted = self.delete_many([query_id], by).done
        if not deleted:
            raise UnknownQuery
        return deleted[0]

    def delete_many(self, query_ids: Sequence[int], by: str | None) -> Many:
        """Takes these out of sight at once, in one transaction."""
        found = self._definitions.get_many(query_ids)
        gone = [found[query_id] for query_id in self._definitions.delete_many(list(found))]
        self._capacities.forget()
        for query in gone:
            self._tell_deleted(query, by)
        return Many(gone, {one: NO_QUERY for one in query_ids if one not in {query.id for query in gone}})

    def check(
        self,
        given: Mapping[str, Any],
        current: Query | None = None,
        at: str = "save",
        known: Mapping[str, StoredSource] | None = None,
    ) -> Checked | Refused:
        """What would be stored, and its source: a new definition, or the current one with these fields.

        Who checks many brings the known sources, read once for all of them.
        """
        known = self.known_sources() if known is None else known
        if current is None:
            draft = check_new(given, self._rules(known, at, _name_in(given)))
        else:
            before, rules = draft_of(current), self._rules(known, at, current.name, current.id)
            draft = check_edit(before, _really_sent(before, given), rules)
        if isinstance(draft, Refused):
            return draft
        source = known.get(draft.data_source)
        return (draft, source) if source else Refused({"data_source": GONE})

    def warnings(self, saved: Saved) -> list[str]:
        """What the author of a change should know: that it is too much for its source."""
        if not saved.query.enabled or not PACED_BY & set(saved.changed):
            return []
        return self._capacities.overloads(saved.query.data_source)

    def _edit(self, current: Query, given: Mapping[str, Any], by: str | None) -> Saved | Refused:
        checked = self.check(given, current)
        if isinstance(checked, Refused):
            return checked
        after, source = checked
        changed = changed_fields(draft_of(current), after)
        if not changed:
            return Saved(current)
        query = self._stored(given, lambda: self._update(current, after, source.id, by))
        return query if isinstance(query, Refused) else self._saved(query, changed, by)

    def _edit_many(
        self,
        found: Mapping[int, Query],
        change: Callable[[Query], Mapping[str, Any]],
        refused: dict[int, str],
        by: str | None,
    ) -> Many:
        known, good = self.known_sources(), []
        for query in found.values():
            checked = self._startable(query, self.check(change(query), query, known=known))
            if isinstance(checked, Refused):
                refused[query.id] = _sentence(checked)
            else:
                good.append((query, *checked))
        return Many(self._store_many(good, by), refused)

    def _store_many(self, good: Sequence[tuple[Query, Draft, StoredSource]], by: str | None) -> list[Query]:
        edits = [
            (current, after, source.id)
            for current, after, source in good
            if changed_fields(draft_of(current), after)
        ]
        stored = self._definitions.update_many(edits, by, self._settings().timezone)
        for (current, after, _), query in zip(edits, stored, strict=True):
            self._saved(query, changed_fields(draft_of(current), after), by)
        return [current for current, _, _ in good]

    def _startable(self, current: Query, checked: Checked | Refused) -> Checked | Refused:
        """One whose schedule cannot be read any more is refused alone, not with all others."""
        if isinstance(checked, Refused) or not starts_afresh(draft_of(current), checked[0]):
            return checked
        timezone = checked[0].timezone or self._settings().timezone
        readable = self._stored({}, lambda: (parse(checked[0].cron_schedule), zone(timezone)))
        return readable if isinstance(readable, Refused) else checked

    def _update(self, current: Query, after: Draft, source_id: int, by: str | None) -> Query:
        timezone = self._settings().timezone
        query = self._definitions.update(current.id, after, source_id, by, timezone, current.version)
        if query is None:
            raise UnknownQuery
        return query

    def _stored(self, given: Mapping[str, Any], store: Callable[[], T]) -> T | Refused:
        """What the store says, in the words of the checks when somebody else was quicker."""
        try:
            return store()
        except SeriesTaken as taken:
            return Refused({"metrics" if "metrics" in given else FIRST_METRIC: str(taken)})
        except SourceGone:
            return Refused({"data_source": GONE})
        except BadCron as error:
            return Refused({"cron_schedule": str(error)})
        except UnknownTimezone as error:  # stored when the machine still knew it
            return Refused({"timezone": str(error)})

    def _saved(self, query: Query, changed: tuple[str, ...], by: str | None) -> Saved:
        self._capacities.forget()
        self._tell_saved(query.id, query.name, query.version, changed, by)
        return Saved(query, changed)

    def _tell_saved(
        self, query_id: int, name: str, version: int, changed: tuple[str, ...], by: str | None
    ) -> None:
        log.info("saved", query=name, id=query_id, version=version, by=by)
        facts = {"query_id": query_id, "name": name, "version": version, "by": by}
        self._events.emit("scheduled_query.saved", **facts, changed=changed)

    def _tell_deleted(self, query: Query, by: str | None) -> None:
        if self._cancel and query.running:
            self._cancel(query.id, by or "its deletion")
        log.info("deleted", query=query.name, id=query.id, by=by)
        self._events.emit("scheduled_query.deleted", query_id=query.id, name=query.name, by=by)

    def _existing(self, query_id: int) -> Query:
        query = self._definitions.get(query_id)
        if query is None:
            raise UnknownQuery
        return query

    def known_sources(self) -> dict[str, StoredSource]:
        """Every source that a definition may name."""
        return {source.name: source for source in self._sources.all()}

    def _rules(
        self, known: Mapping[str, StoredSource], at: str, name: str, query_id: int | None = None
    ) -> DraftRules:
        settings = self._settings()

        def objection(sql: str, data_source: str) -> str | None:
            source = known.get(data_source)
            # without one nothing will be stored; what every database would refuse is said all the same
            verdict = (
                check(sql, source.dialect, settings.rules) if source else check_words(sql, settings.rules)
            )
            return self._rejected(verdict, at, name, query_id) if isinstance(verdict, Rejection) else None

        return DraftRules(
            data_sources=known,
            default_data_source=settings.default_data_source or None,
            query_timeout_max=settings.query_timeout_max,
            objection=objection,
            metric_clash=lambda metric: self._definitions.metric_clash(metric, other_than=query_id),
        )

    def _rejected(self, rejection: Rejection, at: str, name: str, query_id: int | None) -> str:
        rule, found, reason = rejection.rule, rejection.found, rejection.reason
        log.warning("rejected", query=name, rule=rule, keyword=found, reason=reason, at=at)
        facts = {"query_id": query_id, "name": name, "rule": rule, "error": reason, "at": at}
        self._events.emit("scheduled_query.rejected", **facts)
        return reason


def _really_sent(before: Draft, given: Mapping[str, Any]) -> dict[str, Any]:
    """What is sent back as it was read is no edit: a limit that was lowered since does not refuse it.

    SQL is judged anew all the same: what became forbidden must not be saved. Of the two names of the metrics
    both are looked at if one is new, because they must agree.
    """
    current = before.as_json()
    judged = {"query", "data_source"} | {name for name in given if _is_new(name, given, current)}
    if judged & METRICS:
        judged |= METRICS
    return {name: value for name, value in given.items() if name in judged}


def _is_new(name: str, given: Mapping[str, Any], current: Mapping[str, Any]) -> bool:
    if name not in current:
        return True
    return bool(given[name] != current[name]) or type(given[name]) is not type(current[name])


def _name_in(given: Mapping[str, Any]) -> str:
    """The name that somebody gave, for the log; whether it is a good one is for the checks to say."""
    name = given.get("name")
    return name[:MAX_NAME] if isinstance(name, str) else ""


def _sentence(refused: Refused) -> str:
    return "; ".join(f"{field}: {reason}" for field, reason in refused.errors.items())


def _copy_name(name: str) -> str:
    mark = " (copy)"
    return name[: MAX_NAME - len(mark)] + mark
