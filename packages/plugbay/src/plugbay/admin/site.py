"""What all admin pages share: where they stand, how a plugin is found, and the way back."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fastapi import HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from plugbay.auth import user_of
from plugbay.errors import UnknownPlugin
from plugbay.flash import FlashMessage, flash
from plugbay.plugin import Plugin
from plugbay.web.paths import came_from, route_path, url_below_root

if TYPE_CHECKING:
    from plugbay.host import Plugbay


class AdminSite:
    """The host as the admin pages see it."""

    def __init__(self, host: "Plugbay") -> None:
        self.host = host
        self.base = host.config.admin_base_url or ""
        self.list_path = f"{self.base}/plugins"
        self.started_at = host.clock.now()

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
