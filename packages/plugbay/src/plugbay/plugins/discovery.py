"""Finds plugins in folders and by entry point, imports or un-imports one, and checks its fields."""

import importlib
import importlib.machinery
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel

from plugbay.base_module import ENTRY_POINT_GROUP, BaseModule
from plugbay.errors import PluginRefused
from plugbay.logs import get_logger
from plugbay.menu import TYPES as MENU_TYPES

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")  # PostgreSQL cuts names of tables at 63 bytes
RESERVED_NAMES = ("plugbay", "application")  # they own what is the host's, and who mounted it
NAME_RULE = (
    "a plugin's name is at most 40 lower-case letters, digits and underscores, a letter first; "
    "plugbay and application are reserved"
)
PRIVATE_PACKAGE = "_plugbay_found"  # folder plugins live below it, so that their names clash with nobody's
FoundAs = Literal["plugin", "domain", "package"]
Rule = tuple[Callable[[Any], bool], str]
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

log = get_logger(__name__)


@dataclass(frozen=True)
class PluginSource:
    """Where a plugin comes from: a folder, or an installed package's entry point."""

    name: str
    kind: FoundAs
    folder: Path | None = None
    entry_point: EntryPoint | None = None

    @property
    def distribution(self) -> str:
        """The installed distribution that brings it, or the empty string."""
        dist = self.entry_point.dist if self.entry_point else None
        return dist.name if dist else ""

    @property
    def place(self) -> str:
        """What tells it from a plugin of the same folder name elsewhere; the store has room for 255."""
        return f"{self.kind}:{self.name}"[:255]

    @property
    def described(self) -> str:
        """How messages call this place."""
        if self.folder:
            return str(self.folder)
        return f"{self.distribution or 'an installed package'} (entry point {self.name})"


def is_valid_name(name: str) -> bool:
    return NAME.fullmatch(name) is not None and name not in RESERVED_NAMES


def find_in_folder(folder: Path, kind: Literal["plugin", "domain"]) -> list[PluginSource]:
    """Each direct sub-folder with a `plugin.py` or an `__init__.py`, by name."""
    try:
        found = [path for path in sorted(folder.iterdir()) if _looks_like_plugin(path)]
    except FileNotFoundError:
        return []
    except OSError as error:
        log.error("folder_unreadable", folder=folder, error=error)
        return []
    return [PluginSource(_as_text(path.name), kind, folder=path) for path in found]


def find_installed() -> list[PluginSource]:
    """Each entry point of the group `plugbay.plugins`, by name."""
    found = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)
    return [PluginSource(point.name, "package", entry_point=point) for point in found]


def import_plugin(source: PluginSource) -> type[BaseModule]:
    """Imports the plugin and returns its class."""
    if source.entry_point:
        return _checked(source.entry_point.load(), source.described)
    assert source.folder
    module = _import_folder(source.folder, _private_name(source))
    classes = list(_own_subclasses(module))
    if len(classes) != 1:
        found = ", ".join(cls.__name__ for cls in classes) or "none"
        raise PluginRefused(
            reason=f"{module.__file__} must define exactly one subclass of plugbay.BaseModule; found: {found}"
        )
    return _checked(classes[0], source.described)


def unimport_plugin(source: PluginSource) -> None:
    """Forgets the code of a folder plugin, so that the next import reads it anew."""
    if source.folder is None:
        return  # an installed package may be in use by others: new code needs a restart
    _forget(_private_name(source))
    importlib.invalidate_caches()


def _as_text(file_name: str) -> str:
    """A file's name may be bytes that are no text; what cannot be shown becomes `?`, and the name invalid."""
    return file_name.encode(errors="replace").decode()


def _looks_like_plugin(path: Path) -> bool:
    if path.name.startswith((".", "__")):
        return False
    try:
        return (path / "plugin.py").is_file() or (path / "__init__.py").is_file()
    except OSError as error:  # of another user, say: no reason to keep the others from loading
        log.error("folder_unreadable", folder=path, error=error)
        return False


def _private_name(source: PluginSource) -> str:
    return f"{PRIVATE_PACKAGE}.{source.kind}.{source.name}"


def _forget(package: str) -> None:
    for name in [name for name in sys.modules if name == package or name.startswith(package + ".")]:
        del sys.modules[name]


def _import_folder(folder: Path, name: str) -> ModuleType:
    _forget(name)  # a plugin that was refused, or one of another host, may have left its code
    for parent in (PRIVATE_PACKAGE, name.rpartition(".")[0]):
        sys.modules.setdefault(parent, ModuleType(parent))
    package = _new_package(folder, name)
    sys.modules[name] = package
    try:
        with _no_bytecode():
            if package.__spec__ and package.__spec__.loader:
                package.__spec__.loader.exec_module(package)
            if (folder / "plugin.py").is_file():
                return importlib.import_module(f"{name}.plugin")
    except BaseException:
        _forget(name)
        raise
    return package


@contextmanager
def _no_bytecode() -> Iterator[None]:
    """Old bytecode is told by length and whole seconds: with it, a quick edit could go unseen."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _new_package(folder: Path, name: str) -> ModuleType:
    """The folder as an importable package, with its `__init__.py` or without one."""
    init = folder / "__init__.py"
    if init.is_file():
        spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[str(folder)])
    else:
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
    assert spec
    return importlib.util.module_from_spec(spec)


def _own_subclasses(module: ModuleType) -> Iterator[type[BaseModule]]:
    for value in vars(module).values():
        if (
            inspect.isclass(value)
            and issubclass(value, BaseModule)
            and value.__module__ == module.__name__
            and not value.__name__.startswith("_")
        ):
            yield value


def _checked(found: object, where: str) -> type[BaseModule]:
    if not (inspect.isclass(found) and issubclass(found, BaseModule)):
        raise PluginRefused(reason=f"{where} does not lead to a subclass of plugbay.BaseModule")
    if found.on_load is BaseModule.on_load:
        raise PluginRefused(reason=f"the class {found.__name__} does not implement on_load()")
    return found


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


def check_class(found: type[BaseModule]) -> None:
    """Refuses a class with a field or a hook that the host could not deal with."""
    _check_fields(found, RULES)
    for hook in HOOKS:
        if inspect.iscoroutinefunction(getattr(found, hook)):
            raise PluginRefused(reason=f"its {hook} is an async def, which nobody would wait for: use def")


def check_module(module: BaseModule) -> None:
    """Refuses a module that, after `on_load`, would contribute what cannot be served."""
    _check_fields(module, SET_BY_MODULES)


def _check_fields(found: object, names: Iterable[str]) -> None:
    for name in names:
        fits, wanted = RULES[name]
        value = getattr(found, name)
        if not fits(value):
            raise PluginRefused(reason=f"its {name} is {value!r}; it must be {wanted}")
