"""Recording what came back: history, latest result, gauge, counts, lane, in one transaction for many."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from plugbay import PlugbayError, Store, get_logger

from plugbay_scheduled_query.core.alerting.model import AlertEvent
from plugbay_scheduled_query.core.exposition import key_of
from plugbay_scheduled_query.core.model import Execution, Feed, MetricConfig, Outcome, Run, Status
from plugbay_scheduled_query.core.sampling import Snapshot, chart_value, snapshot
from plugbay_scheduled_query.repository.alert_judging import judge_executions
from plugbay_scheduled_query.repository.bulk import Bulk, among, take_ids
from plugbay_scheduled_query.repository.pruning import Keeping, prune, text_bytes
from plugbay_scheduled_query.repository.rows import metrics_of, moment_after
from plugbay_scheduled_query.repository.series import (
    NewSeries,
    dropped_series,
    sampled_series,
    write_series,
)
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
_OF_DEFINITION = (queries.c.metric_config, queries.c.version, queries.c.deleted_at)
# both locked, so that nobody takes a run over, or edits the gauge, between our look and our writing
_LIVE = (
    sa.select(runs.c.id.label("run_id"), runs.c.attempt, states, *_OF_DEFINITION)
    .join(states, states.c.query_id == runs.c.query_id)
    .join(queries, queries.c.id == runs.c.query_id)
    .where(among(runs.c.id))
    .order_by(states.c.query_id)  # in the order of who changes many queries at once
    .with_for_update(of=(runs, states))
)
_INSERT_RESULTS = Bulk(sa.insert(results))
_INSERT_HISTORY = Bulk(sa.insert(history))
_DELETE_RUNS = sa.delete(runs).where(among(runs.c.id))
_FREE_LANES = sa.update(lanes).where(among(lanes.c.run_id))
_DELETE_RESULTS = sa.delete(results).where(
    among(results.c.id), ~sa.exists().where(history.c.result_id == results.c.id)
)
_UPDATE_STATES = Bulk(
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
    version: int | None  # of the definition; none if it is deleted
    snapshot: Snapshot | None
    series: list[NewSeries] = field(default_factory=list)
    result_id: int | None = None
    history_id: int | None = None
    alert_events: tuple[AlertEvent, ...] = ()


class Recording:
    """Writes what came back of runs; what a newer attempt has taken over is dropped."""

    def __init__(self, store: Store, node: str | None = None) -> None:
        self._store = store
        self._node = node  # whose gauges hear of it at once; all others read what changed

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
            self._insert(connection, entries, keeping)
            replaced = [_apply(entry, now, self._node) for entry in entries]
            write_series(connection, [one for entry in entries for one in entry.series])
            for entry in entries:
                prune(connection, entry.state, now, keeping)
            _UPDATE_STATES(connection, [_state_row(entry) for entry in entries])
            judge_executions(connection, entries, now)
            if unshown := [result_id for result_id in replaced if result_id]:
                connection.execute(_DELETE_RESULTS, {"ids": unshown})
            self._end_runs(connection, [entry.run.id for entry in entries], now)
        recorded = {entry.run.id: _execution(entry) for entry in entries}
        return [recorded.get(run.id) for run, _ in batch]

    def _live(self, connection: sa.Connection, batch: Sequence[Ended]) -> Iterator[_Entry]:
        """Those that are still ours: the run exists, and nobody has taken it over since."""
        found = connection.execute(_LIVE, {"ids": [run.id for run, _ in batch]})
        live = {row.run_id: dict(row._mapping) for row in found}
        for run, outcome in batch:
            state = live.get(run.id)
            if state is None or state["attempt"] != run.attempt:
                log.warning("result_dropped", query=run.query_name, run=run.id, attempt=run.attempt)
                continue
            del state["run_id"], state["attempt"]
            version, deleted_at = state.pop("version"), state.pop("deleted_at")
            config, samples = state.pop("metric_config"), snapshot(run.metrics, outcome)
            yield _Entry(run, outcome, state, config, None if deleted_at else version, samples)

    def _insert(self, connection: sa.Connection, entries: list[_Entry], keeping: Keeping) -> None:
        """New results and rows of history, where they are kept."""
        result_ids, history_ids = take_ids(connection, len(entries), results, history)
        if keeping.keeps_results:
            with_result = [entry for entry in entries if entry.outcome.result_json is not None]
            for entry, result_id in zip(with_result, result_ids, strict=False):
                entry.result_id = result_id
            _INSERT_RESULTS(connection, [_result_row(entry) for entry in with_result])
        if keeping.enable_history and keeping.limit_history != 0:
            for entry, history_id in zip(entries, history_ids, strict=True):
                entry.history_id = history_id
            _INSERT_HISTORY(connection, [_history_row(entry) for entry in entries])

    def _end_runs(self, connection: sa.Connection, ids: list[int], now: datetime) -> None:
        if ids:
            # by the clock that claims go by, which on PostgreSQL is the database's
            ended_at = now if self._store.dialect == "sqlite" else sa.func.clock_timestamp()
            connection.execute(_DELETE_RUNS, {"ids": ids})
            connection.execute(_FREE_LANES.values(run_id=None, ended_at=ended_at), {"ids": ids})

    def _forget(self, run: Run, now: datetime) -> None:
        """Ends a run that can never be recorded, so that its query is not stuck behind it."""
        with self._store.begin() as connection:
            live = connection.execute(_LIVE, {"ids": [run.id]}).first()
            if live and live.attempt == run.attempt:
                self._end_runs(connection, [run.id], now)


def _result_row(entry: _Entry) -> dict[str, Any]:
    outcome = entry.outcome
    return {
        "id": entry.result_id,
        "query_id": entry.run.query_id,
        "columns": json.dumps(outcome.columns, ensure_ascii=False),
        "text": outcome.result_json,
        "row_count": outcome.row_count,
        "preview": outcome.preview,
    }


def _history_row(entry: _Entry) -> dict[str, Any]:
    run, outcome, state = entry.run, entry.outcome, entry.state
    status, samples = outcome.status.value, entry.snapshot
    size = text_bytes(outcome.result_json) if entry.result_id else 0
    state["kept_bytes"] += size
    state["last_number"] += 1
    state[f"last_{status}"] += 1
    return {
        "id": entry.history_id,
        "query_id": run.query_id,
        "number": state["last_number"],
        "status_number": state[f"last_{status}"],
        "executed_at": outcome.executed_at,
        "duration_ms": outcome.duration_ms,
        "status": status,
        "error_message": outcome.error,
        "result_id": entry.result_id,
        "metric_value": chart_value(run.metrics, outcome),
        "snapshot": json.dumps(samples) if samples else None,
        "due_at": run.due_at,
        "missed": run.missed,
        "attempt": run.attempt,
        "trigger": run.trigger.value,
        "triggered_by": run.triggered_by,
        "truncated": outcome.truncated or (entry.result_id is None and outcome.result_json is not None),
        "result_bytes": size,
    }


def _state_row(entry: _Entry) -> dict[str, Any]:
    row = {**entry.state, "b_query_id": entry.run.query_id}
    del row["query_id"]
    return row


def _apply(entry: _Entry, now: datetime, node: str | None) -> int | None:
    """Brings a query's state up to date; returns the result that it no longer shows."""
    outcome, state = entry.outcome, entry.state
    values, durations = json.loads(state["recent"])
    value = chart_value(entry.run.metrics, outcome)
    recent = [[*values, value][-RECENT_KEPT:], [*durations, outcome.duration_ms][-RECENT_KEPT:]]
    state |= {
        "last_executed": outcome.executed_at,
        "last_status": outcome.status.value,
        "last_error": outcome.error,
        "last_duration_ms": outcome.duration_ms,
        "recent": json.dumps(recent),
        "changed_at": moment_after(state["changed_at"], now),
        "changed_by": node,
    }
    _sample(entry)
    if outcome.status is not Status.SUCCESS:
        return None
    replaced: int | None = state["last_result_id"] if entry.result_id else None
    state |= {"last_result_id": entry.result_id or state["last_result_id"]}
    state |= {"last_success_at": outcome.executed_at}
    return replaced


