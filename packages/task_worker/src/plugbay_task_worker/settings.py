"""The settings of the task worker; each can be set by an environment variable `TASK_WORKER_<FIELD>`."""

from pydantic import BaseModel, Field


class TaskWorkerSettings(BaseModel):
    workers: int = Field(16, ge=1, le=256, description="Jobs that may run at the same time in one process.")
    task_workers: int = Field(
        16,
        ge=2,
        le=256,
        description="Tasks and timers that may run at the same time in one process.",
    )
    recent_jobs: int = Field(
        100,
        ge=0,
        le=1000,
        description="Finished jobs that the page shows, until the process ends.",
    )
