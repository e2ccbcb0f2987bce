"""Installs a plugin's requirements, and shows the installer's output as it comes."""

from functools import partial
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response

from plugbay.admin.installation import Installations
from plugbay.admin.overview import requirements_of
from plugbay.admin.site import AdminSite
from plugbay.plugin_service import PluginService
from plugbay.web.paths import route_path


def requirement_router(site: AdminSite) -> APIRouter:
    router = APIRouter()
    host = site.host
    installations = Installations()

    @router.post("/base_module/{plugin_name}/install-requirements")
    def install(request: Request, plugin_name: str) -> Response:
        plugin = site.plugin(plugin_name)
        run = partial(PluginService.install_module_requirements, plugin.name, host)
        if not any(line.is_missing for line in requirements_of(plugin)[0]):
            return site.back(request, run())
        installations.start(plugin.name, run)
        return site.to(request, quote(route_path(request.scope)))  # the same address shows how it goes

    @router.get("/base_module/{plugin_name}/install-requirements")
    def show(request: Request, plugin_name: str) -> Response:
        plugin = site.plugin(plugin_name)
        context = {"plugin": plugin, "installation": installations.latest(plugin.name)}
        name = "plugbay/admin/installation.html.j2"
        return host.templates.stream(request, name, site.context(request, context))

    return router
