"""Framework programmatic interface: constructor, module manager and plugin service."""

import inspect
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.responses import RedirectResponse
from fastapi.testclient import TestClient
from jinja2 import BaseLoader
from plugbay import FlashMessage, Plugbay, PluginService
from plugbay.plugins.manager import ModuleManager

METHODS = [
    ("discover_plugins", ["folder", "module_type"], list),
    ("initialize_plugins_in_order", [], dict),
    ("is_module_loaded", ["module_or_name"], bool),
    ("register_all_routes", [], None),
    ("get_template_loaders", [], dict),
    ("execute_all_module_hook", ["hook_name", "require_loaded"], None),
]
OPERATIONS = [
    ("enable_plugin", "plugin_name"),
    ("disable_plugin", "plugin_name"),
    ("install_module_requirements", "module_name"),
    ("remove_plugin", "plugin_name"),
]
SAMPLES = Path(__file__).parents[1] / "plugins/good"
PASSWORD = "correct horse battery staple"


@contextmanager
def hosting(folder: Path) -> Iterator[Plugbay]:
    """A host with two plugins in its folder beside the installed ones; polite needs greeter."""
    shutil.copytree(SAMPLES, folder / "plugins")
    host = Plugbay(FastAPI(), folder, config={"admin_password": PASSWORD})
    yield host
    host.modules.unload_all()
    host.store.close()


@pytest.fixture(scope="module")
def host(quiet: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugbay]:
    """A host for those who leave it as they find it."""
    with hosting(tmp_path_factory.mktemp("host")) as shared:
        yield shared


@pytest.fixture
def own_host(quiet: None, tmp_path: Path) -> Iterator[Plugbay]:
    """A host for those who do not."""
    with hosting(tmp_path) as own:
        yield own


