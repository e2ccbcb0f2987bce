"""The admin pages: each action is one call of the plugin service and a redirect."""

from typing import TYPE_CHECKING

from fastapi import APIRouter

from plugbay.auth import require_role

if TYPE_CHECKING:
    from plugbay.host import Plugbay


def admin_router(host: "Plugbay") -> APIRouter:
    """All admin pages, under the path that the configuration gives them."""
    return APIRouter(prefix=host.config.admin_base_url or "", dependencies=[require_role("admin")])
