"""Periodic tasks and background jobs for Plugbay plugins."""

from plugbay_task_worker.engine import URGENT, Engine, EngineStats, Job, JobState, StopReport

__all__ = ["URGENT", "Engine", "EngineStats", "Job", "JobState", "StopReport"]