def parameters(call: Any) -> dict[str, Any]:
    """Names and defaults of what a call takes by position, without `self`."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(call).parameters.items()
        if name != "self" and parameter.kind is not parameter.KEYWORD_ONLY
    }


# the framework object


def test_it_is_constructed_from_the_application_and_four_options():
    none = inspect.Parameter.empty
    assert parameters(Plugbay) == {
        "app": none,
        "app_root_dir": None,
        "path_plugins": None,
        "path_modules": None,
        "auth_manager": None,
    }


def test_app_root_dir_is_by_default_the_current_directory(quiet, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    host = Plugbay(FastAPI())
    assert (host.app_root_dir, host.data_dir) == (tmp_path, tmp_path / "data")
    host.modules.unload_all()
    host.store.close()


@pytest.mark.parametrize(
    ("option", "folder"),
    [("path_plugins", "plugins"), ("path_modules", "domains")],
    ids=["path_plugins", "path_modules"],
)
def test_folder_is_by_default_below_app_root_dir(host, option, folder):
    assert getattr(host, option) == host.app_root_dir / folder


def test_folders_can_be_given(quiet, tmp_path):
    folders = {"app_root_dir": tmp_path, "path_plugins": tmp_path / "mine", "path_modules": tmp_path / "ours"}
    host = Plugbay(FastAPI(), **folders)
    assert {option: getattr(host, option) for option in folders} == folders
    host.modules.unload_all()
    host.store.close()


def test_auth_manager_can_be_given(quiet, tmp_path):
    class Nobody:
        def identify(self, request: Any) -> None:
            return None

        def challenge(self, request: Any) -> RedirectResponse:
            return RedirectResponse("/front-door", 303)

        def logout(self, request: Any) -> RedirectResponse:
            return RedirectResponse("/", 303)

    host = Plugbay(FastAPI(), tmp_path, auth_manager=Nobody())
    with TestClient(host.app, follow_redirects=False) as client:
        assert client.get("/scheduled_query/").headers["location"] == "/front-door"


def test_initialisation_happens_in_the_constructor(host):
    assert host.modules.is_module_loaded("scheduled_query")
    assert host.modules.is_module_loaded("polite")
    assert not hasattr(host, "init")


# the module manager


@pytest.mark.parametrize(("method", "takes", "returns"), METHODS, ids=[row[0] for row in METHODS])
def test_manager_method_has_its_signature(method, takes, returns):
    call = getattr(ModuleManager, method)
    assert list(parameters(call)) == takes
    returned = inspect.signature(call).return_annotation
    assert getattr(returned, "__origin__", returned) is returns


@pytest.mark.parametrize("module_type", ["plugin", "domain"])
def test_discover_plugins_takes_a_folder_and_a_module_type(own_host, tmp_path, module_type):
    shutil.copytree(SAMPLES / "greeter", tmp_path / "more/another")
    found = own_host.modules.discover_plugins(tmp_path / "more", module_type)
    assert [(plugin.name, plugin.source.kind) for plugin in found] == [("another", module_type)]


def test_discover_plugins_takes_no_other_module_type(host, tmp_path):
    with pytest.raises(ValueError, match="'plugin' or 'domain'"):
        host.modules.discover_plugins(tmp_path, "package")


def test_initialize_plugins_in_order_returns_a_dict(host):
    states = host.modules.initialize_plugins_in_order()
    assert {"greeter", "polite", "scheduled_query", "task_worker", "ui_tools"} == set(states)
    assert set(states.values()) == {"loaded"}


def test_is_module_loaded_is_true_when_enabled_and_loaded(host):
    module = host.get_module("polite")
    assert host.modules.is_module_loaded("polite") is True
    assert host.modules.is_module_loaded(module) is True
    PluginService.disable_plugin("polite", host)
    assert host.modules.is_module_loaded("polite") is False
    assert host.modules.is_module_loaded(module) is False
    assert host.modules.is_module_loaded("nobody") is False
    PluginService.enable_plugin("polite", host)


def test_register_all_routes_serves_what_is_loaded(own_host):
    router = APIRouter()
    router.add_api_route("/late", lambda: "here", methods=["GET"])
    own_host.get_module("polite").module_router = router
    own_host.modules.register_all_routes()
    with TestClient(own_host.app, follow_redirects=False) as client:
        client.auth = ("admin", PASSWORD)
        assert client.get("/polite/late").json() == "here"
        assert client.get("/greeter/").status_code == 200


def test_get_template_loaders_returns_a_dict(host):
    loaders = host.modules.get_template_loaders()
    assert {"greeter", "scheduled_query", "task_worker", "ui_tools"} == set(loaders)
    assert all(isinstance(loader, BaseLoader) for loader in loaders.values())


def test_execute_all_module_hook_requires_loaded_modules_by_default(host):
    assert parameters(host.modules.execute_all_module_hook)["require_loaded"] is True
    called: list[Any] = []
    for name in ("greeter", "polite"):
        host.get_module(name).on_monday = called.append
    host.modules.execute_all_module_hook("on_monday")
    host.modules.execute_all_module_hook("on_monday", require_loaded=False)
    assert called == [host] * 4


# the plugin service


@pytest.mark.parametrize(("operation", "takes"), OPERATIONS, ids=[row[0] for row in OPERATIONS])
def test_operation_is_static_and_takes_the_name_and_the_framework_object(operation, takes):
    assert isinstance(inspect.getattr_static(PluginService, operation), staticmethod)
    given = parameters(getattr(PluginService, operation))
    required = [name for name, default in given.items() if default is inspect.Parameter.empty]
    assert required == [takes, "fast_pluggy"]


def test_enable_plugin_and_disable_plugin_return_a_flash_message(host):
    assert isinstance(PluginService.disable_plugin("polite", host), FlashMessage)
    assert not host.modules.is_module_loaded("polite")
    assert isinstance(PluginService.enable_plugin("polite", host), FlashMessage)
    assert host.modules.is_module_loaded("polite")


def test_install_module_requirements_returns_a_flash_message(host):
    assert isinstance(PluginService.install_module_requirements("polite", host), FlashMessage)


def test_remove_plugin_returns_a_list_of_flash_messages_and_a_redirect(own_host, tmp_path):
    answer = PluginService.remove_plugin("polite", own_host)
    assert [type(item) for item in answer] == [FlashMessage, RedirectResponse]
    assert answer[1].headers["location"] == "/admin/plugins"
    assert not (tmp_path / "plugins/polite").exists()
