"""The plugin: brings macros, filters and the browser's part to every page, and shows them in a gallery."""

import json
from typing import ClassVar, Literal

from plugbay import BaseModule, Plugbay

from plugbay_ui_tools import gallery
from plugbay_ui_tools.cron_words import describe_cron
from plugbay_ui_tools.filters import FILTERS
from plugbay_ui_tools.macros import Toolbox


class UiTools(BaseModule):
    """Tables, counters, charts, an SQL editor and more for the pages of all plugins."""

    module_name = "ui_tools"
    module_version = "0.0.4"
    extra_css_files: ClassVar[list[str]] = ["dist/ui.css"]
    extra_js_files: ClassVar[list[str]] = ["dist/ui.js"]

    describe_cron = staticmethod(describe_cron)

    def on_load(self) -> None:
        self.module_router = gallery.router

    def on_load_complete(self, fast_pluggy: Plugbay) -> None:
        """The gallery is for developers; others reach it by its address."""
        if fast_pluggy.config.debug:
            icon = "fas fa-swatchbook"
            fast_pluggy.menu.add(
                "ui_tools", "UI gallery", "/ui_tools/", icon=icon, menu_type="admin", role="admin"
            )

    def after_setup_templates(self, fast_pluggy: Plugbay) -> None:
        for name, function in FILTERS.items():
            fast_pluggy.templates.add_filter("ui_tools", name, function)
        fast_pluggy.templates.add_global("ui_tools", "ui_tools", Toolbox(fast_pluggy.clock))

    @staticmethod
    def toast(text: str, level: Literal["success", "info", "warning", "error"] = "info") -> dict[str, str]:
        """The headers that make a response to htmx show a message in the corner."""
        return {"HX-Trigger": json.dumps({"toast": {"text": text, "level": level}})}
