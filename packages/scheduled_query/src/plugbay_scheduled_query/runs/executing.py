"""One execution: guard, runner, number for the gauge; and what came back, recorded in groups."""

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

from plugbay import Clock, get_logger

from plugbay_scheduled_query.core.errors import SourceProblem
from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.core.model import Execution, Outcome, Run, Status, Trigger
from plugbay_scheduled_query.core.results import all_rows, iter_rows, preview
from plugbay_scheduled_query.core.sampling import sample
from plugbay_scheduled_query.core.source import Target
from plugbay_scheduled_query.dialects import check
from plugbay_scheduled_query.executor import Statement
from plugbay_scheduled_query.executor.time_limit import chosen_limit_s
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.repository.recording import Ended, Recording
from plugbay_scheduled_query.settings import Settings

MOST_AT_ONCE = 128  # runs in one transaction: enough to share its cost, few enough to be quick
RETRY_S = 1.0  # between attempts while the store does not take anything

log = get_logger(__name__)


class Targets(Protocol):
    """Knows where each source is."""

    def target(self, source_id: int) -> Target: ...


class Executor(Protocol):
    """Runs SQL somewhere safe, and can stop it."""

    def run(self, statement: Statement) -> Outcome: ...
    def cancel(self, run_id: Hashable, by: str) -> bool: ...


class Executing:
    """Turns a run into an outcome."""

    def __init__(
        self, clock: Clock, targets: Targets, executor: Executor, settings: Callable[[], Settings]
    ) -> None:
        self._clock = clock
        self._targets = targets
        self._executor = executor
        self._settings = settings

    def execute(self, run: Run, stopped_by: Callable[[], str] = str) -> Outcome:
        """Everything that can go wrong with a query becomes its status here, and is nobody else's trouble."""
        started_at, started = self._clock.now(), self._clock.monotonic()
        if run.problem:
            return failed(run.problem, started_at)
        try:
            outcome = self.ask(run.id, run.source_id, run.sql, run.timeout, stopped_by)
            elapsed_ms = round((self._clock.monotonic() - started) * 1000)
            duration_ms = outcome.duration_ms or elapsed_ms
            outcome = replace(outcome, executed_at=started_at, duration_ms=duration_ms)
            return with_value(outcome, run, self._settings().max_series)
        except Exception as error:
            log.exception("execution_failed", query=run.query_name)
            return failed(f"internal error: {type(error).__name__}", started_at)

    def ask(
        self,
        run_id: Hashable,
        source_id: int,
        sql: str,
        timeout: int | None = None,
        stopped_by: Callable[[], str] = str,
    ) -> Outcome:
        """Guard, then runner: also what Try it does."""
        settings = self._settings()
        try:
            target = self._targets.target(source_id)
        except SourceProblem as problem:
            return failed(str(problem))
        verdict = check(sql, target.language, settings.rules)
        if isinstance(verdict, Rejection):
            return replace(failed(f"rejected: {verdict.reason}"), rejection=verdict)
        limit_s = chosen_limit_s(timeout, settings.query_timeout, settings.query_timeout_max)
        allowed = settings.rules.allowed_functions
        statement = Statement(
            run_id, target, sql, limit_s, settings.caps, stopped_by=stopped_by, allowed_functions=allowed
        )
        return self._executor.run(statement)

    def cancel(self, run_id: Hashable, by: str) -> None:
        """Stops what was asked under this id."""
        self._executor.cancel(run_id, by)


def failed(error: str, at: datetime | None = None) -> Outcome:
    """A run of which no runner said how it ended."""
    return Outcome(Status.FAILED, error=error, executed_at=at)


def cancelled(by: str, at: datetime) -> Outcome:
    """That of a run that somebody stopped before it began."""
    return failed(f"cancelled by {by}", at)


def interrupted(run: Run, at: datetime) -> Outcome:
    """That of a run that a dead node left behind and that is not run again."""
    is_second = run.trigger is Trigger.SCHEDULE
    return failed(
        "interrupted twice, by crashes or restarts" if is_second else "interrupted by a restart", at
    )


def with_value(outcome: Outcome, run: Run, max_series: int) -> Outcome:
    """With the samples for its metrics, and the beginning of a result that is too long for a page."""
    if outcome.result_json is None:
        return outcome
    beginning = preview(outcome.result_json)
    if any(not metric.is_plain for metric in run.metrics):
        rows: Iterable[list[Any]] = all_rows(outcome.result_json)
    else:  # a number is looked for to the end; what a chart alone shows is not worth reading 10 MB
        rows = iter_rows(outcome.result_json if run.metrics else beginning.text)
    found = sample(run.metrics, outcome.columns, rows, outcome.binary, max_series)
    return replace(
        outcome,
        preview=None if beginning.is_whole else beginning.text,
        value=found.value,
        sampled=found.sampled,
        metric_problem=found.problem,
    )


class Recorder:
    """Group commit: one thread writes together all that came in while the last group was written.

    Whoever submits goes on at once, and is told when it is on the disk.
    """

    def __init__(
        self,
        recording: Recording,
        now: Callable[[], datetime],
        keeping: Callable[[], Keeping],
        on_recorded: Callable[[list[Ended], list[Execution | None]], None],
    ) -> None:
        self._recording = recording
        self._now = now
        self._keeping = keeping
        self._on_recorded = on_recorded
        self._waiting: deque[Ended] = deque()
        self._changed = threading.Condition()
        self._is_closing = self._is_busy = False
        self._thread = threading.Thread(target=self._work, name="scheduled-query-recorder", daemon=True)
        self._thread.start()

    def is_idle_while(self, condition: Callable[[], bool]) -> bool:
        """Whether all that was submitted is on the disk and told, while the condition holds, too."""
        with self._changed:
            return not (self._waiting or self._is_busy) and condition()

    def submit(self, run: Run, outcome: Outcome) -> None:
        with self._changed:
            self._waiting.append((run, outcome))
            self._changed.notify()

    def close(self, patience_s: float = 10.0) -> None:
        """Writes what is there and ends; what the store does not take is recovered at the next start."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join(patience_s)

    def _work(self) -> None:
        while group := self._next_group():
            self._record(group)

    def _next_group(self) -> list[Ended]:
        with self._changed:
            self._is_busy = False
            self._changed.wait_for(lambda: self._waiting or self._is_closing)
            self._is_busy = bool(self._waiting)
            return [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_AT_ONCE))]

    def _record(self, group: list[Ended]) -> None:
        recorded = self._until_written(group)
        if recorded is None:
            return
        try:
            self._on_recorded(group, recorded)
        except Exception:
            log.exception("after_recording_failed")

    def _until_written(self, group: list[Ended]) -> list[Execution | None] | None:
        """A store that is full or away gets the same group again: nothing vanishes while we live."""
        while True:
            try:
                return self._recording.record(group, self._now(), self._keeping())
            except Exception as error:
                log.error("record_failed", runs=len(group), error=error)
            with self._changed:
                if self._changed.wait_for(lambda: self._is_closing, RETRY_S):
                    return None
