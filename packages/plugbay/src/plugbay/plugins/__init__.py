"""Plugins: what is known of each that was found, and what became of it."""

import inspect
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from plugbay.base_module import BaseModule
from plugbay.plugins.discovery import PluginSource
from plugbay.plugins.load_order import Candidate
from plugbay.plugins.routes import OpenRequests
from plugbay.settings import LoadedSettings


class PluginState(StrEnum):
    FOUND = "found"  # only on its way to one of the others
    LOADED = "loaded"
    DISABLED = "disabled"
    FAILED = "failed"
    REFUSED = "refused"

    @property
    def as_predicate(self) -> str:
        """How a sentence says it: "which failed", "which is disabled"."""
        return "failed" if self is PluginState.FAILED else f"is {self.value}"


@dataclass
class Plugin:
    """The manager's card for one plugin; `module` is there while it is loaded."""

    source: PluginSource
    name: str
    state: PluginState = PluginState.FOUND
    reason: str = ""
    traceback: str = ""
    module_class: type[BaseModule] | None = None
    module: BaseModule | None = None
    settings: LoadedSettings | None = None
    stored_settings: dict[str, Any] = field(default_factory=dict)
    """What the store had when the settings were last read."""
    open_requests: OpenRequests = field(default_factory=OpenRequests)
    """The requests that its routes are answering."""
    load_number: int = 0
    """Its place in the order of loading."""
    missing: list[str] = field(default_factory=list)
    """Requirements that it declares and this Python lacks."""

    def settle(self, state: PluginState, reason: str = "", trace: str = "") -> None:
        """Notes what became of it, and why."""
        self.state, self.reason, self.traceback = state, reason, trace

    @property
    def is_loaded(self) -> bool:
        return self.state is PluginState.LOADED

    @property
    def is_enabled(self) -> bool:
        return self.state is not PluginState.DISABLED

    @property
    def version(self) -> str:
        return (self.module_class.module_version if self.module_class else "") or "0.0.0"

    @property
    def depends_on(self) -> dict[str, str]:
        return dict(self.module_class.depends_on) if self.module_class else {}

    @property
    def candidate(self) -> Candidate:
        return Candidate(self.name, self.version, self.depends_on)

    @property
    def folder(self) -> Path | None:
        """Where its templates, static files, migrations and requirements are."""
        if self.module_class is None:
            return self.source.folder
        given = self.module.module_path if self.module else self.module_class.module_path
        if given:
            return Path(given)
        return self.source.folder or Path(inspect.getfile(self.module_class)).parent
