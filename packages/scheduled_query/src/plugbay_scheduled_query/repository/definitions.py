"""Definitions: made, read, edited with a look at their version, and deleted at once for everybody to see."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa
from plugbay import Clock, Store

from plugbay_scheduled_query.core.alerting.model import AlertEvent
from plugbay_scheduled_query.core.capacity import Load
from plugbay_scheduled_query.core.draft import Draft, draft_of, starts_afresh
from plugbay_scheduled_query.core.model import MetricConfig, Query
from plugbay_scheduled_query.core.paging import ESCAPE, like_patterns
from plugbay_scheduled_query.core.schedule import next_run
from plugbay_scheduled_query.repository.alerts import end_alerts, wake_alerts
from plugbay_scheduled_query.repository.definition_rows import after_metrics_changed, new_values, values_of
from plugbay_scheduled_query.repository.metric_names import SeriesTaken, clash_with, take_names
from plugbay_scheduled_query.repository.rows import query_of, touch
from plugbay_scheduled_query.repository.series import keep_series
from plugbay_scheduled_query.repository.versions import keep_version
from plugbay_scheduled_query.tables import alerts, data_sources, queries, results, runs, states, switches

SWITCHES_KEPT = 200  # of a query: as many as versions

Sort = Literal["name", "last_executed", "next_run_at", "last_duration_ms", "last_status", "data_source", "id"]
Filter = Literal["all", "enabled", "disabled", "failing", "running"]

_GONE = {"next_run_at": None, "series_key": None, "enabled": False}
EXPORT_STEP = 500  # definitions read at a time


class VersionConflict(Exception):
    """Somebody else saved this query meanwhile."""

    def __init__(self, current: Query) -> None:
        self.current = current
        who = current.updated_by or "somebody else"
        super().__init__(f"{who} saved this query meanwhile (it is now version {current.version})")


class SourceGone(Exception):
    """The data source was deleted a moment ago."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Which definitions to show, in which order."""

    search: str = ""
    only: Filter = "all"
    data_source: str = ""
    tag: str = ""
    sort: Sort = "name"
    descending: bool = False


_JOINED = queries.join(states, states.c.query_id == queries.c.id).join(
    data_sources, data_sources.c.id == queries.c.source_id
)
_RUNNING = sa.exists().where(runs.c.query_id == queries.c.id)
_COLUMNS = (
    queries,
    states,
    data_sources.c.name.label("data_source"),
    _RUNNING.label("running"),
)
_LIVE = sa.select(*_COLUMNS).select_from(_JOINED).where(queries.c.deleted_at.is_(None))
_WITH_RESULT = (
    sa.select(*_COLUMNS, results.c.text.label("last_result"), results.c.columns.label("last_result_key"))
    .select_from(_JOINED.outerjoin(results, results.c.id == states.c.last_result_id))
    .where(queries.c.deleted_at.is_(None))
)
_ONE = _LIVE.where(queries.c.id == sa.bindparam("id"))
_NAME = sa.select(queries.c.name).where(queries.c.id == sa.bindparam("id"), queries.c.deleted_at.is_(None))
_ONE_WITH_RESULT = _WITH_RESULT.where(queries.c.id == sa.bindparam("id"))
# built once: to build one for each definition costs as much as to run it
_INSERT_ONE = sa.insert(queries).returning(queries.c.id)
_INSERT_MANY = sa.insert(queries).returning(queries.c.id, queries.c.name, sort_by_parameter_order=True)
_INSERT_STATE = sa.insert(states)
_NOTE_SWITCH = sa.insert(switches)
_OLDEST_SWITCH = (  # that is kept
    sa.select(switches.c.id)
    .where(switches.c.query_id == sa.bindparam("query_id"))
    .order_by(switches.c.id.desc())
    .offset(SWITCHES_KEPT - 1)
    .limit(1)
    .scalar_subquery()
)
_FORGET_SWITCHES = sa.delete(switches).where(
    switches.c.query_id == sa.bindparam("query_id"), switches.c.id < _OLDEST_SWITCH
)
_ONE_HELD = _ONE.with_for_update(of=queries)
_UPDATE = sa.update(queries).where(queries.c.id == sa.bindparam("b_id"))
_HOLD_SOURCE = (
    sa.select(data_sources.c.id).where(data_sources.c.id == sa.bindparam("id")).with_for_update(read=True)
)
_ORDERS: dict[str, Any] = {
    "name": sa.func.lower(queries.c.name),
    "last_executed": states.c.last_executed,
    "next_run_at": queries.c.next_run_at,
    "last_duration_ms": states.c.last_duration_ms,
    "last_status": states.c.last_status,
    "data_source": data_sources.c.name,
    "id": queries.c.id,
}


