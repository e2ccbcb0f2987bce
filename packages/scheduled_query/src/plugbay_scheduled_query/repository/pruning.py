"""Deleting history that is too much, too old or of a deleted query: from the low end, a step at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from plugbay import Clock, Store, get_logger

from plugbay_scheduled_query.repository.versions import forget_versions
from plugbay_scheduled_query.tables import history, queries, results, runs, states, switches

PRUNE_STEP = 200  # history rows of one query that go at a time
PURGE_STEP = 500  # history rows of a deleted query that go in one transaction
REMEMBERED = timedelta(hours=1)  # how long a deleted query's own row stays: so every node hears of its end

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Keeping:
    """How much is kept: the settings that recording needs."""

    enable_history: bool = True
    limit_history: int = -1
    history_days: int = -1
    history_bytes: int = -1
    keeps_results: bool = True
    """Not while the disk is nearly full: then executions are recorded without what they brought."""

    def oldest(self, now: datetime) -> datetime | None:
        """From when on executions are kept; None when for ever."""
        return now - timedelta(days=self.history_days) if self.history_days >= 0 else None


class Housekeeping:
    """The rows of deleted queries go bit by bit, the query itself last; so does surplus history."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def purge_step(self) -> bool:
        """Removes one bit; False when there is nothing left to remove."""
        doomed = _doomed(self._clock.now() - REMEMBERED)
        with self._store.connect() as connection:
            if connection.scalar(doomed) is None:
                return False
        with self._store.begin() as connection:
            query_id = connection.scalar(doomed)
            return query_id is not None and self._purge(connection, query_id)

    def prune_step(self, keeping: Keeping) -> bool:
        """Removes a bit of what is too old or too much, also of queries that run no more; False if none."""
        with self._store.connect() as connection:
            found = (connection.scalar(search) for search in _searches(self._clock.now(), keeping))
            query_id = next((query_id for query_id in found if query_id is not None), None)
        return query_id is not None and self._prune(query_id, keeping)

    def _prune(self, query_id: int, keeping: Keeping) -> bool:
        of_query = states.c.query_id == query_id
        with self._store.begin() as connection:
            row = connection.execute(sa.select(states).where(of_query).with_for_update()).first()
            if row is None:
                return False
            state = dict(row._mapping)
            is_less = prune(connection, state, self._clock.now(), keeping)
            ends = {name: state[name] for name in state if name.startswith(("first_", "kept_", "cut_"))}
            connection.execute(sa.update(states).where(of_query).values(ends))
        return is_less

    def _purge(self, connection: sa.Connection, query_id: int) -> bool:
        rows = (
            sa.select(history.c.id, history.c.result_id)
            .where(history.c.query_id == query_id)
            .limit(PURGE_STEP)
        )
        found = connection.execute(rows).all()
        if found:
            connection.execute(sa.delete(history).where(history.c.id.in_([row.id for row in found])))
            texts = [row.result_id for row in found if row.result_id]
            connection.execute(sa.delete(results).where(results.c.id.in_(texts)))
        else:
            connection.execute(sa.delete(results).where(results.c.query_id == query_id))
            connection.execute(sa.delete(states).where(states.c.query_id == query_id))
            connection.execute(sa.delete(switches).where(switches.c.query_id == query_id))
            forget_versions(connection, query_id)
            connection.execute(sa.delete(queries).where(queries.c.id == query_id))
        return True


def prune(connection: sa.Connection, state: dict[str, Any], now: datetime, keeping: Keeping) -> bool:
    """Deletes a step of what one query has too much, and moves the low ends in `state`; whether any went."""
    first: int = state["first_number"]
    last = state["last_number"] - keeping.limit_history if keeping.limit_history >= 0 else first - 1
    if oldest := keeping.oldest(now):
        last = max(last, _last_before(connection, state, oldest))
    if (heavy := _last_beyond(connection, state, keeping.history_bytes)) > last:
        last = heavy
        _note_cut(state, now, keeping.history_bytes)
    elif state["kept_bytes"] < keeping.history_bytes / 2:
        state["cut_at"] = None
    last = min(last, first + PRUNE_STEP - 1)
    if last < first:
        return False
    _delete(connection, state, last)
    return True


