"""The list of plugins, and the overview of each."""

from collections import Counter
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from plugbay.admin import overview
from plugbay.admin.site import AdminSite
from plugbay.plugin import Plugin


def plugin_router(site: AdminSite) -> APIRouter:
    router = APIRouter()
    host = site.host

    @router.get("/plugins")
    def show_all(request: Request) -> Response:
        plugins = host.modules.all()
        context = {
            "rows": [_row(site, plugin) for plugin in plugins],
            "counts": Counter(plugin.state.value for plugin in plugins),
            "folders": [host.path_plugins, host.path_modules],
            "started_at": site.started_at,
        }
        return site.page(request, "plugins", context)

    @router.get("/base_module/{plugin_name}/overview")
    def show(request: Request, plugin_name: str, confirm: str = "") -> Response:
        context = {**_details(site, site.plugin(plugin_name)), "asks_removal": confirm == "remove"}
        return site.page(request, "overview", context)

    return router


def _row(site: AdminSite, plugin: Plugin) -> dict[str, Any]:
    return {
        "plugin": plugin,
        "source": plugin.source.distribution or overview.KINDS[plugin.source.kind],
        "has_settings": bool(plugin.module_class and plugin.module_class.module_settings),
        "description": overview.description_of(plugin),
        # of two with one name, the address leads to the first
        "is_double": not _is_listed(site, plugin),
    }


def _is_listed(site: AdminSite, plugin: Plugin) -> bool:
    return site.host.modules.get(plugin.name) is plugin


def _details(site: AdminSite, plugin: Plugin) -> dict[str, Any]:
    host = site.host
    declared, problem = overview.requirements_of(plugin)
    return {
        "plugin": plugin,
        "description": overview.description_of(plugin),
        "facts": overview.facts_of(plugin),
        "dependencies": overview.dependencies_of(host, plugin),
        "dependents": overview.dependents_of(host, plugin),
        "routes": overview.routes_of(host, plugin),
        "entries": host.menu.of_owner(plugin.name),
        "events": host.events.of_owner(plugin.name),
        "metrics": host.metrics.of_owner(plugin.name),
        "settings": overview.settings_lines(host, plugin),
        "requirements": declared,
        "requirements_problem": problem,
        "removal": overview.removal_of(host, plugin),
        "needed_by": host.modules.needed_by(plugin.name),
    }
