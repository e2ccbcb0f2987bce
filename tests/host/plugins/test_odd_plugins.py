"""Plugins that say or do odd things: the reason is told, and nobody else has trouble."""

import os
import shutil
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from plugbay import FlashMessage, Plugbay
from plugbay.plugins.service import PluginService


@pytest.fixture
def write_plugin(tmp_path: Path) -> Callable[..., Path]:
    """Writes the folder plugin `name`, whose class has this body."""

    def write(name: str, body: str = "", before: str = "", kind: str = "plugins") -> Path:
        folder = tmp_path / kind / name
        folder.mkdir(parents=True, exist_ok=True)
        on_load = "" if "def on_load(" in body else "    def on_load(self): pass\n"
        code = f"from plugbay import BaseModule\n{before}\nclass Odd(BaseModule):\n"
        (folder / "plugin.py").write_text(code + textwrap.indent(body, "    ") + "\n" + on_load)
        return folder

    return write


def states(host: Plugbay) -> dict[str, str]:
    return {plugin.name: plugin.state.value for plugin in host.modules.all()}


ODD_FIELDS = {
    "module_name = 5": "module_name",
    "module_version = 1.5": "module_version",
    "depends_on = None": "depends_on",
    "depends_on = 'task_worker'": "depends_on",
    "depends_on = {'fine': 1}": "depends_on",
    "depends_on = {'fine': None}": "depends_on",
    "module_menu_name = None": None,
    "module_menu_icon = None": None,
    "module_menu_name = 5": "module_menu_name",
    "module_menu_icon = 5": "module_menu_icon",
    "module_menu_type = 'nowhere'": "is 'nowhere'; it must be one of main, admin, user, none",
    "module_menu_type = 'none'": None,
    "module_menu_type = None": None,
    "extra_js_files = None": "extra_js_files",
    "extra_js_files = 'app.js'": "extra_js_files",
    "extra_css_files = [1]": "extra_css_files",
    "module_router = 5": "module_router",
    "module_mount_url = 'odd'": "module_mount_url",
    "module_mount_url = 5": "module_mount_url",
    "module_path = 5": "module_path",
    "module_settings = 5": "module_settings",
    "module_version = None": None,
    "async def on_load(self): pass": "on_load is an async def",
    "async def on_unload(self): pass": "on_unload is an async def",
}


@pytest.mark.parametrize(("body", "named"), ODD_FIELDS.items())
def test_an_odd_field_is_named_and_harms_nobody(make_host, client_of, write_plugin, body: str, named: str):
    write_plugin("odd", f"{body}")
    host = make_host("good")
    client = client_of(host)
    plugin = next(found for found in host.modules.all() if found.source.name == "odd")
    assert (plugin.state.value, (named or "") in plugin.reason) == ("refused" if named else "loaded", True)
    assert states(host) == {"greeter": "loaded", "polite": "loaded", "odd": plugin.state.value}
    for page in ("/greeter/", "/admin/plugins", "/admin/base_module/odd/overview"):
        assert client.get(page).status_code == 200
    assert client.get("/admin/base_module/odd/settings").status_code < 500


@pytest.mark.parametrize("name", ["plugbay", "application"])
def test_a_plugin_cannot_take_the_hosts_own_name(make_host, client_of, write_plugin, name: str):
    write_plugin(name)
    write_plugin("other")
    host = make_host()
    assert (host.modules.get(name).state.value, "reserved" in host.modules.get(name).reason) == (
        "refused",
        True,
    )
    host.modules.disable("other")
    host.modules.enable("other")
    client = client_of(host)
    assert client.get("/admin/plugins").status_code == 200
    assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize("error", ["asyncio.CancelledError()", "GeneratorExit()", "Mute()"])
def test_whatever_a_plugin_raises_stays_its_own_affair(make_host, write_plugin, error: str):
    mute = "import asyncio\nclass Mute(Exception):\n    def __str__(self): raise ValueError('speechless')\n"
    write_plugin("odd", f"def on_load(self): raise {error}", mute)
    assert states(make_host("good")) == {"greeter": "loaded", "polite": "loaded", "odd": "failed"}


def test_what_a_module_sets_in_on_load_is_checked_too(make_host, client_of, write_plugin):
    write_plugin("odd", "def on_load(self): self.extra_js_files = None")
    host = make_host("good")
    assert host.modules.get("odd").reason == "its extra_js_files is None; it must be a list of paths"
    assert client_of(host).get("/greeter/").status_code == 200


def test_a_router_may_be_made_by_a_property(make_host, client_of, write_plugin):
    body = "@property\ndef module_router(self):\n    router = APIRouter()\n"
    body += "    router.get('/')(lambda: 'made')\n    return router"
    write_plugin("odd", body, "from fastapi import APIRouter")
    assert client_of(make_host()).get("/odd/").json() == "made"


