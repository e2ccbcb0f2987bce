"""The engine's counters as Prometheus text."""

from collections.abc import Iterable, Mapping

from plugbay import metric_header, metric_sample

from plugbay_task_worker.engine import EngineStats, JobStats, TaskStats

Sample = tuple[Mapping[str, str], float]

TASK_COUNTERS = {
    "plugbay_task_runs_total": ("Calls of a periodic task.", "runs"),
    "plugbay_task_failures_total": ("Calls of a periodic task that raised.", "failures"),
    "plugbay_task_skipped_total": ("Ticks that came while the task was still at work.", "skipped"),
    "plugbay_task_missed_total": ("Ticks that nobody was awake for.", "missed"),
    "plugbay_task_seconds_total": ("Time spent in a periodic task.", "seconds_total"),
    "plugbay_task_lateness_seconds_total": ("Time from tick to call, added up.", "lateness_total_s"),
}
JOB_COUNTERS = {
    "plugbay_job_runs_total": ("Calls for a job.", "runs"),
    "plugbay_job_failures_total": ("Calls for a job that raised.", "failures"),
    "plugbay_job_cancelled_total": ("Jobs that were cancelled.", "cancelled"),
    "plugbay_job_returned_total": ("Jobs that were handed back undone.", "returned"),
    "plugbay_job_seconds_total": ("Time spent in jobs.", "seconds_total"),
}


def metrics_text(stats: EngineStats) -> str:
    """All there is to measure, in the text format 0.0.4."""
    tasks = [
        _metric(name, text, [(_task_labels(task), getattr(task, field)) for task in stats.tasks], "counter")
        for name, (text, field) in TASK_COUNTERS.items()
    ]
    jobs = [
        _metric(name, text, [(_job_labels(job), getattr(job, field)) for job in stats.jobs], "counter")
        for name, (text, field) in JOB_COUNTERS.items()
    ]
    return "".join([*tasks, _last_runs(stats), *jobs, *_gauges(stats)])


def _last_runs(stats: EngineStats) -> str:
    samples = [(_task_labels(task), task.last_at.timestamp()) for task in stats.tasks if task.last_at]
    text = "When a periodic task was last called in this process."
    return _metric("plugbay_task_last_run_timestamp_seconds", text, samples)


def _gauges(stats: EngineStats) -> list[str]:
    running = sum(job.kind == "job" for job in stats.running)
    return [
        _metric("plugbay_jobs_queued", "Jobs that wait for a worker.", [({}, stats.queued)]),
        _metric("plugbay_jobs_running", "Jobs at work.", [({}, running)]),
        _metric("plugbay_job_workers", "Jobs that may be at work at once.", [({}, stats.workers)]),
    ]


def _task_labels(task: TaskStats) -> dict[str, str]:
    return {"owner": task.owner, "task": task.name}


def _job_labels(job: JobStats) -> dict[str, str]:
    return {"owner": job.owner, "job": job.name}


def _metric(name: str, text: str, samples: Iterable[Sample], kind: str = "gauge") -> str:
    lines = [metric_sample(name, labels, value) for labels, value in samples]
    return metric_header(name, text, kind) + "".join(lines) if lines else ""
