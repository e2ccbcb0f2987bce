"""Recording what came back: history, latest result, gauge, counts, lane, in one transaction for many."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from plugbay import PlugbayError, Store, get_logger

from plugbay_scheduled_query.core.alerting.model import AlertEvent
from plugbay_scheduled_query.core.metric import snapshot
from plugbay_scheduled_query.core.model import Execution, Outcome, Run, Status
from plugbay_scheduled_query.repository.alert_judging import judge_executions
from plugbay_scheduled_query.repository.pruning import Keeping, prune
from plugbay_scheduled_query.repository.rows import metric_of, moment_after
from plugbay_scheduled_query.tables import history, lanes, queries, results, runs, states

Ended = tuple[Run, Outcome]

RECENT_KEPT = 30  # values and durations beside each query: what a sparkline shows

# what the store does not do now, but may in a while; everything else is the fault of what is recorded
_OUTAGES = (
    PlugbayError,
    OSError,
    MemoryError,
    sa.exc.OperationalError,
    sa.exc.InternalError,
    sa.exc.InterfaceError,
    sa.exc.InvalidRequestError,
)
# both locked, so that nobody takes a run over, or edits the gauge, between our look and our writing
_LIVE = (
    sa.select(runs.c.id, runs.c.attempt)
    .where(runs.c.id.in_(sa.bindparam("ids", expanding=True)))
    .order_by(runs.c.id)
    .with_for_update()
)
_STATES = (
    sa.select(states, queries.c.metric_config)
    .join(queries, queries.c.id == states.c.query_id)
    .where(states.c.query_id.in_(sa.bindparam("ids", expanding=True)))
    .order_by(states.c.query_id)
    .with_for_update(of=states)
)
_INSERT_RESULT = sa.insert(results).returning(results.c.id, sort_by_parameter_order=True)
_INSERT_HISTORY = sa.insert(history).returning(history.c.id, sort_by_parameter_order=True)
_DELETE_RUNS = sa.delete(runs).where(runs.c.id.in_(sa.bindparam("ids", expanding=True)))
_FREE_LANE = sa.update(lanes).where(lanes.c.run_id.in_(sa.bindparam("ids", expanding=True)))
_UPDATE_STATE = (
    sa.update(states)
    .where(states.c.query_id == sa.bindparam("b_query_id"))
    .values({column.name: sa.bindparam(column.name) for column in states.c if column.name != "query_id"})
)


log = get_logger(__name__)


@dataclass(slots=True)
class _Entry:
    """A run that is still ours, on its way into the tables."""

    run: Run
    outcome: Outcome
    state: dict[str, Any]
    metric_config: str | None
    result_id: int | None = None
    history_id: int | None = None
    alert_events: tuple[AlertEvent, ...] = ()


class Recording:
    """Writes what came back of runs; what a newer attempt has taken over is dropped."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def record(self, batch: Sequence[Ended], now: datetime, keeping: Keeping) -> list[Execution | None]:
        """Records a group in one transaction; if one of them cannot be recorded, each on its own.

        One that was dropped, because it belongs to somebody else by now, is None.
        """
        try:
            return self._record(batch, now, keeping)
        except _OUTAGES:
            raise
        except Exception as error:
            if len(batch) == 1:
                return [self._record_refused(*batch[0], error, now, keeping)]
            return [recorded for item in batch for recorded in self.record([item], now, keeping)]

    def _record_refused(
        self, run: Run, outcome: Outcome, error: Exception, now: datetime, keeping: Keeping
    ) -> Execution | None:
        """What the store does not take is a failure; if it does not take that either, the run just ends."""
        reason = type(error).__name__
        log.error("record_refused", query=run.query_name, run=run.id, reason=reason)
        try:
            return self._record([(run, _unstorable(outcome, reason))], now, keeping)[0]
        except _OUTAGES:
            raise
        except Exception:
            self._forget(run, now)
            return None

    def _record(self, batch: Sequence[Ended], now: datetime, keeping: Keeping) -> list[Execution | None]:
        with self._store.begin() as connection:
            entries = list(self._live(connection, batch))
            self._insert_results(connection, entries)
            if keeping.enable_history and keeping.limit_history != 0:
                self._insert_history(connection, entries)
            replaced = [_apply(entry, now) for entry in entries]
            for entry in entries:
                prune(connection, entry.state, now, keeping)
            if entries:
                rows = [{**entry.state, "b_query_id": entry.run.query_id} for entry in entries]
                connection.execute(_UPDATE_STATE, rows)
            judge_executions(connection, entries, now)
            self._delete_unreferenced(connection, [result_id for result_id in replaced if result_id])
            self._end_runs(connection, [entry.run.id for entry in entries], now)
        recorded = {entry.run.id: _execution(entry) for entry in entries}
        return [recorded.get(run.id) for run, _ in batch]

    def _live(self, connection: sa.Connection, batch: Sequence[Ended]) -> Iterator[_Entry]:
        """Those that are still ours: the run exists, and nobody has taken it over since."""
        ids, of_queries = [run.id for run, _ in batch], [run.query_id for run, _ in batch]
        attempts = {row.id: row.attempt for row in connection.execute(_LIVE, {"ids": ids}).all()}
        found = connection.execute(_STATES, {"ids": of_queries}).all()
        by_query = {row.query_id: dict(row._mapping) for row in found}
        for run, outcome in batch:
            state = by_query.get(run.query_id)
            if attempts.get(run.id) != run.attempt or state is None:
                log.warning("result_dropped", query=run.query_name, run=run.id, attempt=run.attempt)
                continue
            yield _Entry(run, outcome, state, state.pop("metric_config"))

    def _insert_results(self, connection: sa.Connection, entries: list[_Entry]) -> None:
        with_result = [entry for entry in entries if entry.outcome.result_json is not None]
        if with_result:
            rows = [_result_row(entry) for entry in with_result]
            ids = connection.scalars(_INSERT_RESULT, rows).all()
            for entry, result_id in zip(with_result, ids, strict=True):
                entry.result_id = result_id

    def _insert_history(self, connection: sa.Connection, entries: list[_Entry]) -> None:
        if entries:
            ids = connection.scalars(_INSERT_HISTORY, [_history_row(entry) for entry in entries]).all()
            for entry, history_id in zip(entries, ids, strict=True):
                entry.history_id = history_id

    def _delete_unreferenced(self, connection: sa.Connection, result_ids: list[int]) -> None:
        if result_ids:
            kept = sa.select(history.c.result_id).where(history.c.result_id.in_(result_ids))
            gone = results.c.id.in_(result_ids) & results.c.id.not_in(kept)
            connection.execute(sa.delete(results).where(gone))

    def _end_runs(self, connection: sa.Connection, ids: list[int], now: datetime) -> None:
        if ids:
            # by the clock that claims go by, which on PostgreSQL is the database's
            ended_at = now if self._store.dialect == "sqlite" else sa.func.clock_timestamp()
            connection.execute(_DELETE_RUNS, {"ids": ids})
            connection.execute(_FREE_LANE.values(run_id=None, ended_at=ended_at), {"ids": ids})

    def _forget(self, run: Run, now: datetime) -> None:
        """Ends a run that can never be recorded, so that its query is not stuck behind it."""
        with self._store.begin() as connection:
            live = connection.execute(_LIVE, {"ids": [run.id]}).first()
            if live and live.attempt == run.attempt:
                self._end_runs(connection, [run.id], now)