def _searches(now: datetime, keeping: Keeping) -> Iterator[sa.Select[int]]:
    """Where to look for a query whose history is to be pruned."""
    if oldest := keeping.oldest(now):
        yield _first_outdated(oldest)
    if keeping.limit_history >= 0:
        yield _first_overfull(keeping.limit_history)
    if keeping.history_bytes >= 0:
        yield _first_heavy(keeping.history_bytes)


def _first_outdated(oldest: datetime) -> sa.Select[int]:
    """Whose history is the oldest of all that is too old, as far as a step from the low end reaches."""
    low_end = sa.select(states.c.first_number).where(states.c.query_id == history.c.query_id)
    in_reach = history.c.number < low_end.scalar_subquery() + PRUNE_STEP
    outdated = sa.select(history.c.query_id).where(history.c.executed_at < oldest, in_reach)
    return outdated.order_by(history.c.executed_at).limit(1)


def _first_overfull(limit: int) -> sa.Select[int]:
    """One that has more than it may; what a deleted query left behind goes another way."""
    is_overfull = states.c.last_number - states.c.first_number >= limit
    of_query = sa.select(states.c.query_id).join(queries, queries.c.id == states.c.query_id)
    return of_query.where(is_overfull, queries.c.deleted_at.is_(None)).limit(1)


def _first_heavy(most_bytes: int) -> sa.Select[int]:
    """One whose results are more than may be kept, and that has more than the newest of them."""
    is_heavy = (states.c.kept_bytes > most_bytes) & (states.c.last_number > states.c.first_number)
    of_query = sa.select(states.c.query_id).join(queries, queries.c.id == states.c.query_id)
    return of_query.where(is_heavy, queries.c.deleted_at.is_(None)).limit(1)


def _last_beyond(connection: sa.Connection, state: dict[str, Any], most_bytes: int) -> int:
    """The last of the oldest rows without which the results are within their quota; the newest row stays."""
    excess: int = state["kept_bytes"] - most_bytes
    if most_bytes < 0 or excess <= 0:
        return 0
    end = min(state["first_number"] + PRUNE_STEP, state["last_number"])
    oldest = sa.select(history.c.number, history.c.result_bytes).where(
        history.c.query_id == state["query_id"], history.c.number < end
    )
    last = 0
    for row in connection.execute(oldest.order_by(history.c.number)):
        if excess <= 0:
            break
        last, excess = row.number, excess - row.result_bytes
    return last


def _note_cut(state: dict[str, Any], now: datetime, most_bytes: int) -> None:
    if state["cut_at"] is None:  # once, not with each execution
        log.warning("history_quota_reached", query=state["query_id"], history_bytes=most_bytes)
    state["cut_at"] = now


def text_bytes(text: str | None) -> int:
    """How much a text takes in the store."""
    return 0 if text is None else len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _last_before(connection: sa.Connection, state: dict[str, Any], moment: datetime) -> int:
    last = sa.select(sa.func.max(history.c.number)).where(
        history.c.query_id == state["query_id"],
        history.c.executed_at < moment,
        history.c.number < state["first_number"] + PRUNE_STEP,
    )
    return connection.scalar(last) or 0


def _delete(connection: sa.Connection, state: dict[str, Any], last: int) -> None:
    """The rows up to number `last` with their results, but not the result that is still shown."""
    doomed = (history.c.query_id == state["query_id"]) & (history.c.number <= last)
    columns = (history.c.status, history.c.result_id, history.c.result_bytes)
    rows = connection.execute(sa.select(*columns).where(doomed)).all()
    connection.execute(sa.delete(history).where(doomed))
    texts = [row.result_id for row in rows if row.result_id and row.result_id != state["last_result_id"]]
    if texts:
        connection.execute(sa.delete(results).where(results.c.id.in_(texts)))
    state["first_number"] = last + 1
    state["kept_bytes"] -= sum(row.result_bytes for row in rows)
    for row in rows:
        state[f"first_{row.status}"] += 1


def _doomed(forgotten_before: datetime) -> sa.Select[int]:
    """A deleted query that nothing runs for any more, and that has rows to remove."""
    has_run = sa.exists().where(runs.c.query_id == queries.c.id)
    has_rows = sa.exists().where(history.c.query_id == queries.c.id)
    is_ripe = has_rows | (queries.c.deleted_at < forgotten_before)
    return sa.select(queries.c.id).where(queries.c.deleted_at.is_not(None), ~has_run, is_ripe).limit(1)
