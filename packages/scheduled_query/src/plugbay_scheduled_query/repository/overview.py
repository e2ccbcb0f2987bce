"""What pages show of all queries: the state of each at a glance, and their executions over time."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any

import sqlalchemy as sa
from plugbay import Clock, Store

from plugbay_scheduled_query.core.model import Execution, Status
from plugbay_scheduled_query.core.paging import from_nearer_end, name_part
from plugbay_scheduled_query.repository.history import ALL, HistoryFilter
from plugbay_scheduled_query.repository.rows import Row, execution_of
from plugbay_scheduled_query.tables import history, queries, results, runs, states

LATENESS_SAMPLE = 500  # the last scheduled executions that lateness is told from
FEW = 20  # queries whose history is quicker to sort than to look for among all
LIFE = timedelta(minutes=1)  # how long what was pruned, deleted or is too old by now may still be counted

_LIVE = queries.c.deleted_at.is_(None)
_OLDEST = (history.c.executed_at, history.c.id)
_NEWEST = tuple(column.desc() for column in _OLDEST)
_IS_CUT = sa.exists().where(history.c.result_id == results.c.id, history.c.truncated)
_NAMED = (
    sa.select(
        history,
        queries.c.name.label("query_name"),
        results.c.columns.label("result_key"),
        results.c.row_count,
        sa.func.coalesce(results.c.preview, results.c.text).label("result"),
    )
    .select_from(
        history.join(queries, queries.c.id == history.c.query_id).outerjoin(
            results, results.c.id == history.c.result_id
        )
    )
    .where(_LIVE)
)


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A run that has not ended yet."""

    since: datetime
    trigger: str
    by: str | None


@dataclass(frozen=True, slots=True)
class NextDue:
    """A query and when it runs."""

    query_id: int
    name: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Latest:
    """The last good result of a query, as much of it as a page shows."""

    columns: tuple[str, ...]
    text: str
    row_count: int
    is_whole: bool
    is_cut: bool
    at: datetime


@dataclass(frozen=True, slots=True)
class NamedExecution:
    """An execution with the name of its query."""

    query_name: str
    execution: Execution


