"""The settings page of a plugin: its settings as a form, and the form as changes to them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fastapi import HTTPException, Request
from fastapi.responses import Response
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from plugbay.admin import ADMINS, AdminHost, AdminSite, Site
from plugbay.admin.settings_values import (
    NotUnderstood,
    Shape,
    choice_text,
    described,
    fitting,
    from_text,
    shapes_of,
    to_text,
)
from plugbay.errors import PlugbayError
from plugbay.logs import get_logger
from plugbay.plugins import Plugin, PluginState
from plugbay.plugins.service import PluginService
from plugbay.settings import SettingsIncomplete, load_settings, settings_errors, variable_name
from plugbay.web import FlashMessage, Typed
from plugbay.web.routers import QuickRouter

RESET = "_reset"  # the name of the buttons; no setting begins with an underscore
TYPE_AGAIN = "Type it again: what you typed is not sent back."

log = get_logger(__name__)

router = QuickRouter(include_in_schema=False, dependencies=[ADMINS])


@dataclass(frozen=True)
class Current:
    """The values as they are; a required one that nobody gave is missing."""

    values: Mapping[str, Any]
    locked: Mapping[str, str] = field(default_factory=dict)
    """Field to the environment variable that decides it."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Field to the reason why its stored value gave way to the default."""
    stored: Collection[str] = ()


@dataclass(frozen=True)
class PluginSettings:
    """A settings model with its current values, and what is wrong with them."""

    model: type[BaseModel]
    current: Current
    errors: Mapping[str, str] = field(default_factory=dict)
    """By field; `""` is the settings as a whole."""


@dataclass(frozen=True)
class FormField:
    """One line of the form."""

    name: str
    label: str
    help: str
    variable: str
    shape: Shape
    text: str
    default: str
    is_locked: bool = False
    is_stored: bool = False
    replaced: str = ""
    error: str = ""
    picks: tuple[str, ...] = ()
    """What the plugin says can be picked; what is set is always one of them."""

    @property
    def choices(self) -> list[str]:
        return [choice_text(choice) for choice in self.shape.choices]

    @property
    def is_worded(self) -> bool:
        """Whether the number that is set has a word of its own."""
        return self.text in map(str, self.shape.hint.words)

    @property
    def is_multiline(self) -> bool:
        return self.shape.kind in ("lines", "json") or "\n" in self.text

    @property
    def line_count(self) -> int:
        return min(max(self.text.count("\n") + 1, 3), 12)


@dataclass(frozen=True)
class FormResult:
    """What to store and what to forget, or what is wrong by field; `""` is the form as a whole."""

    changes: dict[str, Any] = field(default_factory=dict)
    resets: set[str] = field(default_factory=set)
    errors: dict[str, str] = field(default_factory=dict)


@router.get("/base_module/{plugin_name}/settings")
def show(request: Request, site: Site, plugin_name: str) -> Response:
    return _form_page(site, request, site.plugin(plugin_name))


@router.post("/base_module/{plugin_name}/settings")
def save(request: Request, site: Site, plugin_name: str, typed: Typed) -> Response:
    plugin = site.plugin(plugin_name)
    found = settings_of(site.host, plugin)
    if found is None:
        raise HTTPException(422, f"{plugin.name} has no settings to change now.")
    result = _read(found, typed)
    if result.errors:
        return _form_page(site, request, plugin, 422, typed=typed, errors=result.errors)
    site.host.modules.save_settings(plugin.name, result.changes, result.resets)
    messages = [FlashMessage(_told(plugin, result))]
    if plugin.state is PluginState.FAILED:  # it may have failed for want of just this
        messages.append(PluginService.enable_plugin(plugin.name, site.host))
    return site.to(request, f"{site.base}/base_module/{plugin.name}/settings", *messages)


def _form_page(
    site: AdminSite, request: Request, plugin: Plugin, status: int = 200, **typed: Any
) -> Response:
    found = settings_of(site.host, plugin)
    shown = {"errors": found.errors, **typed} if found else {}
    fields = form_fields(found.model, plugin.name, found.current, **shown) if found else []
    fields = [replace(field, picks=_picks(plugin, field)) for field in fields]
    context = {"plugin": plugin, "groups": grouped(fields), "errors": shown.get("errors", {})}
    return site.page(request, "settings", context, status)


def grouped(fields: Sequence[FormField]) -> dict[str, list[FormField]]:
    """The fields below their headings, both in the order of the model; those without one come first."""
    groups: dict[str, list[FormField]] = {"": []}
    for one in fields:
        groups.setdefault(one.shape.hint.group, []).append(one)
    return {heading: found for heading, found in groups.items() if found}


