"""What an admin can do to plugins and server: one call and a redirect each."""

from collections import Counter
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from starlette.background import BackgroundTask

from plugbay.admin.site import AdminSite
from plugbay.flash import FlashMessage
from plugbay.plugin_service import PluginService

RESTARTING = "The server restarts. It finishes what it is doing first; this page comes back by itself."
RESTARTING_NOW = "The server restarts without waiting; this page comes back by itself."


def action_router(site: AdminSite) -> APIRouter:
    router = APIRouter()
    host = site.host

    @router.post("/plugins/{plugin_name}/toggle")
    def toggle(request: Request, plugin_name: str, wanted: Annotated[str, Form()] = "") -> Response:
        plugin = site.plugin(plugin_name)
        # our buttons say what they want: two clicks, or two admins, do not undo each other
        is_off_wanted = wanted == "disabled" if wanted else plugin.is_enabled
        change = PluginService.disable_plugin if is_off_wanted else PluginService.enable_plugin
        return site.back(request, change(plugin.name, host))

    @router.post("/base_module/{plugin_name}/remove")
    def remove(request: Request, plugin_name: str) -> Response:
        plugin = site.plugin(plugin_name)
        answer = PluginService.remove_plugin(plugin.name, host)
        messages = [item for item in answer if isinstance(item, FlashMessage)]
        target = next(item for item in answer if isinstance(item, RedirectResponse))
        return site.to(request, target.headers["location"], *messages)

    @router.post("/reload")
    def reload(request: Request) -> Response:
        return site.back(request, reloaded(host.reload()))

    def restarting(request: Request, told: str, force: bool = False) -> Response:
        if obstacle := host.restarter.obstacle:
            return site.back(request, FlashMessage(obstacle, "warning"))
        host.restarter.request(force)
        answer = site.back(request, FlashMessage(told, "info"))
        answer.background = BackgroundTask(host.restarter.stop)  # a forced stop waits for no answer
        return answer

    @router.post("/restart")
    def restart(request: Request) -> Response:
        return restarting(request, RESTARTING)

    @router.post("/restart/force")
    def restart_by_force(request: Request) -> Response:
        return restarting(request, RESTARTING_NOW, force=True)

    return router


def reloaded(states: dict[str, str]) -> FlashMessage:
    """How a reload went, in one sentence."""
    counts = Counter(states.values())
    told = ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "no plugin found"
    has_trouble = counts["failed"] + counts["refused"] > 0
    return FlashMessage(f"Reloaded: {told}.", "warning" if has_trouble else "success")
