"""The plugin base class: all that a plugin can say about itself, and when the host calls it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fastapi import APIRouter

if TYPE_CHECKING:
    from plugbay.host import Plugbay


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
    """The pages and endpoints, mounted behind the host's login."""
    module_mount_url: str | None = None
    """Where they stand: None is `/<name>`, the empty string is the root."""
    module_path: Path | None = None
    """The folder of `templates/`, `static/`, `migrations/`, `requirements.txt`; None: where the class is."""

    def on_load(self) -> None:
        """Called once when the module is loaded, with its settings and tables in place. Required."""
        raise NotImplementedError

    def on_load_complete(self, fast_pluggy: "Plugbay") -> None:
        """Called when all plugins are loaded: the time to meet the others."""

    def after_setup_templates(self, fast_pluggy: "Plugbay") -> None:
        """Called when the template environment is set up: the time to add filters and globals."""

    def on_unload(self) -> None:
        """Called when the module is taken out of service or the server stops: stop what you started."""
