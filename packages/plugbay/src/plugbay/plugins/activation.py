"""Takes one plugin into service and out again; whatever its code does stays its own affair."""

import itertools
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from fastapi import APIRouter

from plugbay.base_module import BaseModule, Host
from plugbay.clock import ends_within
from plugbay.errors import InvalidConfig, PlugbayError, PluginRefused
from plugbay.logs import get_logger
from plugbay.menu import TYPES as MENU_TYPES
from plugbay.plugins import Plugin, PluginRecords, PluginState, requirements
from plugbay.plugins.discovery import check_class, check_module, import_plugin, unimport_plugin
from plugbay.plugins.routes import Contribution, OpenRequests, RouteTable, counted
from plugbay.settings import load_settings

LEAVE_LIMIT_S = 5.0  # for requests to a plugin's pages that are still being answered when it goes
UNLOAD_LIMIT_S = 30.0  # three times what an orderly plugin takes to let its running work end

log = get_logger(__name__)


class PluginHost(Host, Protocol):
    """What loading a plugin needs of the host, beyond what plugins are given."""

    records: PluginRecords
    environment: Mapping[str, str]

    def guarded(self, owner: str, router: APIRouter, prefix: str = "", *gates: Any) -> Contribution: ...

    def remove_owner(self, owner: str) -> None: ...