def _sample(entry: _Entry) -> None:
    """Gives the metrics their samples: those that are still the query's, which may have been edited since."""
    run, outcome, state = entry.run, entry.outcome, entry.state
    current = metrics_of(entry.metric_config) if entry.version is not None else ()
    if outcome.status is Status.SUCCESS:
        entry.series = sampled_series(run.query_id, outcome.sampled, current) if outcome.sampled else []
        if run.metrics == current:
            state["metric_problem"] = outcome.metric_problem
        if outcome.value is not None and _plain_keys(run.metrics) & _plain_keys(current):
            state["metric_value"] = outcome.value
    elif current:
        entry.series = dropped_series(run.query_id, current)
        if all(metric.is_dropped_on_failure for metric in current if metric.is_plain):
            state["metric_value"] = None


def _plain_keys(metrics: Sequence[MetricConfig]) -> set[str]:
    return {key_of(metric) for metric in metrics if metric.is_plain}


def _feed(entry: _Entry) -> Feed:
    state = entry.state
    return Feed(
        query_id=entry.run.query_id,
        version=entry.version,
        changed_at=state["changed_at"],
        has_metrics=entry.metric_config is not None,
        value=state["metric_value"],
        blocks={one.metric_key: one.block for one in entry.series},
        is_up=entry.outcome.status is Status.SUCCESS,
        last_success_at=state["last_success_at"],
        problem=state["metric_problem"],
    )


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
        monitor_metrics_snapshot=entry.snapshot,
        due_at=run.due_at,
        missed=run.missed,
        attempt=run.attempt,
        trigger=run.trigger,
        triggered_by=run.triggered_by,
        truncated=outcome.truncated,
        feed=_feed(entry),
        alert_events=entry.alert_events,
    )