def test_a_module_that_is_refused_after_on_load_is_told_to_stop(make_host, write_plugin, tmp_path: Path):
    body = "module_mount_url = ''\nmodule_router = APIRouter()\nmodule_router.get('/login')(lambda: 1)\n"
    body += f"def on_unload(self): open({str(tmp_path / 'stopped')!r}, 'x').close()"
    write_plugin("odd", body, "from fastapi import APIRouter")
    host = make_host()
    assert "GET /login is already taken by plugbay" in host.modules.get("odd").reason
    assert (tmp_path / "stopped").exists()


def test_a_hook_that_only_some_modules_have_fails_no_others(make_host, write_plugin):
    write_plugin("odd", "def on_tea_time(self, fast_pluggy): self.had_tea = True")
    host = make_host("good")
    host.modules.execute_all_module_hook("on_tea_time")
    assert host.get_module("odd").had_tea
    assert set(states(host).values()) == {"loaded"}


def test_a_hook_for_templates_is_not_called_again_when_another_plugin_arrives(make_host, write_plugin):
    write_plugin("odd", "times = 0\ndef after_setup_templates(self, fast_pluggy): self.times += 1")
    host = make_host("good")
    host.modules.disable("polite")
    host.modules.enable("polite")
    assert host.get_module("odd").times == 1
    assert "shout" in host.templates.env.filters


def test_a_plugin_that_fails_late_takes_its_dependents_and_templates_along(make_host, write_plugin):
    folder = write_plugin("base", "def on_tea_time(self, fast_pluggy): 1 / 0")
    (folder / "templates/base").mkdir(parents=True)
    write_plugin("leans", "depends_on = {'base': ''}")
    write_plugin("other")
    host = make_host()
    host.modules.execute_all_module_hook("on_tea_time")
    host.modules.disable("other")
    host.modules.enable("other")
    assert states(host) == {"base": "failed", "leans": "refused", "other": "loaded"}
    assert len(host.templates.env.loader.loaders) == 1


def test_a_plugin_that_switches_itself_off_is_off(make_host, write_plugin):
    write_plugin("shy", "def on_load_complete(self, fast_pluggy): fast_pluggy.modules.disable('shy')")
    assert states(make_host("good")) == {"greeter": "loaded", "polite": "loaded", "shy": "disabled"}


def test_enabling_what_is_loaded_changes_nothing(make_host):
    host = make_host("good")
    module = host.get_module("greeter")
    host.modules.enable("greeter")
    assert host.get_module("greeter") is module


def test_reload_reads_the_mended_code_of_a_refused_plugin(make_host, write_plugin):
    write_plugin("odd", "depends_on = {'nowhere': ''}")
    host = make_host()
    assert states(host) == {"odd": "refused"}
    write_plugin("odd", "depends_on = {}")
    assert host.reload() == {"odd": "loaded"}


def test_reload_sees_an_edit_of_the_same_length_in_the_same_second(
    make_host, write_plugin, monkeypatch: pytest.MonkeyPatch
):
    def write(number: int) -> None:
        folder = write_plugin("odd", f"module_version = '1.{number}'")
        os.utime(folder / "plugin.py", (0, 0))

    monkeypatch.setattr(sys, "dont_write_bytecode", False)  # as in a server, whatever the tests run with
    write(0)
    host = make_host()
    for number in range(1, 4):
        write(number)
        host.reload()
        assert host.modules.get("odd").version == f"1.{number}"


def test_two_hosts_in_one_process_each_have_their_own_code(make_host, write_plugin, tmp_path: Path):
    write_plugin("odd", "module_version = '1'")
    first = make_host()
    write_plugin("odd", "module_version = '2'")
    second = make_host()
    assert (first.modules.get("odd").version, second.modules.get("odd").version) == ("1", "2")


def test_when_the_first_of_two_is_removed_the_second_takes_its_place(make_host, client_of, write_plugin):
    write_plugin("twin", "module_version = '1'")
    write_plugin("twin", "module_version = '2'", kind="domains")
    host = make_host()
    messages = PluginService.remove_plugin("twin", host)
    assert messages[0] == FlashMessage("twin is removed. Its tables stay in the store.")
    assert [(p.version, p.state.value) for p in host.modules.all()] == [("2", "loaded")]
    assert client_of(host).get("/admin/plugins").status_code == 200


def test_a_folder_that_somebody_else_deleted_can_still_be_removed(make_host, write_plugin):
    folder = write_plugin("gone")
    host = make_host()
    shutil.rmtree(folder)
    assert "gone is removed" in str(PluginService.remove_plugin("gone", host)[0])
    assert host.modules.all() == []


def test_a_folder_that_cannot_be_deleted_leaves_a_plugin_that_stays_disabled(
    make_host, write_plugin, monkeypatch: pytest.MonkeyPatch
):
    write_plugin("stuck")
    host = make_host()
    monkeypatch.setattr("plugbay.plugins.service._delete", lambda folder: folder.rmdir())  # it is not empty
    assert "stuck was not removed" in str(PluginService.remove_plugin("stuck", host)[0])
    assert host.reload() == {"stuck": "disabled"}


