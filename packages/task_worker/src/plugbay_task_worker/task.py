"""A periodic task and how it has been doing."""

from dataclasses import dataclass
from datetime import datetime

from plugbay import get_logger

from plugbay_task_worker.engine import JobView, TaskStats
from plugbay_task_worker.job import Call, Job, JobState

log = get_logger(__name__)


@dataclass(slots=True, eq=False)
class Task:
    """What is called again and again, but never twice at a time."""

    owner: str
    name: str
    seconds: int
    call: Call
    at_start: bool = False
    is_busy: bool = False
    last: JobView | None = None
    runs: int = 0
    failures: int = 0
    skipped: int = 0
    missed: int = 0
    seconds_total: float = 0.0
    lateness_total_s: float = 0.0

    def reserve(self) -> bool:
        """Makes the task busy; False if it already is, and its tick goes by."""
        if self.is_busy:
            self.skipped += 1
            log.warning("tick_skipped", owner=self.owner, name=self.name, reason="still at work")
            return False
        self.is_busy = True
        return True

    def end(self, job: Job) -> None:
        """Takes down what became of a call."""
        self.is_busy = False
        if job.started_at is None:
            return
        self.last = JobView.of(job)
        self.runs += 1
        self.failures += job.state is JobState.FAILED
        self.missed += job.missed
        self.seconds_total += job.duration_s
        self.lateness_total_s += max(0.0, (job.started_at - job.due_at).total_seconds())

    def stats(self, next_at: datetime | None) -> TaskStats:
        return TaskStats(
            owner=self.owner,
            name=self.name,
            seconds=self.seconds,
            running=self.is_busy,
            next_at=next_at,
            last_at=self.last.started_at if self.last else None,
            last_duration_s=self.last.duration_s if self.last else 0.0,
            last_error=self.last.error if self.last else "",
            runs=self.runs,
            failures=self.failures,
            skipped=self.skipped,
            missed=self.missed,
            seconds_total=self.seconds_total,
            lateness_total_s=self.lateness_total_s,
        )
