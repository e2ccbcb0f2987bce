"""What an admin can do to plugins and server: one call and a redirect each."""

from collections import Counter
from functools import partial
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response
from starlette.background import BackgroundTask

from plugbay.admin.plugin_pages import requirements_of
from plugbay.admin.site import ADMINS, AdminSite, Site
from plugbay.plugins.service import PluginService
from plugbay.web import FlashMessage
from plugbay.web.requests import route_path

RESTARTING = "The server restarts. It finishes what it is doing first; this page comes back by itself."
RESTARTING_NOW = "The server restarts without waiting; this page comes back by itself."

router = APIRouter(include_in_schema=False, dependencies=[ADMINS])


@router.post("/plugins/{plugin_name}/toggle")
def toggle(request: Request, site: Site, plugin_name: str, wanted: Annotated[str, Form()] = "") -> Response:
    plugin = site.plugin(plugin_name)
    # our buttons say what they want: two clicks, or two admins, do not undo each other
    is_off_wanted = wanted == "disabled" if wanted else plugin.is_enabled
    change = PluginService.disable_plugin if is_off_wanted else PluginService.enable_plugin
    return site.back(request, change(plugin.name, site.host))


@router.post("/base_module/{plugin_name}/remove")
def remove(request: Request, site: Site, plugin_name: str) -> Response:
    plugin = site.plugin(plugin_name)
    answer = PluginService.remove_plugin(plugin.name, site.host)
    messages = [item for item in answer if isinstance(item, FlashMessage)]
    target = next(item for item in answer if isinstance(item, RedirectResponse))
    return site.to(request, target.headers["location"], *messages)


@router.post("/base_module/{plugin_name}/install-requirements")
def install(request: Request, site: Site, plugin_name: str) -> Response:
    plugin = site.plugin(plugin_name)
    run = partial(PluginService.install_module_requirements, plugin.name, site.host)
    if not any(line.is_missing for line in requirements_of(plugin)[0]):
        return site.back(request, run())
    site.installations.start(plugin.name, run)
    return site.to(request, quote(route_path(request.scope)))  # the same address shows how it goes


@router.get("/base_module/{plugin_name}/install-requirements")
def show_installation(request: Request, site: Site, plugin_name: str) -> Response:
    plugin = site.plugin(plugin_name)
    context = {"plugin": plugin, "installation": site.installations.latest(plugin.name)}
    name = "plugbay/admin/installation.html.j2"
    return site.host.templates.stream(request, name, site.context(request, context))


@router.post("/reload")
def reload(request: Request, site: Site) -> Response:
    return site.back(request, reloaded(site.host.reload()))


@router.post("/restart")
def restart(request: Request, site: Site) -> Response:
    return _restarting(site, request, RESTARTING)


@router.post("/restart/force")
def restart_by_force(request: Request, site: Site) -> Response:
    return _restarting(site, request, RESTARTING_NOW, force=True)


def _restarting(site: AdminSite, request: Request, told: str, force: bool = False) -> Response:
    restarter = site.host.restarter
    if obstacle := restarter.obstacle:
        return site.back(request, FlashMessage(obstacle, "warning"))
    restarter.request(force)
    answer = site.back(request, FlashMessage(told, "info"))
    answer.background = BackgroundTask(restarter.stop)  # a forced stop waits for no answer
    return answer


def reloaded(states: dict[str, str]) -> FlashMessage:
    """How a reload went, in one sentence."""
    counts = Counter(states.values())
    told = ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "no plugin found"
    has_trouble = counts["failed"] + counts["refused"] > 0
    return FlashMessage(f"Reloaded: {told}.", "warning" if has_trouble else "success")
