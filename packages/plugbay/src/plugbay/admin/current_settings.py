"""The settings of one plugin as they are now, also when they keep it from loading."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from plugbay.admin.settings_form import Current
from plugbay.errors import PlugbayError
from plugbay.plugin import Plugin
from plugbay.settings import SettingsIncomplete, load_settings, variable_name

if TYPE_CHECKING:
    from plugbay.host import Plugbay


@dataclass(frozen=True)
class PluginSettings:
    """A settings model with its current values, and what is wrong with them."""

    model: type[BaseModel]
    current: Current
    errors: Mapping[str, str] = field(default_factory=dict)
    """By field; `""` is the settings as a whole."""


def settings_of(host: "Plugbay", plugin: Plugin) -> PluginSettings | None:
    """None for a plugin that has no settings, or whose code is not read while it is disabled."""
    model = plugin.module_class.module_settings if plugin.module_class else None
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return None
    stored = host.records.settings(plugin.name)
    try:
        loaded = load_settings(model, plugin.name, host.environment, stored)
    except SettingsIncomplete as error:
        return _incomplete(host, plugin, model, stored, error.faults)
    except PlugbayError as error:
        return _incomplete(host, plugin, model, stored, {"": str(error)})
    except Exception as error:  # the plugin's own validator is broken
        problem = f"The plugin could not check this: {type(error).__name__}: {error}"
        return _incomplete(host, plugin, model, stored, {"": problem})
    values = {name: getattr(loaded.values, name) for name in model.model_fields}
    return PluginSettings(model, Current(values, loaded.locked, loaded.replaced, set(stored)))


def _incomplete(
    host: "Plugbay",
    plugin: Plugin,
    model: type[BaseModel],
    stored: Mapping[str, Any],
    errors: Mapping[str, str],
) -> PluginSettings:
    """What there is, unchecked, so that the rest can be entered."""
    variables = {name: variable_name(plugin.name, name) for name in model.model_fields}
    locked = {name: variable for name, variable in variables.items() if variable in host.environment}
    defaults = {name: info.default for name, info in model.model_fields.items() if _has_plain_default(info)}
    kept = {name: value for name, value in stored.items() if name in model.model_fields}
    given = {name: host.environment[variable] for name, variable in locked.items()}
    return PluginSettings(model, Current({**defaults, **kept, **given}, locked, {}, set(stored)), errors)


def _has_plain_default(info: Any) -> bool:
    return not info.is_required() and info.default_factory is None