def _picks(plugin: Plugin, field: FormField) -> tuple[str, ...]:
    """What the plugin's method tells; one that fails leaves a field to type into."""
    tell = getattr(plugin.module, field.shape.hint.choices, None) if field.shape.hint.choices else None
    if not callable(tell):
        return ()
    try:
        found = [str(one) for one in tell()]
    except Exception as error:
        log.warning("choices_failed", plugin=plugin.name, field=field.name, error=repr(error))
        return ()
    return tuple(found if field.text in found else [field.text, *found])


def _read(found: PluginSettings, typed: dict[str, str]) -> FormResult:
    reset = typed.get(RESET)
    if reset is None:
        return read_form(found.model, found.current, typed)
    if reset not in found.model.model_fields:
        return FormResult(errors={"": f"There is no setting named {reset!r}."})
    return read_reset(found.model, found.current, reset)


def _told(plugin: Plugin, result: FormResult) -> str:
    if result.changes:
        return f"Saved for {plugin.name}: {', '.join(result.changes)}."
    if result.resets:
        return f"Back to the default: {', '.join(sorted(result.resets))}."
    return "Nothing was changed."


def settings_of(host: AdminHost, plugin: Plugin) -> PluginSettings | None:
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
    host: AdminHost,
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


def form_fields(
    model: type[BaseModel],
    module: str,
    current: Current,
    typed: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> list[FormField]:
    """The form with the current values or, after an error, with what was typed."""
    shapes, fields = _shapes(model, current), []
    for name, info in model.model_fields.items():
        shape = shapes[name]
        was = to_text(shape, current.values.get(name))
        text, error = _shown(shape, was, None if name in current.locked else (typed or {}).get(name))
        fields.append(
            FormField(
                name=name,
                label=info.title or name.replace("_", " ").capitalize(),
                help=info.description or "",
                variable=variable_name(module, name),
                shape=shape,
                text=text,
                default=_default(info, shape),
                is_locked=name in current.locked,
                is_stored=name in current.stored and name not in current.locked,
                replaced=current.replaced.get(name, ""),
                error=(errors or {}).get(name, error),
            )
        )
    return fields


def read_form(model: type[BaseModel], current: Current, typed: Mapping[str, str]) -> FormResult:
    """What was typed, checked by the model; a field that was left as it was, or not sent, is not touched."""
    given: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for name, shape in _shapes(model, current).items():
        text = unified(typed.get(name, ""))
        was = unified(to_text(shape, current.values.get(name)))
        if name not in typed or name in current.locked or text == was:
            continue
        try:
            given[name] = from_text(shape, text)
        except NotUnderstood as error:
            errors[name] = str(error)
    checked, faults = _check(model, {**current.values, **given})
    if checked is None or errors:
        return FormResult(errors={**faults, **errors})
    changes = {name: getattr(checked, name) for name in given}
    return FormResult(changes, set(current.replaced) - set(changes))


def read_reset(model: type[BaseModel], current: Current, name: str) -> FormResult:
    """One field back to its default, if that fits the others."""
    others = {key: value for key, value in current.values.items() if key != name}
    checked, faults = _check(model, others)
    return FormResult(errors=faults) if checked is None else FormResult(resets={name})


def unified(text: str) -> str:
    """Browsers send each line break as two characters."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _shown(shape: Shape, was: str, typed: str | None) -> tuple[str, str]:
    """What the field contains, and what is wrong with that: a typed secret does not come back."""
    if typed is None or typed == was:
        return was, ""
    return (was, TYPE_AGAIN) if shape.is_secret else (typed, "")


def _shapes(model: type[BaseModel], current: Current) -> dict[str, Shape]:
    return {name: fitting(shape, current.values.get(name)) for name, shape in shapes_of(model).items()}


def _check(model: type[BaseModel], values: Mapping[str, Any]) -> tuple[BaseModel | None, dict[str, str]]:
    try:
        return model.model_validate(dict(values)), {}
    except ValidationError as error:
        return None, settings_errors(error)
    except Exception as error:  # the plugin's own validator is broken: its name helps to mend it
        return None, {"": f"The plugin could not check this: {type(error).__name__}: {error}"}


def _default(info: FieldInfo, shape: Shape) -> str:
    if info.is_required():
        return ""
    if info.default_factory is not None:
        try:
            return described(shape, info.get_default(call_default_factory=True, validated_data={}))
        except Exception:
            return "worked out from the other settings"
    return described(shape, info.default)
