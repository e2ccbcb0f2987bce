"""What an admin can do to a plugin; each operation answers with a message for them."""

import shutil
from collections.abc import Callable
from importlib.metadata import requires
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi.responses import RedirectResponse
from packaging.requirements import Requirement

from plugbay import requirements
from plugbay.errors import PlugbayError, PluginRefused
from plugbay.flash import FlashMessage
from plugbay.logs import get_logger
from plugbay.plugin import Plugin

if TYPE_CHECKING:
    from plugbay.host import Plugbay

log = get_logger(__name__)


class PluginService:
    """The four operations, for pages and for programs alike."""

    @staticmethod
    def enable_plugin(plugin_name: str, fast_pluggy: "Plugbay") -> FlashMessage:
        """Enables the plugin and loads it at once."""
        plugin = fast_pluggy.modules.enable(plugin_name)
        if plugin.is_loaded:
            return FlashMessage(f"{plugin_name} is enabled.")
        return FlashMessage(f"{plugin_name} is enabled, but {plugin.state.value}: {plugin.reason}", "error")

    @staticmethod
    def disable_plugin(plugin_name: str, fast_pluggy: "Plugbay") -> FlashMessage:
        """Disables the plugin and takes back all it contributed; its tables stay."""
        try:
            plugin = fast_pluggy.modules.disable(plugin_name)
        except PluginRefused as error:
            return FlashMessage(f"{error}.", "error")
        if plugin.reason:
            return FlashMessage(f"{plugin_name} is disabled, but its {plugin.reason}.", "warning")
        return FlashMessage(f"{plugin_name} is disabled. Its tables stay in the store.")

    @staticmethod
    def install_module_requirements(
        module_name: str, fast_pluggy: "Plugbay", on_line: Callable[[str], None] | None = None
    ) -> FlashMessage:
        """Installs what the plugin declares and this Python lacks."""
        plugin = fast_pluggy.modules.get(module_name)
        try:
            lacking = requirements.missing(declared_requirements(plugin))
            if not lacking:
                return FlashMessage(f"{module_name} has all that it needs.", "info")
            requirements.install(lacking, on_line)
        except PlugbayError as error:
            return FlashMessage(str(error), "error")
        return FlashMessage(f"Installed for {module_name}: {', '.join(map(str, lacking))}. Reload to use it.")

    @staticmethod
    def remove_plugin(plugin_name: str, fast_pluggy: "Plugbay") -> list[FlashMessage | RedirectResponse]:
        """Disables the plugin and deletes its folder; an installed package is only disabled."""
        plugin = fast_pluggy.modules.get(plugin_name)
        to_list = RedirectResponse(f"{fast_pluggy.config.admin_base_url}/plugins", status_code=303)
        try:
            return [*_remove(plugin, fast_pluggy), to_list]
        except (PlugbayError, OSError) as error:
            return [FlashMessage(f"{plugin_name} was not removed: {error}", "error"), to_list]


def declared_requirements(plugin: Plugin) -> list[Requirement]:
    """What a plugin says that it needs: in its requirements.txt, or as an installed package."""
    if plugin.source.folder:
        return requirements.declared(plugin.source.folder)
    lines = (plugin.source.distribution and requires(plugin.source.distribution)) or []
    return [need for need in map(Requirement, lines) if "extra" not in str(need.marker or "")]


def _remove(plugin: Plugin, host: "Plugbay") -> list[FlashMessage]:
    folder = plugin.source.folder
    if folder is None:
        host.modules.disable(plugin.name)
        command = f"pip uninstall {plugin.source.distribution}"
        text = f"{plugin.name} is an installed package: it is disabled. To uninstall it: {command}"
        return [FlashMessage(text, "warning")]
    if folder.parent not in (host.path_plugins, host.path_modules):
        return [FlashMessage(f"{folder} is not directly in a plugin folder: nothing was deleted.", "error")]
    host.modules.disable(plugin.name)
    _delete(folder)
    host.modules.forget(plugin.name)
    log.info("plugin_removed", plugin=plugin.name, folder=folder)
    return [FlashMessage(f"{plugin.name} is removed. Its tables stay in the store.")]


def _delete(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()  # what it points to belongs to somebody else
    elif folder.exists():
        shutil.rmtree(folder)