class Activation:
    """The steps in a plugin's life, each contained: a failure is noted on the plugin and raised to nobody."""

    def __init__(self, host: PluginHost, routes: RouteTable) -> None:
        self._host = host
        self._routes = routes
        self._numbers = itertools.count(1)
        self.operator_error: InvalidConfig | None = None
        """The first mistake in the environment that kept a plugin from loading."""

    def read_code(self, plugin: Plugin) -> None:
        """Imports the plugin's class, after its requirements."""
        with self.contained(plugin, "import"):
            self._meet_requirements(plugin)
            found = import_plugin(plugin.source)
            check_class(found)
            plugin.module_class = found

    def load(self, plugin: Plugin) -> bool:
        """Settings, tables, `on_load`, contributions; on failure nothing of it remains."""
        with self.contained(plugin, "on_load"):
            assert plugin.module_class
            plugin.module, plugin.open_requests = plugin.module_class(), OpenRequests()
            self.load_settings(plugin)
            self._migrate(plugin)
            plugin.module.on_load()
            self._contribute_or_stop(plugin)
            plugin.load_number = next(self._numbers)
            plugin.settle(PluginState.LOADED)
        return plugin.is_loaded

    def call_hook(self, plugin: Plugin, hook_name: str) -> bool:
        """Calls one hook with the host; a plugin whose hook fails is taken out of service."""
        with self.contained(plugin, hook_name):
            getattr(plugin.module, hook_name)(self._host)
        return plugin.module is not None

    def unload(self, plugin: Plugin, state: PluginState = PluginState.FOUND) -> None:
        """Takes back all that the plugin contributed, its routes first; safe to call in any state."""
        if plugin.module:
            self._close_routes(plugin)
        left_behind = self._say_goodbye(plugin) if plugin.module and plugin.is_loaded else ""
        # first: a page under way must not meet a loaded plugin without its module
        plugin.settle(state, left_behind)
        if plugin.module:
            self._host.remove_owner(plugin.name)
        plugin.module = None
        unimport_plugin(plugin.source)

    def refuse(self, plugin: Plugin, reason: str) -> None:
        plugin.settle(PluginState.REFUSED, reason)
        log.warning("plugin_refused", plugin=plugin.name, reason=reason)
        self._host.events.emit_lifecycle("plugin_failed", name=plugin.name, reason=reason)

    def load_settings(self, plugin: Plugin) -> None:
        """Fills the plugin's settings from environment, store and defaults, and puts them into effect."""
        model = plugin.module_class.module_settings if plugin.module_class else None
        if model is None:
            return
        plugin.stored_settings = stored = self._host.records.settings(plugin.name)
        plugin.settings = load_settings(model, plugin.name, self._host.environment, stored)
        for name, rule in plugin.settings.replaced.items():
            log.warning("setting_replaced", plugin=plugin.name, setting=name, rule=rule)
        if plugin.module:
            plugin.module.module_settings = plugin.settings.values

    def is_behind(self, plugin: Plugin) -> bool:
        """Whether the store has other settings than those that were last read."""
        has_settings = plugin.module_class is not None and plugin.module_class.module_settings is not None
        return has_settings and plugin.stored_settings != self._host.records.settings(plugin.name)

    def refresh(self, plugin: Plugin) -> bool:
        """Puts the stored settings into effect; where they do not fit, those there are stay."""
        try:
            self.load_settings(plugin)
        except Exception as error:  # also of the plugin's own validators
            log.error("settings_not_followed", plugin=plugin.name, reason=error)
            return False
        return True

    def contribution(self, plugin: Plugin) -> Contribution | None:
        """The plugin's routes, where they stand, behind the host's guard."""
        if plugin.module is None or plugin.module.module_router is None:
            return None
        url = plugin.module.module_mount_url
        prefix = f"/{plugin.name}" if url is None else url.rstrip("/")
        # the code of a package stays, and so may its routes; those of a folder go with the code
        gate = plugin.open_requests if plugin.source.folder else counted(plugin.name)
        return self._host.guarded(plugin.name, plugin.module.module_router, prefix, gate)

    def open_routes(self, plugin: Plugin) -> None:
        """Lets visitors in: the last step, when the plugin is complete."""
        plugin.open_requests.open()
        self._routes.serve(plugin.name)

    def _close_routes(self, plugin: Plugin) -> None:
        self._routes.remove_owner(plugin.name)
        if not plugin.open_requests.close(LEAVE_LIMIT_S):
            log.warning("requests_left_behind", plugin=plugin.name, seconds=LEAVE_LIMIT_S)

    def _meet_requirements(self, plugin: Plugin) -> None:
        if plugin.source.folder is None:
            return  # an installed package came with what it needs
        lacking = requirements.missing(requirements.declared(plugin.source.folder))
        plugin.missing = [str(need) for need in lacking]
        if lacking and self._host.config.install_module_requirement_at_start:
            requirements.install(lacking)
            plugin.missing = []

    def _migrate(self, plugin: Plugin) -> None:
        scripts = (plugin.folder or Path()) / "migrations"
        if scripts.is_dir():
            self._host.store.migrate(plugin.name, scripts)

    def _contribute_or_stop(self, plugin: Plugin) -> None:
        """A module whose `on_load` went well has its `on_unload` called, whatever comes after."""
        try:
            self._contribute(plugin)
        except BaseException:
            self._stop(plugin)
            raise

    def _contribute(self, plugin: Plugin) -> None:
        """Puts what the plugin brings into the host's tables, under its name."""
        module = plugin.module
        assert module
        check_module(module)
        static = (plugin.folder or Path()) / "static"
        if static.is_dir():
            self._host.static.add(plugin.name, static)
        if contribution := self.contribution(plugin):
            self._routes.announce(contribution)
        if module.module_menu_name and module.module_menu_type in MENU_TYPES:
            self._host.menu.add(
                plugin.name,
                module.module_menu_name,
                self._landing_page(plugin),
                icon=module.module_menu_icon or BaseModule.module_menu_icon,
                menu_type=module.module_menu_type,
                role="admin" if module.module_menu_type == "admin" else "viewer",
            )

    def _landing_page(self, plugin: Plugin) -> str:
        """The first page of a plugin that needs no parameter; empty if there is none."""
        for route in self._routes.of_owner(plugin.name):
            if route.path and "{" not in route.path and "GET" in (route.methods or ()):
                return route.path
        return ""

    def _stop(self, plugin: Plugin) -> str:
        """Calls `on_unload`; one that hangs is left behind, and the answer says so."""
        if ends_within(UNLOAD_LIMIT_S, lambda: self._call_on_unload(plugin), f"unload-{plugin.name}"):
            return ""
        log.error("unload_hangs", plugin=plugin.name, seconds=UNLOAD_LIMIT_S)
        return f"on_unload did not end within {UNLOAD_LIMIT_S:g} s: what it started may go on until a restart"

    def _call_on_unload(self, plugin: Plugin) -> None:
        assert plugin.module
        try:
            plugin.module.on_unload()
        except BaseException:
            log.exception("unload_failed", plugin=plugin.name)

    def _say_goodbye(self, plugin: Plugin) -> str:
        left_behind = self._stop(plugin)
        log.info("plugin_unloaded", plugin=plugin.name)
        self._host.events.emit_lifecycle("plugin_unloaded", name=plugin.name)
        return left_behind

    @contextmanager
    def contained(self, plugin: Plugin, step: str) -> Iterator[None]:
        """What goes wrong in this step is noted on the plugin, which is taken out of service."""
        try:
            yield
        except KeyboardInterrupt:
            raise  # the operator's, not the plugin's
        except BaseException as error:
            trace = traceback.format_exc()
            if isinstance(error, InvalidConfig):
                self.operator_error = self.operator_error or error
            self.unload(plugin)
            if isinstance(error, PluginRefused):
                self.refuse(plugin, str(error))
            else:
                self._fail(plugin, step, error, trace)

    def _fail(self, plugin: Plugin, step: str, error: BaseException, trace: str) -> None:
        reason = str(error) if isinstance(error, PlugbayError) else f"{step}: {_described(error)}"
        if plugin.missing:
            reason += f" (missing requirements: {', '.join(plugin.missing)})"
        plugin.settle(PluginState.FAILED, reason, trace)
        log.error("plugin_failed", plugin=plugin.name, step=step, reason=reason)
        self._host.events.emit_lifecycle("plugin_failed", name=plugin.name, reason=reason)


def _described(error: BaseException) -> str:
    try:
        said = str(error) or "no reason given"
    except Exception:
        said = "it cannot say what went wrong"
    return f"{type(error).__name__}: {said}"
