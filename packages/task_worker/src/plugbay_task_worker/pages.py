"""The admin's page: what is registered, what runs, what ran; call a task now, cancel a job."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from plugbay import CurrentUser, FlashMessage, Plugbay, flash, require_role
from plugbay.web import host_of, url_below_root

from plugbay_task_worker.engine import Engine

LONGEST_PAYLOAD = 120  # characters: a row of a table, not a page
UNITS = ((86_400, "d", "day"), (3600, "h", "hour"), (60, "min", "minute"), (1, "s", "second"))

router = APIRouter(include_in_schema=False, dependencies=[require_role("admin")])


async def engine_of(request: Request) -> Engine:
    """The engine of the host that was asked."""
    # these pages are served only while the plugin is loaded
    engine: Engine = host_of(request).get_module("task_worker").engine
    return engine


CurrentEngine = Annotated[Engine, Depends(engine_of)]


@router.get("/")
def show_tasks(request: Request, engine: CurrentEngine) -> Response:
    return _page(request, engine, "tasks")


@router.get("/live")
def show_live_part(request: Request, engine: CurrentEngine) -> Response:
    return _page(request, engine, "live")


@router.post("/tasks/{owner}/{name}/run")
def run_task(request: Request, engine: CurrentEngine, owner: str, name: str) -> Response:
    if not any((task.owner, task.name) == (owner, name) for task in engine.stats().tasks):
        raise HTTPException(404)
    if engine.run_task(owner, name):
        return _back(request, FlashMessage(f"{name} is being called."))
    return _back(request, FlashMessage(f"{name} is already at work.", "warning"))


@router.post("/jobs/{job_id}/cancel")
def cancel_job(request: Request, engine: CurrentEngine, job_id: str, user: CurrentUser) -> Response:
    if engine.cancel(job_id, f"cancelled by {user.name}"):
        return _back(request, FlashMessage("The job was asked to stop."))
    return _back(request, FlashMessage("That job is no longer running.", "warning"))


def period_words(seconds: int) -> str:
    """How often: `every minute`, `every 5 min`, `every 90 s`."""
    size, short, long = next(unit for unit in UNITS if seconds % unit[0] == 0)
    count = seconds // size
    return f"every {long}" if count == 1 else f"every {count} {short}"


def duration_words(seconds: float) -> str:
    """How long: `0.4 ms`, `318 ms`, `1.2 s`, `3 min 20 s`."""
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def distance_words(when: datetime, now: datetime) -> str:
    """How far away: `12 s ago`, `in 3 min`, `now`."""
    seconds = (when - now).total_seconds()
    far = abs(seconds)
    size, short, _ = next((unit for unit in UNITS if far >= unit[0]), UNITS[-1])
    count = int(far // size)
    if not count:
        return "now"
    return f"in {count} {short}" if seconds > 0 else f"{count} {short} ago"


def payload_words(values: Mapping[str, Any]) -> str:
    """A payload in one short line."""
    text = json.dumps(values, ensure_ascii=False)
    return text if len(text) <= LONGEST_PAYLOAD else text[: LONGEST_PAYLOAD - 1] + "…"


WORDS = {
    "period_words": period_words,
    "duration_words": duration_words,
    "distance_words": distance_words,
    "payload_words": payload_words,
}


def _page(request: Request, engine: Engine, name: str) -> Response:
    host: Plugbay = host_of(request)
    context = {"stats": engine.stats(), "now": host.clock.now(), **WORDS}
    return host.templates.response(request, f"task_worker/{name}.html.j2", context)


def _back(request: Request, message: FlashMessage) -> Response:
    flash(request, message)
    return RedirectResponse(url_below_root(request, "/task_worker/"), 303)
