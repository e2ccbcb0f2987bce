"""The routes that authentication brings: which ones depends on who manages it."""

from typing import TYPE_CHECKING

from fastapi import APIRouter

from plugbay.auth.account_pages import account_router
from plugbay.auth.local import LocalAuthManager
from plugbay.auth.login_pages import login_router, logout_router
from plugbay.auth.users_pages import users_router

if TYPE_CHECKING:
    from plugbay.host import Plugbay


def auth_routers(host: "Plugbay") -> list[APIRouter]:
    """For the guard to stand before: the login page says itself that it is open."""
    routers = [logout_router(host)]
    if isinstance(host.auth, LocalAuthManager):
        routers += [login_router(host, host.auth), account_router(host, host.auth)]
        host.menu.add("plugbay", "Account", "/account", icon="fas fa-user", menu_type="user")
        if host.config.admin_enabled:
            routers.append(users_router(host, host.auth))
            host.menu.add(
                "plugbay",
                "Users",
                f"{host.config.admin_base_url}/users",
                icon="fas fa-users",
                menu_type="admin",
                role="admin",
            )
    return routers
