"""A plugin host for FastAPI applications: the names that plugins and applications may import."""

from plugbay.auth import AuthManager, CurrentUser, User, open_to_all, refuse_cross_site_get, require_role
from plugbay.base_module import BaseModule
from plugbay.clock import Clock, SystemClock
from plugbay.config import HostConfig
from plugbay.errors import InvalidConfig, OperatorError, PlugbayError, PluginRefused, SecretUnreadable
from plugbay.events import Event, EventBus
from plugbay.flash import FlashMessage, flash
from plugbay.host import Plugbay
from plugbay.logs import get_logger
from plugbay.plugin_service import PluginService
from plugbay.store import Store, UTCDateTime, new_metadata

__all__ = [
    "AuthManager",
    "BaseModule",
    "Clock",
    "CurrentUser",
    "Event",
    "EventBus",
    "FlashMessage",
    "HostConfig",
    "InvalidConfig",
    "OperatorError",
    "Plugbay",
    "PlugbayError",
    "PluginRefused",
    "PluginService",
    "SecretUnreadable",
    "Store",
    "SystemClock",
    "UTCDateTime",
    "User",
    "flash",
    "get_logger",
    "new_metadata",
    "open_to_all",
    "refuse_cross_site_get",
    "require_role",
]