class Overview:
    """Reads across queries, each by an index: a handful of reads for a page of any size."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def page(
        self, wanted: HistoryFilter, offset: int, limit: int, name: str = ""
    ) -> tuple[list[NamedExecution], int]:
        """Executions of all queries with this in their name, newest first, and how many there are."""
        with self._store.connect() as connection:
            total = self._total(connection, wanted, name)
            part = from_nearer_end(offset, limit, total)
            # the ids alone come from the index, however far back the page is
            ids = sa.select(history.c.id).where(*_within(wanted), *self._whose(connection, name))
            ids = (
                ids.order_by(*(_OLDEST if part.is_turned else _NEWEST)).offset(part.offset).limit(part.limit)
            )
            select = _NAMED.where(history.c.id.in_(ids.scalar_subquery())).order_by(*_NEWEST)
            return [_named(row) for row in connection.execute(select)], total

    def names(self, limit: int) -> Sequence[str]:
        """The names of the first queries, each once, in alphabetical order."""
        select = sa.select(queries.c.name).where(_LIVE).distinct()
        ordered = sa.select(name := select.subquery().c.name).order_by(sa.func.lower(name), name).limit(limit)
        with self._store.connect() as connection:
            return connection.scalars(ordered).all()

    def has_named(self, name: str) -> bool:
        """Whether any query has this in its name."""
        with self._store.connect() as connection:
            return connection.execute(self._named(name).limit(1)).first() is not None

    def newest(self) -> tuple[Any, ...]:
        """What is different after each recording, deletion and creation; all of it is read from indexes."""
        last = sa.select(sa.func.max(history.c.id)).scalar_subquery()
        changed = sa.select(sa.func.max(states.c.changed_at)).scalar_subquery()
        count = sa.select(sa.func.count(queries.c.id)).where(_LIVE).scalar_subquery()
        with self._store.connect() as connection:
            return tuple(connection.execute(sa.select(last, changed, count)).one())

    def under_way(self, query_ids: Collection[int]) -> dict[int, UnderWay]:
        """The runs of some queries, by query."""
        if not query_ids:
            return {}
        columns = (runs.c.query_id, runs.c.claimed_at, runs.c.trigger, runs.c.triggered_by)
        rows = self._all(sa.select(*columns).where(runs.c.query_id.in_(query_ids)))
        return {query_id: UnderWay(*rest) for query_id, *rest in rows}

    def running(self) -> int:
        """How many runs are under way."""
        with self._store.connect() as connection:
            return connection.scalar(sa.select(sa.func.count()).select_from(runs)) or 0

    def next_due(self) -> NextDue | None:
        """The query that is due next, or has been for longest."""
        columns = (queries.c.id, queries.c.name, queries.c.next_run_at)
        ordered = (
            sa.select(*columns).where(queries.c.next_run_at.is_not(None)).order_by(queries.c.next_run_at)
        )
        row = next(iter(self._all(ordered.limit(1))), None)
        return NextDue(*row) if row else None

    def latest(self, query_ids: Collection[int]) -> dict[int, Latest]:
        """The last good results of some queries, by query."""
        shown = sa.func.coalesce(results.c.preview, results.c.text)
        columns = (
            states.c.query_id,
            results.c.columns,
            shown,
            results.c.row_count,
            results.c.preview.is_(None),
            _IS_CUT,
        )
        select = (
            sa.select(*columns, states.c.last_success_at)
            .select_from(states.join(results, results.c.id == states.c.last_result_id))
            .where(states.c.query_id.in_(query_ids))
        )
        return {
            query_id: Latest(tuple(json.loads(names)), text, count, bool(whole), bool(cut), at)
            for query_id, names, text, count, whole, cut, at in self._all(select)
        }

    def beginnings(self, query_ids: Collection[int], characters: int) -> dict[int, str]:
        """The beginnings of the last good results, cut wherever they are too long; by query."""
        text = sa.func.substr(results.c.text, 1, characters)
        joined = states.join(results, results.c.id == states.c.last_result_id)
        select = sa.select(states.c.query_id, text).select_from(joined)
        rows = self._all(select.where(states.c.query_id.in_(query_ids))) if query_ids else []
        return {row[0]: row[1] for row in rows}

    def lateness_s(self) -> list[float]:
        """How late the last scheduled executions started, in seconds."""
        recent = (
            sa.select(history.c.executed_at, history.c.due_at)
            .where(history.c.due_at.is_not(None))
            .order_by(*_NEWEST)
            .limit(LATENESS_SAMPLE)
        )
        with self._store.connect() as connection:
            return [max(0.0, (start - due).total_seconds()) for start, due in connection.execute(recent)]

    def _all(self, select: sa.Select[Any]) -> list[Any]:
        with self._store.connect() as connection:
            return list(connection.execute(select))

    def _total(self, connection: sa.Connection, wanted: HistoryFilter, name: str) -> int:
        if wanted.since or wanted.until:
            count = sa.select(sa.func.count(history.c.id)).where(*_within(wanted))
            whose = [history.c.query_id.in_(self._named(name))] if name else _not_deleted(connection)
            return connection.scalar(count.where(*whose)) or 0
        number = "number" if wanted.status == ALL else wanted.status
        live = states.c[f"last_{number}"] - states.c[f"first_{number}"] + 1
        total = sa.select(sa.func.sum(live)).where(states.c.query_id.in_(self._named(name)))
        return int(connection.scalar(total) or 0)

    def _whose(self, connection: sa.Connection, name: str) -> Sequence[sa.ColumnElement[bool]]:
        """Of which queries: of a few by the index of each, of many by the one on time, which is sorted."""
        if not name:
            return _not_deleted(connection)
        few = connection.scalars(self._named(name).limit(FEW + 1)).all()
        if len(few) <= FEW:
            return [history.c.query_id.in_(few)]
        return [(history.c.query_id + 0).in_(self._named(name))]  # no index is on the sum

    def _named(self, name: str) -> sa.Select[int]:
        """The ids of the queries with this in their name, which is the first line of what is searched."""
        select = sa.select(queries.c.id).where(_LIVE)
        if not (part := name_part(name)):
            return select
        position = sa.func.instr if self._store.dialect == "sqlite" else sa.func.strpos
        at = position(queries.c.search_text, part)
        return select.where(at > 0, at < position(queries.c.search_text, "\n"))


@dataclass(slots=True)
class _Counted:
    """The executions since a moment up to the newest by status and start of the hour (or day)."""

    at: datetime
    since: datetime
    newest: int = 0
    found: Counter[tuple[str, datetime]] = field(default_factory=Counter)


class Activity:
    """Reads a long time once a minute at most, and in between only the executions that came since."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = Lock()
        self._counted: dict[tuple[timedelta, bool], _Counted] = {}

    def by_time(self, length: timedelta, by_day: bool = False) -> dict[str, dict[datetime, int]]:
        """How many executions ended how in each hour (or day): status → start of the hour → count."""
        found: dict[str, dict[datetime, int]] = {}
        with self._lock:
            counted = self._counted[length, by_day] = self._living(length, by_day)
            self._keep_up(counted, by_day)
            for (status, start), count in counted.found.items():
                found.setdefault(status, {})[start] = count
        return found

    def _living(self, length: timedelta, by_day: bool) -> _Counted:
        now, counted = self._clock.now(), self._counted.get((length, by_day))
        if counted and timedelta() <= now - counted.at < LIFE:
            return counted
        return _Counted(now, now - length)

    def _keep_up(self, counted: _Counted, by_day: bool) -> None:
        # grouped by an expression: else SQLite reads all of the index on status, which is in order already
        status, bucket = history.c.status.concat(""), self._bucket(by_day)
        select = sa.select(status, bucket, sa.func.count(), sa.func.max(history.c.id))
        select = select.where(*_uncounted(counted)).group_by(status, bucket)
        with self._store.connect() as connection:
            for status, start, count, newest in connection.execute(select).all():
                counted.found[status, _moment(start)] += count
                counted.newest = max(counted.newest, newest)

    def _bucket(self, by_day: bool) -> sa.ColumnElement[Any]:
        if self._store.dialect == "sqlite":
            return sa.func.substr(history.c.executed_at, 1, 10 if by_day else 13, type_=sa.String)
        step = "day" if by_day else "hour"
        return sa.func.date_trunc(step, history.c.executed_at, "UTC", type_=sa.DateTime(timezone=True))


