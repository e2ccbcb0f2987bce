"""What the world is told of an execution: one log line, one event, and the counters of /metrics."""

import threading
from collections import Counter

from plugbay import EventBus, get_logger

from plugbay_scheduled_query.core.model import Status
from plugbay_scheduled_query.repository.recording import Finished, Recorded

log = get_logger("plugbay.scheduled_query")


class Reports:
    """Speaks of each recorded execution; counts since the start of this process."""

    def __init__(self, events: EventBus) -> None:
        self._events = events
        self._lock = threading.Lock()
        self.executions: Counter[str] = Counter()
        self.seconds = 0.0
        self.lateness_s = 0.0
        self.starts = 0
        self.missed = 0

    def tell(self, finished: Finished, recorded: Recorded) -> None:
        if recorded.is_dropped:
            return
        self._count(finished)
        self._log(finished)
        self._emit(finished, recorded)

    def _count(self, finished: Finished) -> None:
        run = finished.claimed.run
        with self._lock:
            self.executions["rejected" if finished.rejection else finished.status.value] += 1
            self.seconds += finished.duration_ms / 1000
            self.missed += run.missed
            if run.due_at:
                self.starts += 1
                self.lateness_s += max(0.0, (finished.executed_at - run.due_at).total_seconds())

    def _log(self, finished: Finished) -> None:
        name, run = finished.claimed.query_name, finished.claimed.run
        facts = {"query": name, "id": run.query_id, "ms": finished.duration_ms, "trigger": run.trigger.value}
        if run.missed:
            log.warning("missed", query=name, id=run.query_id, times=run.missed)
        if finished.rejection:
            rejection = finished.rejection
            log.warning(
                "rejected", query=name, rule=rejection.rule, keyword=rejection.found, reason=rejection.reason
            )
        elif finished.status is Status.SUCCESS:
            rows = finished.result.row_count if finished.result else 0
            log.info("executed", **facts, rows=rows)
        else:
            log.warning(finished.status.value, **facts, error=finished.error)
        if finished.claimed.metric and finished.status is Status.SUCCESS and finished.metric_value is None:
            log.warning("metric_not_updated", query=name, reason="the result has no numeric value")

    def _emit(self, finished: Finished, recorded: Recorded) -> None:
        run = finished.claimed.run
        data = {
            "query_id": run.query_id,
            "name": finished.claimed.query_name,
            "status": finished.status.value,
            "duration_ms": finished.duration_ms,
            "error": finished.error,
            "execution_id": recorded.execution.id,
            "trigger": run.trigger.value,
        }
        if run.missed:
            self._events.emit("scheduled_query.missed", **data, missed=run.missed)
        if finished.rejection:
            self._events.emit("scheduled_query.rejected", **data, rule=finished.rejection.rule)
        if finished.status is not Status.SUCCESS:
            self._events.emit("scheduled_query.failed", **data)
        self._events.emit("scheduled_query.executed", **data)