class Definitions:
    """The table of definitions, and beside each what its executions left behind."""

    def __init__(
        self, store: Store, clock: Clock, tell: Callable[[list[AlertEvent]], object] = lambda events: None
    ) -> None:
        self._store = store
        self._clock = clock
        self._tell = tell

    def get(self, query_id: int, with_result: bool = False) -> Query | None:
        """One definition, on request with its latest result."""
        with self._store.connect() as connection:
            row = connection.execute(_ONE_WITH_RESULT if with_result else _ONE, {"id": query_id}).first()
        return query_of(row) if row else None

    def get_many(self, query_ids: Collection[int]) -> dict[int, Query]:
        """Those of these that there are, by id and in its order, without their results."""
        if not query_ids:
            return {}
        wanted = _LIVE.where(queries.c.id.in_(query_ids)).order_by(queries.c.id)
        with self._store.connect() as connection:
            return {row.id: query_of(row) for row in connection.execute(wanted)}

    def name_of(self, query_id: int) -> str | None:
        """The name of a query, if there is one."""
        with self._store.connect() as connection:
            return connection.scalar(_NAME, {"id": query_id})

    def names_of(self, query_ids: Collection[int]) -> dict[int, str]:
        """The names of those of these that there are."""
        live = queries.c.id.in_(query_ids) & queries.c.deleted_at.is_(None)
        with self._store.connect() as connection:
            found = connection.execute(sa.select(queries.c.id, queries.c.name).where(live))
            return {row.id: row.name for row in found}

    def page(self, listing: Listing, offset: int, limit: int) -> tuple[list[Query], int]:
        """A page of definitions without their results, and how many there are in all."""
        select = _filtered(_LIVE, listing)
        order = _ORDERS[listing.sort]
        order = order.desc().nulls_last() if listing.descending else order.asc().nulls_last()
        paged = select.order_by(order, queries.c.id).offset(offset).limit(limit)
        with self._store.connect() as connection:
            total = connection.scalar(select.with_only_columns(sa.func.count(), maintain_column_froms=True))
            return [query_of(row) for row in connection.execute(paged)], total or 0

    def all(self) -> Iterator[Query]:
        """Every definition, by id, read in steps."""
        last = 0
        while True:
            step = _LIVE.where(queries.c.id > last).order_by(queries.c.id).limit(EXPORT_STEP)
            with self._store.connect() as connection:
                found = [query_of(row) for row in connection.execute(step)]
            yield from found
            if len(found) < EXPORT_STEP:
                return
            last = found[-1].id

    def create(self, draft: Draft, source_id: int, by: str | None, timezone: str) -> Query:
        now = self._clock.now()
        values = new_values(draft, source_id, by, timezone, now)
        with _series_by_name(), self._store.begin() as connection:
            _hold_source(connection, source_id)
            query_id = connection.execute(_INSERT_ONE, values).scalar_one()
            connection.execute(_INSERT_STATE, {"query_id": query_id, "changed_at": now})
            take_names(connection, query_id, draft.metrics)
            return query_of(connection.execute(_ONE, {"id": query_id}).one())

    def create_many(
        self, drafts: Sequence[tuple[Draft, int]], by: str | None, timezone: str
    ) -> list[tuple[int, str]]:
        """Stores definitions, each with the id of its source, all or none; their ids and names."""
        now = self._clock.now()
        rows = [new_values(draft, source_id, by, timezone, now) for draft, source_id in drafts]
        with _series_by_name(), self._store.begin() as connection:
            for source_id in sorted({source_id for _, source_id in drafts}):
                _hold_source(connection, source_id)
            made = [(row.id, row.name) for row in connection.execute(_INSERT_MANY, rows)]
            new_states = [{"query_id": query_id, "changed_at": now} for query_id, _ in made]
            connection.execute(_INSERT_STATE, new_states)
            for (query_id, _), (draft, _) in zip(made, drafts, strict=True):
                if draft.metrics:
                    take_names(connection, query_id, draft.metrics)
            return made

    def update(
        self, query_id: int, draft: Draft, source_id: int, by: str | None, timezone: str, version: int | None
    ) -> Query | None:
        """Stores an edit; raises VersionConflict when it was made of another version than the newest."""
        with _series_by_name(), self._store.begin() as connection:
            return self._update(connection, query_id, draft, source_id, by, timezone, version)

    def update_many(
        self, edits: Sequence[tuple[Query, Draft, int]], by: str | None, timezone: str
    ) -> list[Query]:
        """Stores edits of what was read before, each with the id of its source, all or none of them.

        Raises VersionConflict when somebody else changed or deleted one of them meanwhile.
        """
        stored = []
        with _series_by_name(), self._store.begin() as connection:
            _hold_all(connection, [before.id for before, _, _ in edits])
            for before, draft, source_id in edits:
                query = self._update(connection, before.id, draft, source_id, by, timezone, before.version)
                if query is None:
                    raise VersionConflict(before)
                stored.append(query)
        return stored

    def delete(self, query_id: int) -> bool:
        """Hides a query at once and stops its schedule; its rows go later, in small steps."""
        return bool(self.delete_many([query_id]))

    def delete_many(self, query_ids: Sequence[int]) -> list[int]:
        """The same for several, all or none of those that there are; their ids."""
        ended: list[AlertEvent] = []
        with self._store.begin() as connection:
            _hold_all(connection, query_ids)
            deleted = [one for one in query_ids if self._delete(connection, one, ended)]
        self._tell(ended)
        return deleted

    def metric_clash(self, metric: MetricConfig, other_than: int | None = None) -> str | None:
        """Which other query publishes a metric that this one cannot stand beside, and why not."""
        with self._store.connect() as connection:
            return clash_with(connection, metric, other_than)

    def loads(self, default_timezone: str, data_source: str | None = None) -> dict[str, Counter[Load]]:
        """What the enabled queries ask of each source, or of one: each load with how many ask it."""
        key = (data_sources.c.name, queries.c.cron_schedule, queries.c.timezone)
        mean = sa.cast(sa.func.avg(states.c.last_duration_ms), sa.Float)
        select = sa.select(*key, mean, sa.func.count()).select_from(_JOINED).group_by(*key)
        select = select.where(queries.c.next_run_at.is_not(None))
        if data_source is not None:
            select = select.where(data_sources.c.name == data_source)
        found: dict[str, Counter[Load]] = {}
        with self._store.connect() as connection:
            for name, cron, timezone, duration, count in connection.execute(select):
                load = Load(cron, timezone or default_timezone, duration)
                found.setdefault(name, Counter())[load] += count
        return found

    def counts(self) -> dict[str, int]:
        """How many there are, are enabled, and failed last."""
        failing = sa.func.count().filter(states.c.last_status.in_(("failed", "timeout")))
        enabled = sa.func.count().filter(queries.c.enabled)
        select = sa.select(sa.func.count().label("all"), enabled.label("enabled"), failing.label("failing"))
        with self._store.connect() as connection:
            row = connection.execute(select.select_from(_JOINED).where(queries.c.deleted_at.is_(None))).one()
        return dict(row._mapping)

    def _update(
        self,
        connection: sa.Connection,
        query_id: int,
        draft: Draft,
        source_id: int,
        by: str | None,
        timezone: str,
        version: int | None,
    ) -> Query | None:
        _hold_source(connection, source_id)
        row = connection.execute(_ONE_HELD, {"id": query_id}).first()
        if row is None:
            return None
        current = query_of(row)
        if version is not None and version != current.version:
            raise VersionConflict(current)
        keep_version(connection, current, row.source_id)
        self._store_edit(connection, current, draft, source_id, by, timezone)
        return query_of(connection.execute(_ONE, {"id": query_id}).one())

    def _delete(self, connection: sa.Connection, query_id: int, ended: list[AlertEvent]) -> bool:
        now = self._clock.now()
        live = (queries.c.id == query_id) & queries.c.deleted_at.is_(None)
        if (
            connection.execute(sa.update(queries).where(live).values({**_GONE, "deleted_at": now})).rowcount
            == 0
        ):
            return False
        touch(connection, query_id, now)
        take_names(connection, query_id, ())
        keep_series(connection, query_id, ())
        ended += end_alerts(connection, query_id, now)
        return True

    def _store_edit(
        self,
        connection: sa.Connection,
        current: Query,
        draft: Draft,
        source_id: int,
        by: str | None,
        timezone: str,
    ) -> None:
        now = self._clock.now()
        values = values_of(draft, source_id) | {
            "updated_by": by,
            "updated_at": now,
            "version": current.version + 1,
        }
        if not draft.enabled:
            values["next_run_at"] = None
        elif starts_afresh(draft_of(current), draft):
            # after a time that was claimed already, also when the clock was set back since
            after = max(now, current.last_due_at or now)
            values["next_run_at"] = next_run(draft.cron_schedule, draft.timezone or timezone, after)
        connection.execute(_UPDATE, values | {"b_id": current.id})
        if draft.metrics == current.metrics:
            touch(connection, current.id, now)
        else:
            take_names(connection, current.id, draft.metrics)
            keep_series(connection, current.id, draft.metrics)
            touch(connection, current.id, now, **after_metrics_changed(current, draft))
        if draft.enabled != current.enabled:
            note = {"query_id": current.id, "at": now, "enabled": draft.enabled, "by": by}
            connection.execute(_NOTE_SWITCH, note)
            connection.execute(_FORGET_SWITCHES, {"query_id": current.id})
        if draft.enabled and not current.enabled:
            wake_alerts(connection, current.id, now)