def hours_between(since: datetime, until: datetime, step_s: int) -> Sequence[int]:
    """The starts of all hours (or days) from one moment to another, as Unix time."""
    first = int(since.timestamp()) // step_s * step_s
    return range(first, int(until.timestamp()) + 1, step_s)


def _uncounted(counted: _Counted) -> Iterator[sa.ColumnElement[bool]]:
    """At first all of the time, by the index on status and time; then by id what was recorded since."""
    if counted.newest:
        yield history.c.id > counted.newest
        yield sa.case((history.c.executed_at >= counted.since, 1), else_=0) == 1  # no index is on that
    else:
        yield history.c.status.in_([status.value for status in Status])
        yield history.c.executed_at >= counted.since


def _moment(start: Any) -> datetime:
    """SQLite groups by the beginning of the text."""
    if isinstance(start, datetime):
        return start
    text = start if len(start) > 10 else f"{start} 00"
    return datetime.strptime(f"{text}:00", "%Y-%m-%d %H:%M").replace(tzinfo=UTC)


def _within(wanted: HistoryFilter) -> Iterator[sa.ColumnElement[bool]]:
    if wanted.status != ALL:
        yield history.c.status == wanted.status
    if wanted.since:
        yield history.c.executed_at >= wanted.since
    if wanted.until:
        yield history.c.executed_at <= wanted.until


def _not_deleted(connection: sa.Connection) -> Sequence[sa.ColumnElement[bool]]:
    """As long as nothing deleted has history left, the index on time alone answers."""
    has_rows = sa.exists().where(history.c.query_id == queries.c.id)
    deleted = connection.scalars(sa.select(queries.c.id).where(~_LIVE, has_rows)).all()
    return [history.c.query_id.not_in(deleted)] if deleted else []


def _named(row: Row) -> NamedExecution:
    return NamedExecution(row.query_name, execution_of(row))
