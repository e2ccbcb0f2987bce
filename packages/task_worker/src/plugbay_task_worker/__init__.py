"""Periodic tasks and background jobs for Plugbay plugins."""

from plugbay_task_worker.engine import URGENT, Engine, EngineStats, StopReport
from plugbay_task_worker.job import Job, JobState

__all__ = ["URGENT", "Engine", "EngineStats", "Job", "JobState", "StopReport"]
