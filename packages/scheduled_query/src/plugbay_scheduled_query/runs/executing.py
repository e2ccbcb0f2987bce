"""A slice of runs: guard, runner, numbers for the gauges; and what came back, recorded in groups."""

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
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
from plugbay_scheduled_query.repository.pauses import Pause
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
    def run_slice(
        self,
        statements: Sequence[Statement],
        ended: Callable[[Statement, Outcome], object],
        returned: Callable[[list[tuple[Statement, str]]], object],
    ) -> None: ...
    def cancel(self, run_id: Hashable, by: str) -> bool: ...


class Sessions(Protocol):
    """Sees to sessions that did not end with their run, and knows the sources that are paused for one."""

    def pause_of(self, source_id: int) -> Pause | None: ...
    def look_after(self, source_id: int, target: Target, mark: str, title: str) -> None: ...


class Executing:
    """Turns runs into outcomes."""

    def __init__(
        self,
        clock: Clock,
        targets: Targets,
        executor: Executor,
        settings: Callable[[], Settings],
        sessions: Sessions,
    ) -> None:
        self._clock = clock
        self._targets = targets
        self._executor = executor
        self._settings = settings
        self._sessions = sessions

    def execute(
        self,
        runs: Sequence[Run],
        ended: Callable[[Run, Outcome], object],
        returned: Callable[[list[tuple[Run, str]]], object],
        stopped_by: Callable[[], str] = str,
    ) -> None:
        """Executes runs of one source one after the other, and tells the outcome of each at once.

        Everything that can go wrong with a query becomes its status here, and is nobody else's trouble. Those
        behind one that takes its time come back, each with who cancelled it.
        """
        this = _Slice(self._clock, runs, ended, returned, self._settings().max_series)
        try:
            if statements := self._statements(this, stopped_by):
                self._executor.run_slice(statements, this.end, this.give_back)
        except Exception as error:
            log.exception("execution_failed", query=runs[0].query_name)
            this.end_all(failed(f"internal error: {type(error).__name__}"))

    def ask(
        self,
        run_id: Hashable,
        source_id: int,
        sql: str,
        timeout: int | None = None,
        stopped_by: Callable[[], str] = str,
    ) -> Outcome:
        """Guard, then runner, for whoever wants to see what comes of a text: Try it."""
        try:
            target = self._open_target(source_id)
        except SourceProblem as problem:
            return failed(str(problem))
        on_left = self._look_after(source_id, target, "Try it")
        limit_s = self._limit_s(timeout)
        asked = Statement(run_id, target, sql, limit_s, stopped_by=stopped_by, on_left=on_left)
        statement = _guarded(asked, self._settings())
        return statement if isinstance(statement, Outcome) else self._executor.run(statement)

    def _open_target(self, source_id: int) -> Target:
        """Where a source is; raises SourceProblem when it cannot be asked, or not now."""
        target = self._targets.target(source_id)
        if pause := self._sessions.pause_of(source_id):
            raise SourceProblem(pause.reason)
        return target

    def _look_after(self, source_id: int, target: Target, title: str) -> Callable[[str], object]:
        return lambda mark: self._sessions.look_after(source_id, target, mark, title)

    def _statements(self, this: "_Slice", stopped_by: Callable[[], str]) -> list[Statement]:
        """What the guard lets through; the others have ended."""
        runs, settings, found = [*this.open.values()], self._settings(), []
        try:
            target = self._open_target(runs[0].source_id)
        except SourceProblem as problem:
            this.end_all(failed(str(problem)))
            return []
        for run in runs:
            asked = Statement(
                run.id,
                target,
                run.sql,
                self._limit_s(run.timeout),
                stopped_by=stopped_by,
                on_left=self._look_after(run.source_id, target, run.query_name),
            )
            statement = failed(run.problem) if run.problem else _guarded(asked, settings)
            if isinstance(statement, Outcome):
                this.end(asked, statement)
            else:
                found.append(statement)
        return found

    def _limit_s(self, timeout: int | None) -> int:
        settings = self._settings()
        return chosen_limit_s(timeout, settings.query_timeout, settings.query_timeout_max)

    def cancel(self, run_id: Hashable, by: str) -> None:
        """Stops what was asked under this id."""
        self._executor.cancel(run_id, by)


class _Slice:
    """Runs of one source that one worker executes in turn: which of them are open, and when each began."""

    def __init__(
        self,
        clock: Clock,
        runs: Iterable[Run],
        ended: Callable[[Run, Outcome], object],
        returned: Callable[[list[tuple[Run, str]]], object],
        max_series: int,
    ) -> None:
        self.open: dict[Hashable, Run] = {run.id: run for run in runs}
        self._clock = clock
        self._ended = ended
        self._returned = returned
        self._max_series = max_series
        self._begin()

    def end(self, statement: Statement, outcome: Outcome) -> None:
        """Tells what came of one; the next begins."""
        self._end(self.open.pop(statement.run_id), outcome)

    def give_back(self, left: list[tuple[Statement, str]]) -> None:
        """These have not begun."""
        self._returned([(self.open.pop(statement.run_id), by) for statement, by in left])

    def end_all(self, outcome: Outcome) -> None:
        """The same came of all that are open."""
        while self.open:
            self._end(self.open.popitem()[1], outcome)

    def _end(self, run: Run, outcome: Outcome) -> None:
        duration_ms = outcome.duration_ms or round((self._clock.monotonic() - self._began) * 1000)
        began = replace(outcome, executed_at=self._began_at, duration_ms=duration_ms)
        self._begin()
        self._ended(run, self._sampled(began, run))

    def _sampled(self, outcome: Outcome, run: Run) -> Outcome:
        try:
            return with_value(outcome, run, self._max_series)
        except Exception as error:  # the fault of one result, and nobody else's
            log.exception("execution_failed", query=run.query_name)
            return failed(f"internal error: {type(error).__name__}", outcome.executed_at)

    def _begin(self) -> None:
        self._began_at, self._began = self._clock.now(), self._clock.monotonic()


def _guarded(statement: Statement, settings: Settings) -> Statement | Outcome:
    """The statement with its limits; or why it is not sent."""
    rules = settings.rules
    verdict = check(statement.sql, statement.target.language, rules)
    if isinstance(verdict, Rejection):
        return replace(failed(f"rejected: {verdict.reason}"), rejection=verdict)
    return replace(statement, caps=settings.caps, allowed_functions=rules.allowed_functions)


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
