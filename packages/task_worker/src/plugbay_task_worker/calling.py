"""Makes one call and says how it ended, whatever it raises."""

import asyncio
import inspect
from collections.abc import Coroutine
from typing import Any

from plugbay import get_logger

from plugbay_task_worker.job import Job

log = get_logger(__name__)


def make_call(job: Job) -> str:
    """Calls, awaits what is awaitable, and returns the error in words; empty when all went well."""
    try:
        result = job.call(job)
        if inspect.iscoroutine(result):
            asyncio.run(_until_cancelled(job, result))
    except BaseException as error:  # a SystemExit of a plugin must not cost the engine a thread
        if job.cancelled:
            log.info("cancelled", kind=job.kind, owner=job.owner, name=job.name, reason=job.cancel_reason)
        else:
            event = f"{job.kind}_failed"
            log.exception(event, owner=job.owner, name=job.name, job=job.id, error=describe(error))
        return describe(error)
    return ""


def describe(error: BaseException) -> str:
    """An exception in one line: its kind and, if it has one, its message."""
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


async def _until_cancelled(job: Job, work: Coroutine[Any, Any, object]) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    with job.on_cancel(lambda: loop.call_soon_threadsafe(task.cancel)):
        await task