class Onlooker:
    """A page that is rendered while a plugin is on its way out: the import system asks it in between."""

    def __init__(self, look: Callable[[], object]) -> None:
        self.invalidate_caches = look

    def find_spec(self, *args: object) -> None:
        return None


def test_a_page_under_way_survives_that_a_plugin_goes(
    make_host, write_plugin, monkeypatch: pytest.MonkeyPatch
):
    write_plugin("odd")
    host = make_host()
    seen: list[bool] = []
    plugin = host.modules.get("odd")
    onlooker = Onlooker(lambda: seen.append(plugin.is_loaded and plugin.module is None))
    monkeypatch.setattr("sys.meta_path", [*sys.meta_path, onlooker])
    host.modules.disable("odd")
    assert seen == [False]


def test_lists_that_pages_are_reading_are_never_changed_under_them(make_host, write_plugin):
    write_plugin("odd")
    host = make_host()
    reading = iter(host.modules._plugins.values())
    write_plugin("late")
    host.reload()
    assert [plugin.name for plugin in reading] == ["odd"]


def test_a_switched_off_plugin_gives_its_name_to_no_other_of_the_same_folder_name(make_host, write_plugin):
    write_plugin("odd", "module_name = 'own'")
    write_plugin("odd", kind="domains")
    make_host().modules.disable("own")
    assert states(make_host()) == {"own": "disabled", "odd": "loaded"}


def test_a_plugin_that_changed_its_name_is_known_by_the_newer_one(make_host, write_plugin, clock):
    for name in ("alpha", "beta"):
        write_plugin("odd", f"module_name = {name!r}")
        host = make_host()
        host.modules.enable(next(plugin.name for plugin in host.modules.all()))
        host.modules.disable(name)
        clock.advance(1)
    assert states(make_host()) == {"beta": "disabled"}


@pytest.fixture
def hanging(write_plugin, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A plugin whose `on_unload` does not end before the test does; the host waits a moment for it."""
    let_go = threading.Event()
    monkeypatch.setattr("builtins.let_go", let_go, raising=False)
    monkeypatch.setattr("plugbay.plugins.activation.UNLOAD_LIMIT_S", 0.05)
    write_plugin("stubborn", "def on_unload(self): let_go.wait()")
    yield
    let_go.set()


def test_a_plugin_that_hangs_while_it_goes_is_named_and_holds_up_nobody(
    hanging, make_host, client_of, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    host = make_host("good")
    told = PluginService.disable_plugin("stubborn", host)
    assert told.level == "warning"
    assert "stubborn is disabled, but its on_unload did not end within 0.05 s" in told.text
    assert "unload_hangs" in caplog.text
    assert states(host)["stubborn"] == "disabled"
    with monkeypatch.context() as patient:
        patient.setattr("plugbay.plugins.activation.UNLOAD_LIMIT_S", 60)
        assert PluginService.disable_plugin("polite", host).level == "success"
    assert "on_unload did not end" in client_of(host).get("/admin/plugins").text
    assert host.modules.enable("stubborn").is_loaded


def test_the_page_of_a_disabled_plugin_that_hung_does_not_call_it_refused(hanging, make_host, client_of):
    host = make_host()
    host.modules.disable("stubborn")
    page = client_of(host).get("/admin/base_module/stubborn/overview").text
    assert ">It is disabled<" in page
    assert "on_unload did not end" in page


def test_the_server_stops_although_a_plugin_hangs(hanging, make_host):
    host = make_host("good")
    host.stop()
    assert host.modules.loaded() == []


@pytest.mark.parametrize(
    "entry",
    ["None, '/x'", "5, '/x'", "'Odd', 7", "'Odd', icon=None", "'Odd', position='first'", "'Odd', role=3"],
)
def test_a_menu_entry_that_no_page_could_show_is_its_plugins_failure(
    make_host, client_of, write_plugin, entry: str
):
    write_plugin("odd", f"def on_load_complete(self, fast_pluggy): fast_pluggy.menu.add('odd', {entry})")
    host = make_host("good")
    assert states(host)["odd"] == "failed"
    assert "of a menu entry must be" in host.modules.get("odd").reason
    for page in ("/greeter/", "/admin/plugins", "/admin/menu"):
        assert client_of(host).get(page).status_code == 200


def test_a_plugin_that_reloads_all_while_it_is_loaded_is_refused(make_host, write_plugin):
    write_plugin("eager", "def on_load_complete(self, fast_pluggy): fast_pluggy.reload()")
    host = make_host("good")
    assert states(host) == {"eager": "refused", "greeter": "loaded", "polite": "loaded"}
    assert host.modules.get("eager").reason == "plugins cannot be reloaded while they are being loaded"
    assert host.records.changes()["reload"] == 0
    assert host.reload()["eager"] == "refused"
