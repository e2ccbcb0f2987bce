"""Every way in for a plugin: what it says of itself, when the host calls it, and what the host has for it.

`BaseModule` is the class of every plugin, `Host` what its hooks are given. Two ways lead past both:
a command is a click command behind an entry point in the group `plugbay.commands`, and what stands beside the
class in `templates/`, `static/`, `migrations/versions/` and `requirements.txt` is picked up by itself.
"""

from pathlib import Path
from typing import Any, ClassVar, Protocol

from fastapi import APIRouter

from plugbay.clock import Clock
from plugbay.events import EventBus
from plugbay.health import HealthRegistry
from plugbay.menu import MenuManager
from plugbay.metrics import MetricsRegistry
from plugbay.secrets import Secrets
from plugbay.settings import HostConfig
from plugbay.store import Store
from plugbay.web.pages import StaticFiles, Templates

ENTRY_POINT_GROUP = "plugbay.plugins"
"""How an installed package brings a plugin: `name = "package.module:Class"` in this group of entry points."""


class BaseModule:
    """A plugin is a subclass of this with `on_load`; everything else has a default."""

    module_name: str | None = ""
    """The plugin's name; empty: that of its folder or entry point."""
    module_version: str | None = "0.0.0"
    """Its version (PEP 440), which others may require in their `depends_on`."""
    module_settings: Any | None = None
    """A pydantic model class; on the loaded module, its current values."""
    depends_on: ClassVar[dict[str, str]] = {}
    """Plugin name to version constraint, such as `{"task_worker": ">=0.3.0"}`."""
    module_menu_name: str = ""
    """The label of the menu entry; empty: no entry of its own."""
    module_menu_icon: str = "fas fa-cube"
    """The Font Awesome classes of its icon."""
    module_menu_type: str | None = "main"
    """Where the entry stands: `main`, `admin`, `user` or `none`."""
    extra_js_files: ClassVar[list[str]] = []
    """Scripts for every page: paths under the plugin's `static/` folder, or URLs of this server."""
    extra_css_files: ClassVar[list[str]] = []
    """Style sheets for every page, likewise."""
    module_router: APIRouter | None = None
    """The pages and endpoints, mounted behind the host's login; `require_role`, `runs`, `open_to_viewers` and
    `open_to_all` on a route say who may use it."""
    module_mount_url: str | None = None
    """Where they stand: None is `/<name>`, the empty string is the root."""
    module_path: Path | None = None
    """The folder of `templates/`, `static/`, `migrations/`, `requirements.txt`; None: where the class is."""

    def on_load(self) -> None:
        """Called once when the module is loaded, with its settings and tables in place. Required."""
        raise NotImplementedError

    def on_load_complete(self, fast_pluggy: Any) -> None:
        """Called with the host when all plugins are loaded: the time to meet the others."""

    def after_setup_templates(self, fast_pluggy: Any) -> None:
        """Called with the host when its templates are set up: the time to add filters and globals."""

    def on_unload(self) -> None:
        """Called when the module is taken out of service or the server stops: stop what you started."""


class Host(Protocol):
    """What the hooks get as `fast_pluggy`; all that is added under an owner's name is taken back with it."""

    store: Store
    """Tables, made by `migrations/versions/` before `on_load`: `begin()` to write, `connect()` to read."""
    secrets: Secrets
    """`encrypt(text)` and `decrypt(token)`; `add(owner, column)` names the column that keeps the tokens."""
    events: EventBus
    """`on(name, listener, owner)` to hear of something, `emit(name, **data)` to tell of it, `post` to have it
    told without waiting for anybody."""
    menu: MenuManager
    """`add(owner, label, url)` for entries beside that of `module_menu_name`."""
    templates: Templates
    """`response(request, name, context)` makes a page; `add_filter` and `add_global` take an owner first, and
    `add_to_header(owner, template)` puts a small template of yours into the header of every page."""
    static: StaticFiles
    """`url(owner, path)` of a file in `static/`, by its hashed name if it was built."""
    metrics: MetricsRegistry
    """`add(owner, text)`: a function that returns lines for `/metrics`, as `metric_sample` writes them."""
    health: HealthRegistry
    """`add(owner, check)`: a function that returns None, or for `/readyz` a sentence on what is wrong."""
    config: HostConfig
    """The host's own configuration."""
    clock: Clock
    """The time, `now()` and `monotonic()`: tests bring their own."""
    data_dir: Path
    """The folder for files that must outlive the process."""

    def get_module(self, name: str) -> BaseModule | None:
        """The loaded module of another plugin, or None."""
        ...
