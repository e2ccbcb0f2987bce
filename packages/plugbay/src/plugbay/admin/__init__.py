"""The admin pages: each action is one call of the plugin service and a redirect."""

from typing import TYPE_CHECKING

from fastapi import APIRouter

from plugbay.admin.actions import action_router
from plugbay.admin.menu_pages import menu_router
from plugbay.admin.plugin_pages import plugin_router
from plugbay.admin.requirement_pages import requirement_router
from plugbay.admin.settings_pages import settings_router
from plugbay.admin.site import AdminSite
from plugbay.auth import require_role

if TYPE_CHECKING:
    from plugbay.host import Plugbay

PARTS = (plugin_router, settings_router, requirement_router, action_router, menu_router)
ENTRIES = (("Plugins", "plugins", "fas fa-puzzle-piece", -1), ("Menu", "menu", "fas fa-bars", 1))


def admin_router(host: "Plugbay") -> APIRouter:
    """All admin pages, under the path that the configuration gives them, with their menu entries."""
    site = AdminSite(host)
    router = APIRouter(prefix=site.base, include_in_schema=False, dependencies=[require_role("admin")])
    for part in PARTS:
        router.include_router(part(site))
    for label, page, icon, position in ENTRIES:
        url = f"{site.base}/{page}"
        host.menu.add("plugbay", label, url, icon=icon, menu_type="admin", role="admin", position=position)
    return router
