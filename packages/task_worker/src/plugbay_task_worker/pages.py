"""The admin's page: what is registered, what runs, what ran; call a task now, cancel a job."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from plugbay import CurrentUser, FlashMessage, flash, require_role

from plugbay_task_worker import wording
from plugbay_task_worker.engine import Engine

if TYPE_CHECKING:
    from plugbay import Plugbay


def tasks_router(engine: Callable[[], Engine], host: Callable[[], "Plugbay"]) -> APIRouter:
    """`/task_worker/` and its two actions."""
    router = APIRouter(include_in_schema=False, dependencies=[require_role("admin")])

    def page(request: Request, name: str) -> Response:
        context: dict[str, Any] = {"stats": engine().stats(), "now": host().clock.now(), "say": wording}
        return host().templates.response(request, f"task_worker/{name}.html.j2", context)

    def back(request: Request, message: FlashMessage) -> Response:
        flash(request, message)
        return RedirectResponse(f"{request.scope.get('root_path', '').rstrip('/')}/task_worker/", 303)

    @router.get("/")
    def show(request: Request) -> Response:
        return page(request, "tasks")

    @router.get("/live")
    def show_live_part(request: Request) -> Response:
        return page(request, "live")

    @router.post("/tasks/{owner}/{name}/run")
    def run_task(request: Request, owner: str, name: str) -> Response:
        if not any((task.owner, task.name) == (owner, name) for task in engine().stats().tasks):
            raise HTTPException(404)
        if engine().run_task(owner, name):
            return back(request, FlashMessage(f"{name} is being called."))
        return back(request, FlashMessage(f"{name} is already at work.", "warning"))

    @router.post("/jobs/{job_id}/cancel")
    def cancel_job(request: Request, job_id: str, user: CurrentUser) -> Response:
        if engine().cancel(job_id, f"cancelled by {user.name}"):
            return back(request, FlashMessage("The job was asked to stop."))
        return back(request, FlashMessage("That job is no longer running.", "warning"))

    return router
