"""Who asks, and may they? Login, roles, tokens, CSRF and security headers."""

from fastapi import APIRouter

from plugbay.auth.browser_security import CsrfTokens, refuse_cross_site_get
from plugbay.auth.guard import (
    AuthManager,
    Guard,
    SecurityMiddleware,
    behind_login,
    open_to_all,
    open_to_viewers,
    runs,
    scrapes,
)
from plugbay.auth.local import (
    LocalAuthManager,
    accounts_of,
    add_user,
    create_token,
    ensure_first_admin,
    set_password,
    tokens_of,
)
from plugbay.auth.pages import ACCOUNT, account_router, login_router, logout_router, users_path, users_router
from plugbay.auth.roles import ROLES, CurrentUser, Role, User, require_role, user_of
from plugbay.errors import AccountError
from plugbay.menu import MenuManager
from plugbay.settings import HostConfig

Mounted = tuple[APIRouter, str]  # and the path that it stands below

__all__ = [
    "ROLES",
    "AccountError",
    "AuthManager",
    "CsrfTokens",
    "CurrentUser",
    "Guard",
    "LocalAuthManager",
    "Role",
    "SecurityMiddleware",
    "User",
    "accounts_of",
    "add_user",
    "auth_routers",
    "behind_login",
    "create_token",
    "ensure_first_admin",
    "open_to_all",
    "open_to_viewers",
    "refuse_cross_site_get",
    "require_role",
    "runs",
    "scrapes",
    "set_password",
    "tokens_of",
    "user_of",
]


def auth_routers(manager: AuthManager, config: HostConfig, menu: MenuManager) -> list[Mounted]:
    """The routers of this manager and where they stand; the login page says itself that it is open."""
    routers: list[Mounted] = [(logout_router, "")]
    if isinstance(manager, LocalAuthManager):
        routers += [(login_router, ""), (account_router, "")]
        menu.add("plugbay", "Account", ACCOUNT, icon="fas fa-user", menu_type="user")
        if config.admin_enabled:
            url = users_path(config)
            routers.append((users_router, url))
            menu.add("plugbay", "Users", url, icon="fas fa-users", menu_type="admin", role="admin")
    return routers
