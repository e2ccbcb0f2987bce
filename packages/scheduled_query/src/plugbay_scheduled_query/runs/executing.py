"""One execution: guard, run, value for the gauge. A run goes in, a finished run comes out."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from plugbay import Clock, get_logger

from plugbay_scheduled_query.core.errors import SourceProblem
from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.core.metric import gauge_value, snapshot
from plugbay_scheduled_query.core.model import Outcome, Result, Status, Trigger
from plugbay_scheduled_query.core.results import iter_rows, preview
from plugbay_scheduled_query.core.source import Target
from plugbay_scheduled_query.dialects import check
from plugbay_scheduled_query.executor import Statement
from plugbay_scheduled_query.executor.time_limit import chosen_limit_s
from plugbay_scheduled_query.repository.claims import ClaimedRun
from plugbay_scheduled_query.repository.recording import Finished
from plugbay_scheduled_query.settings import Settings

REJECTED = "rejected: "

log = get_logger(__name__)


class Targets(Protocol):
    """Knows where each source is."""

    def target(self, source_id: int) -> Target: ...


class Runs(Protocol):
    """Runs SQL somewhere safe."""

    def run(self, statement: Statement) -> Outcome: ...


@dataclass(frozen=True)
class Answer:
    """How asking ended; a rejected text was never sent."""

    outcome: Outcome
    rejection: Rejection | None = None


class Executing:
    """Turns a claimed run into a finished one."""

    def __init__(
        self, clock: Clock, targets: Targets, executor: Runs, settings: Callable[[], Settings]
    ) -> None:
        self._clock = clock
        self._targets = targets
        self._executor = executor
        self._settings = settings

    def execute(self, claimed: ClaimedRun, stopped_by: Callable[[], str] = str) -> Finished:
        """Everything that can go wrong with a query is its status, and nobody else's trouble."""
        started_at, started = self._clock.now(), self._clock.monotonic()
        if claimed.problem:
            return _failed(claimed, started_at, claimed.problem)
        try:
            answer = self.ask(claimed.id, claimed.source_id, claimed.sql, claimed.timeout, stopped_by)
            elapsed_ms = round((self._clock.monotonic() - started) * 1000)
            return finish(claimed, answer, started_at, answer.outcome.duration_ms or elapsed_ms)
        except Exception as error:
            log.exception("execution_failed", query=claimed.query_name)
            return _failed(claimed, started_at, f"internal error: {type(error).__name__}")

    def ask(
        self,
        run_id: Hashable,
        source_id: int,
        sql: str,
        timeout: int | None = None,
        stopped_by: Callable[[], str] = str,
    ) -> Answer:
        """Guard, then runner: also what Try it does."""
        settings = self._settings()
        try:
            target = self._targets.target(source_id)
        except SourceProblem as problem:
            return Answer(Outcome(Status.FAILED, error=str(problem)))
        verdict = check(sql, target.language, settings.rules)
        if isinstance(verdict, Rejection):
            return Answer(Outcome(Status.FAILED, error=f"{REJECTED}{verdict.reason}"), verdict)
        limit_s = chosen_limit_s(timeout, settings.query_timeout, settings.query_timeout_max)
        statement = Statement(run_id, target, sql, limit_s, settings.caps, stopped_by=stopped_by)
        return Answer(self._executor.run(statement))


def finish(claimed: ClaimedRun, answer: Answer, executed_at: datetime, duration_ms: int) -> Finished:
    """What is to be kept of a run: its status, its result, the number for its gauge."""
    outcome = answer.outcome
    result, shown, value = None, None, None
    if outcome.status is Status.SUCCESS and outcome.result_json is not None:
        result = Result(
            columns=outcome.columns,
            text=outcome.result_json,
            row_count=outcome.row_count,
            truncated=outcome.truncated,
        )
        beginning = preview(result.text)
        shown = None if beginning.is_whole else beginning.text
        # a gauge's value is looked for to the end; what a chart alone shows is not worth reading 10 MB
        value = gauge_value(iter_rows(result.text if claimed.metric else beginning.text))
    return Finished(
        claimed=claimed,
        executed_at=executed_at,
        duration_ms=duration_ms,
        status=outcome.status,
        error=outcome.error,
        result=result,
        preview=shown,
        metric_value=value,
        rejection=answer.rejection,
        snapshot=snapshot(claimed.metric, value) if claimed.metric and value is not None else None,
    )


def cancelled(claimed: ClaimedRun, by: str, now: datetime) -> Finished:
    """A run that somebody stopped before it began."""
    return _failed(claimed, now, f"cancelled by {by}")


def interrupted(claimed: ClaimedRun, now: datetime) -> Finished:
    """A run that a dead node left behind and that is not run again."""
    twice = claimed.run.trigger is Trigger.SCHEDULE
    return _failed(
        claimed, now, "interrupted twice, by crashes or restarts" if twice else "interrupted by a restart"
    )


def _failed(claimed: ClaimedRun, now: datetime, error: str) -> Finished:
    return Finished(claimed=claimed, executed_at=now, duration_ms=0, status=Status.FAILED, error=error)