def _result_row(entry: _Entry) -> dict[str, Any]:
    outcome = entry.outcome
    return {
        "query_id": entry.run.query_id,
        "columns": json.dumps(outcome.columns, ensure_ascii=False),
        "text": outcome.result_json,
        "row_count": outcome.row_count,
        "preview": outcome.preview,
    }


def _history_row(entry: _Entry) -> dict[str, Any]:
    run, outcome, state = entry.run, entry.outcome, entry.state
    status, gauge = outcome.status.value, _snapshot(entry)
    state["last_number"] += 1
    state[f"last_{status}"] += 1
    return {
        "query_id": run.query_id,
        "number": state["last_number"],
        "status_number": state[f"last_{status}"],
        "executed_at": outcome.executed_at,
        "duration_ms": outcome.duration_ms,
        "status": status,
        "error_message": outcome.error,
        "result_id": entry.result_id,
        "metric_value": outcome.value,
        "snapshot": json.dumps(gauge) if gauge else None,
        "due_at": run.due_at,
        "missed": run.missed,
        "attempt": run.attempt,
        "trigger": run.trigger.value,
        "triggered_by": run.triggered_by,
        "truncated": outcome.truncated,
    }


def _apply(entry: _Entry, now: datetime) -> int | None:
    """Brings a query's state up to date; returns the result that it no longer shows."""
    outcome, state = entry.outcome, entry.state
    values, durations = json.loads(state["recent"])
    recent = [[*values, outcome.value][-RECENT_KEPT:], [*durations, outcome.duration_ms][-RECENT_KEPT:]]
    state |= {
        "last_executed": outcome.executed_at,
        "last_status": outcome.status.value,
        "last_error": outcome.error,
        "last_duration_ms": outcome.duration_ms,
        "recent": json.dumps(recent),
        "changed_at": moment_after(state["changed_at"], now),
    }
    if outcome.status is not Status.SUCCESS:
        return None
    replaced: int | None = state["last_result_id"]
    state |= {"last_result_id": entry.result_id, "last_success_at": outcome.executed_at}
    if outcome.value is not None and entry.run.metric == metric_of(entry.metric_config):
        state["metric_value"] = outcome.value  # else it is another gauge's by now
    return replaced


def _snapshot(entry: _Entry) -> dict[str, object] | None:
    metric, value = entry.run.metric, entry.outcome.value
    return snapshot(metric, value) if metric and value is not None else None


def _unstorable(outcome: Outcome, reason: str) -> Outcome:
    error = f"the result could not be stored: {reason}"
    return Outcome(
        Status.FAILED,
        duration_ms=outcome.duration_ms,
        error=error,
        rejection=outcome.rejection,
        executed_at=outcome.executed_at,
    )


def _execution(entry: _Entry) -> Execution:
    run, outcome = entry.run, entry.outcome
    assert outcome.executed_at, "a trial is not recorded"
    return Execution(
        id=entry.history_id,
        scheduled_query_id=run.query_id,
        executed_at=outcome.executed_at,
        duration_ms=outcome.duration_ms,
        status=outcome.status,
        error_message=outcome.error,
        result=outcome.result_json,
        result_key=outcome.columns,
        monitor_metrics_snapshot=_snapshot(entry),
        due_at=run.due_at,
        missed=run.missed,
        attempt=run.attempt,
        trigger=run.trigger,
        triggered_by=run.triggered_by,
        truncated=outcome.truncated,
        alert_events=entry.alert_events,
    )
