"""Who asks, and may they? Login, roles, tokens, CSRF and security headers."""

from plugbay.auth.commands import add_user, create_token, ensure_first_admin
from plugbay.auth.csrf import CsrfTokens
from plugbay.auth.errors import AccountError
from plugbay.auth.guard import Guard
from plugbay.auth.local import LocalAuthManager
from plugbay.auth.manager import AuthManager
from plugbay.auth.markers import open_to_all, open_to_viewers
from plugbay.auth.marks import user_of
from plugbay.auth.middleware import SecurityMiddleware
from plugbay.auth.origin import refuse_cross_site_get
from plugbay.auth.roles import CurrentUser, require_role
from plugbay.auth.routers import auth_routers
from plugbay.auth.user import ROLES, Role, User

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
    "add_user",
    "auth_routers",
    "create_token",
    "ensure_first_admin",
    "open_to_all",
    "open_to_viewers",
    "refuse_cross_site_get",
    "require_role",
    "user_of",
]