@contextmanager
def _series_by_name() -> Iterator[None]:
    """The one unique key that an edit can break has a name of its own."""
    try:
        yield
    except sa.exc.IntegrityError:
        raise SeriesTaken("another query already publishes this metric with the same labels") from None


def _hold_all(connection: sa.Connection, query_ids: Sequence[int]) -> None:
    """Locks all that is to be changed of many queries, as others do: by id, alerts after what they are of."""
    if connection.dialect.name != "sqlite" and len(query_ids) > 1:
        for column in (queries.c.id, states.c.query_id, alerts.c.query_id):
            key = alerts.c.id if column.table is alerts else column
            held = sa.select(key).where(column.in_(query_ids)).order_by(key)
            connection.execute(held.with_for_update()).all()


def _hold_source(connection: sa.Connection, source_id: int) -> None:
    """Keeps the source from being deleted until the transaction ends."""
    if connection.execute(_HOLD_SOURCE, {"id": source_id}).first() is None:
        raise SourceGone


def _filtered(select: sa.Select[Any], listing: Listing) -> sa.Select[Any]:
    for pattern in like_patterns(listing.search):
        select = select.where(queries.c.search_text.like(pattern, escape=ESCAPE))
    if listing.data_source:
        select = select.where(data_sources.c.name == listing.data_source)
    if listing.tag:
        tag = json.dumps(listing.tag, ensure_ascii=False)
        select = select.where(queries.c.tags.contains(tag, autoescape=True))
    if listing.only == "enabled":
        return select.where(queries.c.enabled)
    if listing.only == "disabled":
        return select.where(~queries.c.enabled)
    if listing.only == "failing":
        return select.where(states.c.last_status.in_(("failed", "timeout")))
    return select.where(_RUNNING) if listing.only == "running" else select
