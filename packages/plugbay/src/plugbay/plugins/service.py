"""What is done to plugins from outside: by an admin, and by other processes on the same store."""

import shutil
import threading
from collections.abc import Callable
from importlib.metadata import requires
from pathlib import Path
from typing import Protocol

from fastapi.responses import RedirectResponse
from packaging.requirements import Requirement

from plugbay.clock import StoreClock
from plugbay.errors import PlugbayError, PluginRefused, StoreError
from plugbay.logs import get_logger
from plugbay.plugins import Plugin, requirements
from plugbay.plugins.activation import PluginHost
from plugbay.plugins.manager import ModuleManager
from plugbay.web import FlashMessage

LOOK_EVERY_S = 2.0  # no sooner does an admin who pressed a button look at another process

log = get_logger(__name__)


class ManagedHost(PluginHost, Protocol):
    """A host with its plugins, and the folders that they are found in."""

    modules: ModuleManager
    path_plugins: Path
    path_modules: Path


class PluginService:
    """The four operations, for pages and for programs alike."""

    @staticmethod
    def enable_plugin(plugin_name: str, fast_pluggy: ManagedHost) -> FlashMessage:
        """Enables the plugin and loads it at once."""
        plugin = fast_pluggy.modules.enable(plugin_name)
        if plugin.is_loaded:
            return FlashMessage(f"{plugin_name} is enabled.")
        return FlashMessage(f"{plugin_name} is enabled, but {plugin.state.value}: {plugin.reason}", "error")

    @staticmethod
    def disable_plugin(plugin_name: str, fast_pluggy: ManagedHost) -> FlashMessage:
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
        module_name: str, fast_pluggy: ManagedHost, on_line: Callable[[str], None] | None = None
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
    def remove_plugin(plugin_name: str, fast_pluggy: ManagedHost) -> list[FlashMessage | RedirectResponse]:
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


def _remove(plugin: Plugin, host: ManagedHost) -> list[FlashMessage]:
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


class StoreFollower:
    """Sees what other processes on the same store do to plugins, and tells them what is done here.

    A thread looks at one small table; only when a number in it has grown is anything compared.
    """

    def __init__(self, host: ManagedHost) -> None:
        self._host = host
        self._seen = host.records.changes()
        self._is_blind = False
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._stopped.clear()
        self._thread = threading.Thread(target=self._watch, name="plugbay-follower", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread and self._thread is not threading.current_thread():
            self._thread.join(LOOK_EVERY_S)

    def reload(self) -> dict[str, str]:
        """Loads all plugins anew, here and in the other processes."""
        modules = self._host.modules
        with modules.lock:
            states = modules.reload(self._host.path_plugins, self._host.path_modules)
            self._seen["reload"] = self._host.records.note_reload()
            return states

    def look(self) -> None:
        """Puts into effect what changed since the last look; a store that is away is asked again."""
        try:
            if isinstance(self._host.clock, StoreClock):
                self._host.clock.follow()
            if self._host.records.changes() != self._seen:
                self._follow()
            self._is_blind = False
        except StoreError as error:
            if not self._is_blind:
                log.warning("changes_not_seen", reason=error)
            self._is_blind = True

    def _follow(self) -> None:
        with self._host.modules.lock:
            if self._stopped.is_set():
                return  # while we waited for the lock, all plugins were unloaded for good
            before, self._seen = self._seen, self._host.records.changes()
            try:
                changed = self._catch_up(self._seen["reload"] != before["reload"])
            except StoreError:
                self._seen = before
                raise
        for name in changed:
            log.info("settings_followed", plugin=name)
            self._host.events.emit_lifecycle("settings_changed", name=name)

    def _catch_up(self, was_reloaded: bool) -> list[str]:
        """Does to the plugins here what was done to them elsewhere; returns whose settings are new."""
        modules = self._host.modules
        if was_reloaded:
            log.info("reload_followed")
            modules.reload(self._host.path_plugins, self._host.path_modules)
        modules.follow_switches(self._host.records.switches())
        return modules.follow_settings()

    def _watch(self) -> None:
        while not self._stopped.wait(LOOK_EVERY_S):
            try:
                self.look()
            except Exception:
                log.exception("following_failed")
