"""A plugin host for FastAPI applications: the names that plugins and applications may import."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plugbay.auth import (
        AuthManager,
        CurrentUser,
        User,
        open_to_all,
        open_to_viewers,
        refuse_cross_site_get,
        require_role,
        runs,
    )
    from plugbay.base_module import BaseModule, Host
    from plugbay.cli.options import data_dir_option, opened_host
    from plugbay.clock import Clock, SystemClock
    from plugbay.errors import InvalidConfig, OperatorError, PlugbayError, PluginRefused, SecretUnreadable
    from plugbay.events import Event, EventBus
    from plugbay.host import Plugbay
    from plugbay.logs import get_logger
    from plugbay.metrics import metric_header, metric_sample
    from plugbay.plugins.service import PluginService
    from plugbay.secrets import Secrets
    from plugbay.settings import FormHint, HostConfig
    from plugbay.store import Store, UntilChanged, UTCDateTime, after_commit, new_metadata
    from plugbay.web import FlashMessage, flash

__all__ = [
    "AuthManager",
    "BaseModule",
    "Clock",
    "CurrentUser",
    "Event",
    "EventBus",
    "FlashMessage",
    "FormHint",
    "Host",
    "HostConfig",
    "InvalidConfig",
    "OperatorError",
    "Plugbay",
    "PlugbayError",
    "PluginRefused",
    "PluginService",
    "SecretUnreadable",
    "Secrets",
    "Store",
    "SystemClock",
    "UTCDateTime",
    "UntilChanged",
    "User",
    "after_commit",
    "data_dir_option",
    "flash",
    "get_logger",
    "metric_header",
    "metric_sample",
    "new_metadata",
    "open_to_all",
    "open_to_viewers",
    "opened_host",
    "refuse_cross_site_get",
    "require_role",
    "runs",
]

_ROOMS = {
    "auth": [
        "AuthManager",
        "CurrentUser",
        "User",
        "open_to_all",
        "open_to_viewers",
        "refuse_cross_site_get",
        "require_role",
        "runs",
    ],
    "base_module": ["BaseModule", "Host"],
    "cli.options": ["data_dir_option", "opened_host"],
    "clock": ["Clock", "SystemClock"],
    "errors": ["InvalidConfig", "OperatorError", "PlugbayError", "PluginRefused", "SecretUnreadable"],
    "events": ["Event", "EventBus"],
    "host": ["Plugbay"],
    "logs": ["get_logger"],
    "metrics": ["metric_header", "metric_sample"],
    "plugins.service": ["PluginService"],
    "secrets": ["Secrets"],
    "settings": ["FormHint", "HostConfig"],
    "store": ["Store", "UTCDateTime", "UntilChanged", "after_commit", "new_metadata"],
    "web": ["FlashMessage", "flash"],
}


def __getattr__(name: str) -> Any:
    """Each name is imported when it is first asked for: `plugbay cron` need not wait for a web framework."""
    for room, names in _ROOMS.items():
        if name in names:
            return getattr(import_module(f"plugbay.{room}"), name)
    raise AttributeError(f"module 'plugbay' has no attribute {name!r}")
