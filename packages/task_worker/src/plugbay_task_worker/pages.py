"""The admin's page: what is registered, what runs, what ran; call a task now, cancel a job."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from plugbay import CurrentUser, FlashMessage, Plugbay, flash, get_logger, require_role
from plugbay.web import host_of, plain_integer, url_below_root

from plugbay_task_worker.engine import Engine, JobView

ROWS = 25  # of what ran, on a page
MOST_SUBJECTS = 5  # of one job that are named; the others are counted
LONGEST_PAYLOAD = 120  # characters: a row of a table, not a page
UNITS = ((86_400, "d", "day"), (3600, "h", "hour"), (60, "min", "minute"), (1, "s", "second"))

Subjects = Sequence[tuple[str, str]]
"""What a job is about: titles, each with the path of its page."""
Describe = Callable[[Sequence[Mapping[str, Any]]], Sequence[Subjects]]
"""From the payloads of several jobs to what each of them is about."""

log = get_logger(__name__)

router = APIRouter(include_in_schema=False, dependencies=[require_role("admin")])


async def engine_of(request: Request) -> Engine:
    """The engine of the host that was asked."""
    # these pages are served only while the plugin is loaded
    engine: Engine = host_of(request).get_module("task_worker").engine
    return engine


CurrentEngine = Annotated[Engine, Depends(engine_of)]


class Describers:
    """What jobs are about, in the words of their owners: asked only when somebody looks at the page."""

    def __init__(self) -> None:
        self._by_name: dict[tuple[str, str], Describe] = {}

    def add(self, owner: str, name: str, describe: Describe) -> None:
        self._by_name[owner, name] = describe

    def remove_owner(self, owner: str) -> None:
        self._by_name = {key: call for key, call in self._by_name.items() if key[0] != owner}

    def describe(self, jobs: Sequence[JobView]) -> dict[str, Subjects]:
        """What each of these is about, by its id; who fails to say is left out."""
        found: dict[str, Subjects] = {}
        for key, call in list(self._by_name.items()):
            mine = [job for job in jobs if job.kind == "job" and (job.owner, job.name) == key]
            try:
                told = call([job.payload for job in mine]) if mine else []
            except Exception:
                log.exception("describing_failed", owner=key[0], name=key[1])
                continue
            found |= {job.id: subjects for job, subjects in zip(mine, told, strict=False)}
        return found


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
    stats = engine.stats()
    page = min(_page_number(request), max(1, -(-len(stats.recent) // ROWS)))
    recent = stats.recent[(page - 1) * ROWS : page * ROWS]
    describers: Describers = host.get_module("task_worker").describers  # type: ignore[union-attr]
    about = describers.describe([*stats.running, *recent])
    shown = {"stats": stats, "recent": recent, "page": page, "rows": ROWS, "about": about}
    context = {**shown, "most": MOST_SUBJECTS, "now": host.clock.now(), **WORDS}
    return host.templates.response(request, f"task_worker/{name}.html.j2", context)


def _page_number(request: Request) -> int:
    try:
        return max(1, plain_integer(request.query_params.get("page", "1")))
    except ValueError:
        return 1


def _back(request: Request, message: FlashMessage) -> Response:
    flash(request, message)
    return RedirectResponse(url_below_root(request, "/task_worker/"), 303)
