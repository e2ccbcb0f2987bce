"""The admin pages: each action is one call of the plugin service and a redirect."""

from fastapi import APIRouter

from plugbay.admin import actions, menu_pages, plugin_pages, settings_form
from plugbay.admin.site import AdminSite
from plugbay.menu import MenuManager

__all__ = ["AdminSite", "admin_routers"]

ENTRIES = (("Plugins", "plugins", "fas fa-puzzle-piece", -1), ("Menu", "menu", "fas fa-bars", 1))


def admin_routers(base: str, menu: MenuManager) -> list[tuple[APIRouter, str]]:
    """All admin pages, below the path that the configuration gives them, with their menu entries."""
    for label, page, icon, position in ENTRIES:
        url = f"{base}/{page}"
        menu.add("plugbay", label, url, icon=icon, menu_type="admin", role="admin", position=position)
    return [(room.router, base) for room in (plugin_pages, settings_form, actions, menu_pages)]
