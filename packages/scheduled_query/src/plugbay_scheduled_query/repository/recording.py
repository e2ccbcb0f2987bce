"""Recording finished runs: history, latest result, gauge, counts, lane, in one transaction for many."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from plugbay import PlugbayError, Store, get_logger

from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.core.model import RECENT_KEPT, Execution, Result, Status, Trigger
from plugbay_scheduled_query.repository.claims import ClaimedRun
from plugbay_scheduled_query.repository.pruning import Keeping, prune
from plugbay_scheduled_query.repository.rows import metric_of, moment_after
from plugbay_scheduled_query.tables import history, lanes, queries, results, runs, states

log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A run that came to its end, with everything that is to be kept of it."""

    claimed: ClaimedRun
    executed_at: datetime
    duration_ms: int
    status: Status
    error: str | None = None
    rejection: Rejection | None = None
    result: Result | None = None
    preview: str | None = None
    metric_value: float | None = None
    snapshot: dict[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of a finished run in the store; a dropped one belongs to somebody else by now."""

    finished: Finished
    execution: Execution
    is_dropped: bool = False


@dataclass(slots=True)
class _Plan:
    """One finished run on its way into the tables."""

    finished: Finished
    state: dict[str, Any]
    metric_config: str | None
    result_id: int | None = None
    history_id: int | None = None


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


class Recording:
    """Writes what finished; what a newer attempt has taken over is dropped."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def record(self, batch: Sequence[Finished], now: datetime, keeping: Keeping) -> list[Recorded]:
        """Records a group in one transaction; if one of them cannot be recorded, each on its own."""
        try:
            return self._record(batch, now, keeping)
        except _OUTAGES:
            raise
        except Exception as error:
            if len(batch) == 1:
                return [self._record_refused(batch[0], error, now, keeping)]
            return [recorded for item in batch for recorded in self.record([item], now, keeping)]

    def _record_refused(self, item: Finished, error: Exception, now: datetime, keeping: Keeping) -> Recorded:
        """What the store does not take is a failure; if it does not take that either, the run just ends."""
        reason = type(error).__name__
        log.error("record_refused", query=item.claimed.query_name, run=item.claimed.id, reason=reason)
        try:
            return self._record([_unstorable(item, reason)], now, keeping)[0]
        except _OUTAGES:
            raise
        except Exception:
            self._forget(item, now)
            return Recorded(item, _execution(item), is_dropped=True)

    def _record(self, batch: Sequence[Finished], now: datetime, keeping: Keeping) -> list[Recorded]:
        with self._store.begin() as connection:
            plans = list(self._live_plans(connection, batch))
            self._insert_results(connection, plans)
            if keeping.enable_history and keeping.limit_history != 0:
                self._insert_history(connection, plans)
            replaced = [_apply(plan, now) for plan in plans]
            for plan in plans:
                prune(connection, plan.state, now, keeping)
            if plans:
                rows = [{**plan.state, "b_query_id": plan.state["query_id"]} for plan in plans]
                connection.execute(_UPDATE_STATE, rows)
            self._delete_unreferenced(connection, [result_id for result_id in replaced if result_id])
            self._end_runs(connection, [plan.finished.claimed.id for plan in plans], now)
        by_run = {plan.finished.claimed.id: plan for plan in plans}
        return [_recorded(item, by_run.get(item.claimed.id)) for item in batch]

    def _live_plans(self, connection: sa.Connection, batch: Sequence[Finished]) -> Iterator[_Plan]:
        """Those that are still ours: the run exists, and nobody has taken it over since."""
        live = {
            row.id: row.attempt
            for row in connection.execute(_LIVE, {"ids": [item.claimed.id for item in batch]}).all()
        }
        wanted = {"ids": [item.claimed.run.query_id for item in batch]}
        found = {row.query_id: dict(row._mapping) for row in connection.execute(_STATES, wanted).all()}
        for item in batch:
            state = found.get(item.claimed.run.query_id)
            if live.get(item.claimed.id) != item.claimed.run.attempt or state is None:
                log.warning(
                    "result_dropped",
                    query=item.claimed.query_name,
                    run=item.claimed.id,
                    attempt=item.claimed.run.attempt,
                )
                continue
            yield _Plan(item, state, state.pop("metric_config"))

    def _insert_results(self, connection: sa.Connection, plans: list[_Plan]) -> None:
        with_result = [plan for plan in plans if plan.finished.result]
        if with_result:
            rows = [_result_row(plan.finished) for plan in with_result]
            ids = connection.scalars(_INSERT_RESULT, rows).all()
            for plan, result_id in zip(with_result, ids, strict=True):
                plan.result_id = result_id

    def _insert_history(self, connection: sa.Connection, plans: list[_Plan]) -> None:
        if plans:
            ids = connection.scalars(_INSERT_HISTORY, [_history_row(plan) for plan in plans]).all()
            for plan, history_id in zip(plans, ids, strict=True):
                plan.history_id = history_id

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

    def _forget(self, item: Finished, now: datetime) -> None:
        """Ends a run that can never be recorded, so that its query is not stuck behind it."""
        with self._store.begin() as connection:
            live = connection.execute(_LIVE, {"ids": [item.claimed.id]}).first()
            if live and live.attempt == item.claimed.run.attempt:
                self._end_runs(connection, [item.claimed.id], now)


def _result_row(item: Finished) -> dict[str, Any]:
    assert item.result
    return {
        "query_id": item.claimed.run.query_id,
        "columns": json.dumps(item.result.columns, ensure_ascii=False),
        "text": item.result.text,
        "row_count": item.result.row_count,
        "preview": item.preview,
    }


def _history_row(plan: _Plan) -> dict[str, Any]:
    item, run, state = plan.finished, plan.finished.claimed.run, plan.state
    state["last_number"] += 1
    state[f"last_{item.status.value}"] += 1
    return {
        "query_id": run.query_id,
        "number": state["last_number"],
        "status_number": state[f"last_{item.status.value}"],
        "executed_at": item.executed_at,
        "duration_ms": item.duration_ms,
        "status": item.status.value,
        "error_message": item.error,
        "result_id": plan.result_id,
        "metric_value": item.metric_value,
        "snapshot": json.dumps(item.snapshot) if item.snapshot else None,
        "due_at": run.due_at,
        "missed": run.missed,
        "attempt": run.attempt,
        "trigger": run.trigger.value,
        "triggered_by": run.triggered_by,
        "truncated": bool(item.result and item.result.truncated),
    }


def _apply(plan: _Plan, now: datetime) -> int | None:
    """Brings a query's state up to date; returns the result that it no longer shows."""
    item, state = plan.finished, plan.state
    values, durations = json.loads(state["recent"])
    recent = [[*values, item.metric_value][-RECENT_KEPT:], [*durations, item.duration_ms][-RECENT_KEPT:]]
    state |= {
        "last_executed": item.executed_at,
        "last_status": item.status.value,
        "last_error": item.error,
        "last_duration_ms": item.duration_ms,
        "recent": json.dumps(recent),
        "changed_at": moment_after(state["changed_at"], now),
    }
    if item.status is not Status.SUCCESS:
        return None
    replaced: int | None = state["last_result_id"]
    state |= {"last_result_id": plan.result_id, "last_success_at": item.executed_at}
    if item.metric_value is not None and item.claimed.metric == metric_of(plan.metric_config):
        state["metric_value"] = item.metric_value  # else it is another gauge's by now
    return replaced


def _recorded(item: Finished, plan: _Plan | None) -> Recorded:
    execution = replace(_execution(item), id=plan.history_id if plan else None)
    return Recorded(item, execution, is_dropped=plan is None)


def _unstorable(item: Finished, reason: str) -> Finished:
    error = f"the result could not be stored: {reason}"
    nothing: dict[str, Any] = dict.fromkeys(("result", "preview", "metric_value", "snapshot"))
    return replace(item, status=Status.FAILED, error=error, **nothing)


def _execution(item: Finished) -> Execution:
    run = item.claimed.run
    return Execution(
        scheduled_query_id=run.query_id,
        executed_at=item.executed_at,
        duration_ms=item.duration_ms,
        status=item.status,
        error_message=item.error,
        result=item.result.text if item.result else None,
        result_key=item.result.columns if item.result else (),
        monitor_metrics_snapshot=item.snapshot,
        due_at=run.due_at,
        missed=run.missed,
        attempt=run.attempt,
        trigger=Trigger(run.trigger),
        triggered_by=run.triggered_by,
        truncated=bool(item.result and item.result.truncated),
    )
