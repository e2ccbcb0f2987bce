"""The admin pages: what all of them share, and the host as they see it."""

from collections.abc import Mapping
from typing import Annotated, Any, Protocol

from fastapi import HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from plugbay.auth import require_role, user_of
from plugbay.errors import UnknownPlugin
from plugbay.menu import MenuManager
from plugbay.plugins import Plugin
from plugbay.plugins.requirements import Installations
from plugbay.plugins.service import ManagedHost
from plugbay.server import Restarter
from plugbay.web import FlashMessage, came_from, flash, from_host, url_below_root
from plugbay.web.requests import route_path

ADMINS = require_role("admin")
MENU_ENTRIES = (("Plugins", "plugins", "fas fa-puzzle-piece", -1), ("Menu", "menu", "fas fa-bars", 1))


class AdminHost(ManagedHost, Protocol):
    """What the admin pages need of the host."""

    restarter: Restarter

    def reload(self) -> dict[str, str]: ...


class AdminSite:
    """The host as the admin pages see it."""

    def __init__(self, host: AdminHost) -> None:
        self.host = host
        self.base = host.config.admin_base_url or ""
        self.list_path = f"{self.base}/plugins"
        self.started_at = host.clock.now()
        self.installations = Installations()

    def plugin(self, name: str) -> Plugin:
        """The plugin of that name, or 404."""
        try:
            return self.host.modules.get(name)
        except UnknownPlugin as error:
            raise HTTPException(404, str(error)) from None

    def context(self, request: Request, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What every admin page needs; each page of a plugin belongs to the menu's entry for plugins."""
        path = route_path(request.scope)
        here = self.list_path if path.startswith(f"{self.base}/base_module/") else path
        return {
            "base": self.base,
            "menu": self.host.menu.sections(user_of(request), here),
            "is_restarting": self.host.restarter.is_requested,
            **(more or {}),
        }

    def page(
        self, request: Request, name: str, context: Mapping[str, Any], status_code: int = 200
    ) -> HTMLResponse:
        template = f"plugbay/admin/{name}.html.j2"
        return self.host.templates.response(request, template, self.context(request, context), status_code)

    def back(self, request: Request, *messages: FlashMessage) -> RedirectResponse:
        """To the page that the visitor came from, with messages."""
        flash(request, *messages)
        return RedirectResponse(came_from(request) or url_below_root(request, self.list_path), 303)

    def to(self, request: Request, path: str, *messages: FlashMessage) -> RedirectResponse:
        """To a page of ours, with messages."""
        flash(request, *messages)
        return RedirectResponse(url_below_root(request, path), 303)


def add_menu_entries(menu: MenuManager, base: str) -> None:
    """The entries of the admin pages, which stand below `base`."""
    for label, page, icon, position in MENU_ENTRIES:
        url = f"{base}/{page}"
        menu.add("plugbay", label, url, icon=icon, menu_type="admin", role="admin", position=position)


Site = Annotated[AdminSite, from_host("admin")]
