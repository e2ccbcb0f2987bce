"""Plugin base class: its fields with types and defaults, `on_load`, and the hooks."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

import pytest
from fastapi import APIRouter, FastAPI
from plugbay import BaseModule, Plugbay

FIELDS = [
    ("module_name", str | None, ""),
    ("module_version", str | None, "0.0.0"),
    ("module_settings", Any | None, None),
    ("depends_on", dict[str, str], {}),
    ("module_menu_name", str, ""),
    ("module_menu_icon", str, "fas fa-cube"),
    ("module_menu_type", str | None, "main"),
    ("extra_js_files", list[str], []),
    ("extra_css_files", list[str], []),
    ("module_router", APIRouter | None, None),
    ("module_mount_url", str | None, None),
    ("module_path", Path | None, None),
]
PLAIN = """
from plugbay import BaseModule

class Plugin(BaseModule):
    def on_load(self):
        pass
"""
TELLTALE = """
from plugbay import BaseModule

class Plugin(BaseModule):
    told = []

    def on_load(self):
        self.told.append(("on_load", None))

    def after_setup_templates(self, fast_pluggy):
        self.told.append(("after_setup_templates", fast_pluggy))

    def on_load_complete(self, fast_pluggy):
        loaded = [plugin.name for plugin in fast_pluggy.modules.loaded()]
        self.told.append(("on_load_complete", fast_pluggy, loaded))
"""


@pytest.fixture
def make_host(quiet: None, tmp_path: Path) -> Iterator[Callable[..., Plugbay]]:
    """Builds a host that finds these plugins in its folder."""
    built: list[Plugbay] = []

    def make(**plugins: str) -> Plugbay:
        for name, code in plugins.items():
            folder = tmp_path / "plugins" / name
            folder.mkdir(parents=True)
            (folder / "plugin.py").write_text(code)
        built.append(Plugbay(FastAPI(), tmp_path))
        return built[-1]

    yield make
    for host in built:
        host.modules.unload_all()
        host.store.close()


@pytest.mark.parametrize(("field", "kind", "default"), FIELDS, ids=[row[0] for row in FIELDS])
def test_field_has_its_type_and_default(field, kind, default):
    hint = get_type_hints(BaseModule)[field]
    assert (get_args(hint)[0] if get_origin(hint) is ClassVar else hint) == kind
    assert getattr(BaseModule, field) == default


def test_there_are_no_other_fields():
    assert set(get_type_hints(BaseModule)) == {row[0] for row in FIELDS}


def test_a_plugin_inherits_the_base_class_and_all_defaults(make_host):
    host = make_host(
        plain="from plugbay import BaseModule\nclass P(BaseModule):\n    def on_load(self): ...\n"
    )
    module = host.get_module("plain")
    assert isinstance(module, BaseModule)
    assert {row[0]: getattr(module, row[0]) for row in FIELDS} == {row[0]: row[2] for row in FIELDS}


def test_a_plugin_must_implement_on_load(make_host):
    host = make_host(lazy="from plugbay import BaseModule\nclass P(BaseModule): ...\n")
    assert host.get_module("lazy") is None
    assert "on_load" in host.modules.get("lazy").reason


def test_hook_on_load_complete_is_called_when_all_plugins_are_loaded(make_host):
    host = make_host(first=TELLTALE, zulu=TELLTALE)
    for name in ("first", "zulu"):
        (told,) = [told for told in host.get_module(name).told if told[0] == "on_load_complete"]
        assert told[1] is host
        assert {"first", "zulu", "scheduled_query", "task_worker", "ui_tools"} <= set(told[2])


def test_hook_after_setup_templates_is_called_when_the_template_environment_is_set_up(make_host):
    host = make_host(first=TELLTALE)
    assert [told[:2] for told in host.get_module("first").told] == [
        ("on_load", None),
        ("after_setup_templates", host),
        ("on_load_complete", host),
    ]


@pytest.mark.parametrize("hook", ["on_load_complete", "after_setup_templates"])
def test_hook_takes_the_framework_object_as_fast_pluggy(hook):
    assert list(get_type_hints(getattr(BaseModule, hook), {"Plugbay": Plugbay})) == ["fast_pluggy", "return"]
