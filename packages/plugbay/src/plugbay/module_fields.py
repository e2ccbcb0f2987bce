"""What a plugin says about itself, checked: an odd field is refused by its name, before it does harm."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from plugbay.base_module import BaseModule
from plugbay.errors import PluginRefused
from plugbay.menu import TYPES as MENU_TYPES

Rule = tuple[Callable[[Any], bool], str]


def _is_optional_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_optional_menu_type(value: Any) -> bool:
    return value in (None, "none", *MENU_TYPES)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def _are_constraints(value: Any) -> bool:
    return isinstance(value, Mapping) and _are_texts([*value.keys(), *value.values()])


def _is_optional_model(value: Any) -> bool:
    return value is None or (inspect.isclass(value) and issubclass(value, BaseModel))


def _is_optional_path(value: Any) -> bool:
    return value is None or isinstance(value, str | Path)


def _is_optional_router(value: Any) -> bool:
    return value is None or isinstance(value, APIRouter | property)


def _is_optional_prefix(value: Any) -> bool:
    return value in (None, "") or (isinstance(value, str) and value.startswith("/"))


RULES: Mapping[str, Rule] = {
    "module_name": (_is_optional_text, "a text"),
    "module_version": (_is_optional_text, "a text"),
    "depends_on": (_are_constraints, "a map of plugin name to version constraint"),
    "module_settings": (_is_optional_model, "a pydantic model class"),
    "module_menu_name": (_is_optional_text, "a text"),
    "module_menu_icon": (_is_optional_text, "a text"),
    "module_menu_type": (_is_optional_menu_type, f"one of {', '.join(MENU_TYPES)}, none"),
    "extra_js_files": (_are_texts, "a list of paths"),
    "extra_css_files": (_are_texts, "a list of paths"),
    "module_router": (_is_optional_router, "a FastAPI APIRouter"),
    "module_mount_url": (_is_optional_prefix, "empty, or a path that begins with a slash"),
    "module_path": (_is_optional_path, "a path"),
}
HOOKS = ("on_load", "on_load_complete", "after_setup_templates", "on_unload")
SET_BY_MODULES = (
    "module_menu_name",
    "module_menu_icon",
    "module_menu_type",
    "extra_js_files",
    "extra_css_files",
    "module_router",
    "module_mount_url",
)


def check_class(found: type[BaseModule]) -> None:
    """Refuses a class with a field or a hook that the host could not deal with."""
    _check(found, RULES)
    for hook in HOOKS:
        if inspect.iscoroutinefunction(getattr(found, hook)):
            raise PluginRefused(reason=f"its {hook} is an async def, which nobody would wait for: use def")


def check_module(module: BaseModule) -> None:
    """Refuses a module that, after `on_load`, would contribute what cannot be served."""
    _check(module, SET_BY_MODULES)


def _check(found: object, names: Iterable[str]) -> None:
    for name in names:
        fits, wanted = RULES[name]
        value = getattr(found, name)
        if not fits(value):
            raise PluginRefused(reason=f"its {name} is {value!r}; it must be {wanted}")
