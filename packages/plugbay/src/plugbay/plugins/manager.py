"""Knows every plugin that was found: loads them in order, enables, disables and reloads them."""

import os
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from fastapi.routing import RouteContext
from jinja2 import BaseLoader, FileSystemLoader

from plugbay.base_module import BaseModule
from plugbay.errors import OperatorError, PluginRefused, UnknownPlugin
from plugbay.logs import get_logger
from plugbay.plugins import Plugin, PluginState, Switch
from plugbay.plugins.activation import Activation, PluginHost
from plugbay.plugins.discovery import NAME_RULE, PluginSource, find_in_folder, find_installed, is_valid_name
from plugbay.plugins.load_order import dependents, plan_load, unmet
from plugbay.plugins.routes import RouteTable

log = get_logger(__name__)


class ModuleManager:
    """The host's one place for loading and unloading; every change holds one lock."""

    def __init__(self, host: PluginHost, routes: RouteTable) -> None:
        self._host = host
        self._routes = routes
        self._activation = Activation(host, routes)
        self._plugins: dict[str, Plugin] = {}
        self._doubles: list[Plugin] = []
        self._more_folders: list[tuple[Path, Literal["plugin", "domain"]]] = []
        self.lock = threading.RLock()
        self._is_loading = False

    # the specified methods

    def discover_plugins(self, folder: str | Path, module_type: Literal["plugin", "domain"]) -> list[Plugin]:
        """Finds the plugins of a folder, now and at each reload; nothing is imported yet."""
        if module_type not in ("plugin", "domain"):
            raise ValueError(f"module_type must be 'plugin' or 'domain', not {module_type!r}")
        path = Path(folder).absolute()
        found = [self._card(source) for source in find_in_folder(path, module_type)]
        self._more_folders.append((path, module_type))
        self._list(found)
        return found

    def initialize_plugins_in_order(self) -> dict[str, str]:
        """Loads what is found and enabled, dependencies first; returns the state of every plugin by name."""
        with self.lock, self._loading():
            for plugin in [p for p in self._plugins.values() if p.state is PluginState.FOUND]:
                if self._has_valid_place(plugin):
                    self._read_code(plugin)
            arrivals = [plugin for plugin in self._in_load_order() if self._load(plugin)]
            self._set_up_templates(arrivals)
            self._complete(arrivals)
            return {plugin.name: plugin.state.value for plugin in self._plugins.values()}

    def is_module_loaded(self, module_or_name: BaseModule | str) -> bool:
        """Whether the module, or the plugin of that name, is enabled and loaded."""
        return any(module_or_name in (plugin.name, plugin.module) for plugin in self.loaded())

    def register_all_routes(self) -> None:
        """Serves the routes of the host and of exactly the modules that are loaded."""
        others = [item for item in self._routes.contributions if item.owner not in self._plugins]
        ours = [self._activation.contribution(plugin) for plugin in self.loaded()]
        for plugin in self.loaded():
            plugin.open_requests.open()
        self._routes.replace([*others, *filter(None, ours)])

    def get_template_loaders(self) -> dict[str, BaseLoader]:
        """The template loader of each loaded module that has templates."""
        folders = {plugin.name: (plugin.folder or Path()) / "templates" for plugin in self.loaded()}
        return {name: FileSystemLoader(path) for name, path in folders.items() if path.is_dir()}

    def execute_all_module_hook(self, hook_name: str, require_loaded: bool = True) -> None:
        """Calls a hook with the host on every module that has it; one that fails is taken out."""
        for plugin in self.all():
            if hasattr(plugin.module, hook_name) and (plugin.is_loaded or not require_loaded):
                self._activation.call_hook(plugin, hook_name)

    # reading

    def all(self) -> list[Plugin]:
        """Every plugin that was found, by name; at the end, those whose name another has."""
        return [*sorted(self._plugins.values(), key=lambda plugin: plugin.name), *self._doubles]

    def loaded(self) -> list[Plugin]:
        """The loaded ones, in the order of loading."""
        loaded = [plugin for plugin in self._plugins.values() if plugin.is_loaded]
        return sorted(loaded, key=lambda plugin: plugin.load_number)

    def get(self, name: str) -> Plugin:
        try:
            return self._plugins[name]
        except KeyError:
            raise UnknownPlugin(name=name) from None

    def is_in_folder(self, name: str) -> bool:
        """Whether there is such a plugin, and it comes from a folder, not from an installed package."""
        plugin = self._plugins.get(name)
        return plugin is not None and plugin.source.folder is not None

    def has_waiting(self) -> bool:
        """Whether there are plugins that were found, or unloaded, and wait to be loaded."""
        return any(plugin.state is PluginState.FOUND for plugin in self._plugins.values())

    def needed_by(self, name: str) -> list[str]:
        """The loaded plugins that depend on this one."""
        return dependents(name, [plugin.candidate for plugin in self.loaded()])

    def routes_of(self, name: str) -> list[RouteContext]:
        """The routes that a plugin contributes, with their full paths."""
        return self._routes.of_owner(name)

    @property
    def operator_error(self) -> OperatorError | None:
        """The first mistake in the environment that kept a plugin from loading."""
        return self._activation.operator_error

    # changing

    def discover_all(self, path_plugins: Path, path_modules: Path) -> None:
        """Looks in both folders and at the installed packages; the first of a name wins."""
        self._list(self._find_all(path_plugins, path_modules))

    def enable(self, name: str) -> Plugin:
        """Loads a disabled plugin, and those that were refused for want of it."""
        with self.lock:
            plugin = self.get(name)
            self._host.records.set_enabled(plugin.name, plugin.source.place, True)
            if plugin.is_loaded:
                return plugin  # those that depend on it hold on to this very module
            self._bring_in([plugin])
            return plugin

    def disable(self, name: str) -> Plugin:
        """Takes a plugin out of service, now and at the next start."""
        with self.lock:
            plugin = self.get(name)
            if needed_by := self.needed_by(name):
                which = "that" if len(needed_by) == 1 else "those"
                reason = f"{name} is needed by {', '.join(needed_by)}: disable {which} first"
                raise PluginRefused(reason=reason)
            self._host.records.set_enabled(plugin.name, plugin.source.place, False)
            self._activation.unload(plugin, PluginState.DISABLED)
            self._host.templates.set_loaders(self.get_template_loaders())
            return plugin

    def forget(self, name: str) -> None:
        """Takes a plugin out of service and off the list."""
        with self.lock:
            self.disable(name)
            self._host.records.forget(name)
            self._drop(name)

    def reload(self, path_plugins: Path, path_modules: Path) -> dict[str, str]:
        """Unloads everything, looks for plugins anew and loads them."""
        with self.lock:
            if self._is_loading:  # a hook asks for it: each reload would bring the next
                raise PluginRefused(reason="plugins cannot be reloaded while they are being loaded")
            found = self._find_all(path_plugins, path_modules)  # a store that is away takes nobody out
            self.unload_all()
            self._plugins, self._doubles = {}, []
            self._list(found)
            return self.initialize_plugins_in_order()

    def unload_all(self) -> None:
        """Takes every plugin out of service, the last loaded first."""
        with self.lock:
            for plugin in reversed(self.loaded()):
                self._activation.unload(plugin)

    def save_settings(self, name: str, changes: dict[str, Any], resets: Collection[str] = ()) -> None:
        """Keeps these values, forgets those of `resets`, and puts it into effect at once."""
        with self.lock:
            plugin = self.get(name)
            model = plugin.module_class.module_settings if plugin.module_class else None
            if model is None:
                raise PluginRefused(reason=f"{name} has no settings")
            self._host.records.save_settings(name, model, changes, resets)
            if plugin.module:
                self._activation.load_settings(plugin)
        self._host.events.emit_lifecycle("settings_changed", name=name)

    # following what another process did

    def follow_switches(self, switches: Mapping[str, Switch]) -> None:
        """Switches plugins as the store says; what needs one that is off is refused, as after a restart."""
        with self.lock:
            for plugin in [p for p in self._plugins.values() if switches.get(p.name) is Switch.REMOVED]:
                if plugin.source.folder and not os.path.lexists(plugin.source.folder):
                    self._take_out([plugin])
                    self._drop(plugin.name)
            off = {name for name, switch in switches.items() if switch is Switch.OFF}
            self._take_out([p for p in self._plugins.values() if p.is_enabled and p.name in off])
            on = [p for p in self._plugins.values() if not p.is_enabled and p.name not in off]
            self._bring_in(on)

    def follow_settings(self) -> list[str]:
        """Puts stored settings into effect that are new here; returns whose they are."""
        with self.lock:
            behind = [p for p in self._plugins.values() if self._activation.is_behind(p)]
            followed = [p.name for p in behind if p.is_loaded and self._activation.refresh(p)]
            # a setting may have been just what they lacked
            self._bring_in([p for p in behind if p.state is PluginState.FAILED])
            return followed

    def _take_out(self, plugins: Collection[Plugin]) -> None:
        """Disables them, and unloads first what needs them."""
        names = {plugin.name for plugin in plugins}
        leaving = set(names)
        for plugin in self.loaded():  # what is needed comes first
            if leaving & plugin.depends_on.keys():
                leaving.add(plugin.name)
        for plugin in [*reversed(self.loaded()), *(p for p in plugins if not p.is_loaded)]:
            if plugin.name in leaving:
                state = PluginState.DISABLED if plugin.name in names else PluginState.FOUND
                self._activation.unload(plugin, state)
        if leaving:
            self.initialize_plugins_in_order()

    def _bring_in(self, plugins: Collection[Plugin]) -> None:
        """Loads them, and those that were refused, perhaps for want of them."""
        if not plugins:
            return
        for plugin in [p for p in self._plugins.values() if p in plugins or p.state is PluginState.REFUSED]:
            self._activation.unload(plugin)
        self.initialize_plugins_in_order()

    def _drop(self, name: str) -> None:
        self._plugins = {key: plugin for key, plugin in self._plugins.items() if key != name}
        self._let_follow(name)

    # the steps of loading

    @contextmanager
    def _loading(self) -> Iterator[None]:
        outer, self._is_loading = self._is_loading, True
        try:
            yield
        finally:
            self._is_loading = outer

    def _find_all(self, path_plugins: Path, path_modules: Path) -> list[Plugin]:
        """Looks everywhere; the same place is found once."""
        sources = [*find_in_folder(path_plugins, "plugin"), *find_in_folder(path_modules, "domain")]
        sources += find_installed()
        for folder, module_type in self._more_folders:
            sources += find_in_folder(folder, module_type)
        return [self._card(source) for source in dict.fromkeys(sources)]

    def _card(self, source: PluginSource) -> Plugin:
        """The plugin as the store knows it."""
        plugin = Plugin(source, self._host.records.name_of(source.place) or source.name)
        self._heed_switch(plugin)
        return plugin

    def _heed_switch(self, plugin: Plugin) -> None:
        if plugin.state is PluginState.FOUND and not self._host.records.is_enabled(plugin.name):
            plugin.settle(PluginState.DISABLED)

    def _list(self, plugins: Collection[Plugin]) -> None:
        for plugin in plugins:
            self._has_valid_place(plugin)
            self._take_name(plugin, plugin.name)

    def _has_valid_place(self, plugin: Plugin) -> bool:
        """Refuses a plugin whose folder or entry point has a name that no plugin can have."""
        if is_valid_name(plugin.source.name):
            return True
        self._activation.refuse(plugin, f"{plugin.source.described}: {NAME_RULE}")
        return False

    def _take_name(self, plugin: Plugin, name: str) -> None:
        """Lists the plugin under its name; the second of one name is refused, naming both places."""
        self._plugins = {key: other for key, other in self._plugins.items() if other is not plugin}
        plugin.name = name
        if first := self._plugins.get(name):
            both = f"{first.source.described} and {plugin.source.described}"
            self._activation.refuse(plugin, f"two plugins are named {name}: {both}; the first is used")
            self._doubles.append(plugin)
            return
        self._plugins = {**self._plugins, name: plugin}  # a new one: pages under way read the old one

    def _let_follow(self, name: str) -> None:
        """The next plugin of a name that became free is in its place, as it would be after a restart."""
        heir = next((plugin for plugin in self._doubles if plugin.name == name), None)
        if heir:
            self._doubles = [plugin for plugin in self._doubles if plugin is not heir]
            heir.settle(PluginState.FOUND)
            self._take_name(heir, name)
            self._heed_switch(heir)
            self.initialize_plugins_in_order()

    def _read_code(self, plugin: Plugin) -> None:
        """Imports it; its own `module_name` wins over the name of its folder or entry point."""
        self._activation.read_code(plugin)
        name = plugin.module_class.module_name if plugin.module_class else None
        if not name or plugin.state is not PluginState.FOUND or name == plugin.name:
            return
        if not is_valid_name(name):
            self._activation.refuse(plugin, f"its module_name is {name!r}: {NAME_RULE}")
            return
        self._take_name(plugin, name)
        with self._activation.contained(plugin, "import"):
            self._heed_switch(plugin)

    def _in_load_order(self) -> list[Plugin]:
        """Those that can be loaded now; the others are refused with the reason."""
        ready = [p for p in self._plugins.values() if p.is_loaded or p.state is PluginState.FOUND]
        absent = {p.name: p.state.as_predicate for p in self._plugins.values() if p not in ready}
        plan = plan_load([plugin.candidate for plugin in ready], absent)
        for name, reason in plan.refusals.items():
            self._activation.refuse(self._plugins[name], reason)
        return [self._plugins[name] for name in plan.order if not self._plugins[name].is_loaded]

    def _load(self, plugin: Plugin) -> bool:
        """Loads one plugin, unless something that it needs failed just before."""
        if reason := self._lack_of(plugin):
            self._activation.refuse(plugin, reason)
            return False
        return self._activation.load(plugin)

    def _lack_of(self, plugin: Plugin) -> str | None:
        known = {other.name: other.candidate for other in self.loaded()}
        absent = {p.name: p.state.as_predicate for p in self._plugins.values() if not p.is_loaded}
        return unmet(plugin.candidate, known, absent)

    def _set_up_templates(self, arrivals: list[Plugin]) -> None:
        self._host.templates.set_loaders(self.get_template_loaders())
        for plugin in arrivals:  # what the others added is still there
            if plugin.is_loaded:
                self._activation.call_hook(plugin, "after_setup_templates")
        self._host.events.emit_lifecycle("templates_ready")

    def _complete(self, arrivals: list[Plugin]) -> None:
        """The last step; a plugin that failed on the way takes those along that need it."""
        for plugin in self.loaded():
            if not plugin.is_loaded:
                continue  # the hook of another switched it off
            if reason := self._lack_of(plugin):
                self._activation.unload(plugin)
                self._activation.refuse(plugin, reason)
            elif plugin in arrivals and self._activation.call_hook(plugin, "on_load_complete"):
                self._activation.open_routes(plugin)
                log.info("plugin_loaded", plugin=plugin.name, version=plugin.version)
                self._host.events.emit_lifecycle("plugin_loaded", name=plugin.name, version=plugin.version)
        self._host.templates.set_loaders(self.get_template_loaders())
