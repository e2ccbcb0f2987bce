"""Loading, containment and unloading of plugins, on a real host with sample plugins on disk."""

import logging
import shutil
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from plugbay import BaseModule, InvalidConfig
from plugbay.errors import StoreUnavailable, UnknownPlugin

PLUGIN = "from plugbay import BaseModule\nclass X(BaseModule):\n    {field}\n    def on_load(self): pass\n"
STATES_OF_THE_BROKEN = {
    "Bad-Name": ("refused", "a plugin's name is at most 40 lower-case letters"),
    "bad_migration": ("failed", "bad_migration"),
    "exits": ("failed", "on_load: SystemExit: goodbye, all of you"),
    "exits_at_import": ("failed", "import: SystemExit: 3"),
    "fine": ("loaded", ""),
    "import_error": ("failed", "import: ModuleNotFoundError: No module named 'a_module_that_does_not_exist'"),
    "mounts": ("refused", "is a Mount, which the login cannot guard"),
    "needs_broken": ("refused", "needs raises_in_on_load, which failed"),
    "needs_missing": ("refused", "needs nowhere_to_be_found >=1, which is not installed"),
    "needs_newer": ("refused", "needs fine >=2, but fine is 1.0"),
    "raises_in_after_setup_templates": ("failed", "after_setup_templates: RuntimeError: <b>no</b> luck"),
    "raises_in_on_load": ("failed", "on_load: RuntimeError: <b>no</b> luck"),
    "raises_in_on_load_complete": ("failed", "on_load_complete: RuntimeError: <b>no</b> luck"),
    "takes_login": ("refused", "its route POST /login is already taken by plugbay"),
    "without_class": ("refused", "must define exactly one subclass of plugbay.BaseModule; found: none"),
    "without_on_load": ("refused", "does not implement on_load()"),
}


def test_every_broken_plugin_is_contained_and_says_why(make_host, client_of):
    host = make_host("broken")
    found = {plugin.name: plugin for plugin in host.modules.all()}
    assert set(found) == set(STATES_OF_THE_BROKEN)
    for name, (state, reason) in STATES_OF_THE_BROKEN.items():
        assert (name, found[name].state.value) == (name, state)
        assert reason in found[name].reason
    assert client_of(host).get("/fine/").json() == "fine"


def test_a_failure_keeps_its_traceback_for_the_overview(make_host):
    plugin = make_host("broken").modules.get("raises_in_on_load")
    assert "plugin.py" in plugin.traceback
    assert "RuntimeError" in plugin.traceback


def test_nothing_of_a_failed_plugin_remains(make_host):
    host = make_host("broken")
    assert host.menu.of_owner("raises_in_on_load_complete") == []
    assert not host.modules.is_module_loaded("raises_in_on_load_complete")
    assert host.get_module("raises_in_on_load_complete") is None


def test_a_circle_of_dependencies_is_refused_and_named(make_host):
    plugins = make_host("cyclic").modules.all()
    assert [plugin.state.value for plugin in plugins] == ["refused"] * 3
    assert plugins[0].reason == "depends on itself in a circle: cycle_a → cycle_b → cycle_c → cycle_a"


def test_failures_are_logged_by_name(make_host, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        make_host("broken")
    assert 'plugin_refused plugin=needs_newer reason="needs fine >=2, but fine is 1.0"' in caplog.text
    assert "plugin_failed plugin=import_error step=import" in caplog.text


def test_a_good_plugin_brings_all_that_it_has(make_host, client_of):
    host = make_host("good")
    client = client_of(host)
    page = client.get("/greeter/").text
    assert "HELLO!" in page
    assert "/static/greeter/greeter.css" in page
    assert "/static/greeter/greeter.js" in page
    assert "More greetings" in page
    assert "greetings 1" in client.get("/metrics").text
    with host.store.connect() as connection:
        assert sa.inspect(connection).has_table("greetings")


def test_initialisation_returns_the_state_of_each_plugin(make_host):
    assert make_host("good").modules.initialize_plugins_in_order() == {
        "greeter": "loaded",
        "polite": "loaded",
    }


def test_what_is_needed_is_loaded_first(make_host):
    assert [plugin.name for plugin in make_host("good").modules.loaded()] == ["greeter", "polite"]


def test_is_module_loaded_takes_a_name_or_a_module(make_host):
    host = make_host("good")
    module = host.get_module("greeter")
    assert module is not None
    assert host.modules.is_module_loaded("greeter")
    assert host.modules.is_module_loaded(module)
    assert not host.modules.is_module_loaded("nobody")
    assert not host.modules.is_module_loaded(BaseModule())


def test_template_loaders_are_those_of_loaded_modules_with_templates(make_host):
    host = make_host("good")
    assert list(host.modules.get_template_loaders()) == ["greeter"]
    host.modules.disable("polite")
    host.modules.disable("greeter")
    assert host.modules.get_template_loaders() == {}


def test_registering_all_routes_again_changes_nothing(make_host, client_of):
    host = make_host("good")
    host.modules.register_all_routes()
    client = client_of(host)
    assert client.get("/greeter/").status_code == 200
    assert client.get("/metrics").status_code == 200


def test_a_hook_is_called_on_every_loaded_module(make_host):
    host = make_host("good")
    called: list[object] = []
    for plugin in host.modules.loaded():
        plugin.module.on_something = called.append
    host.modules.execute_all_module_hook("on_something")
    assert called == [host, host]


def test_discovery_takes_only_the_two_types(make_host, tmp_path: Path):
    with pytest.raises(ValueError, match="'plugin' or 'domain'"):
        make_host().modules.discover_plugins(tmp_path, "package")


def test_domains_are_plugins_in_their_own_folder(make_host, tmp_path: Path):
    shutil.copytree(Path(__file__).parents[2] / "plugins/broken/fine", tmp_path / "domains/fine")
    plugin = make_host().modules.get("fine")
    assert (plugin.state.value, plugin.source.kind) == ("loaded", "domain")


def test_of_two_plugins_of_one_name_the_plugin_folder_wins_and_both_are_named(make_host, tmp_path: Path):
    shutil.copytree(Path(__file__).parents[2] / "plugins/broken/fine", tmp_path / "domains/fine")
    shutil.copytree(Path(__file__).parents[2] / "plugins/broken/fine", tmp_path / "plugins/fine")
    first, second = make_host().modules.all()
    assert (first.state.value, first.source.kind) == ("loaded", "plugin")
    assert second.state.value == "refused"
    assert str(tmp_path / "domains/fine") in second.reason
    assert str(tmp_path / "plugins/fine") in second.reason


def test_an_own_name_wins_over_the_folder_also_when_the_plugin_is_disabled(make_host, tmp_path: Path):
    code = PLUGIN.format(field="module_name = 'own'")
    (tmp_path / "plugins/folder").mkdir(parents=True)
    (tmp_path / "plugins/folder/__init__.py").write_text(code)
    host = make_host()
    assert host.modules.get("own").is_loaded
    host.modules.disable("own")
    again = make_host().modules.all()
    assert [(plugin.name, plugin.state.value) for plugin in again] == [("own", "disabled")]


def test_a_disabled_plugin_is_not_imported(make_host, tmp_path: Path):
    host = make_host("good")
    host.modules.disable("polite")
    (tmp_path / "plugins/polite/plugin.py").write_text("raise RuntimeError('imported')")
    assert make_host().modules.get("polite").state.value == "disabled"


def test_disabling_takes_back_everything_at_once(make_host, client_of):
    host = make_host("good")
    client = client_of(host)
    module = host.get_module("greeter")
    host.modules.disable("polite")
    host.modules.disable("greeter")
    assert client.get("/greeter/").status_code == 404
    assert client.get("/static/greeter/greeter.css").status_code == 404
    assert "greetings" not in client.get("/metrics").text
    assert host.menu.of_owner("greeter") == []
    assert "shout" not in host.templates.env.filters
    assert "/greeter/" not in host.app.openapi()["paths"]
    host.events.emit("greeting.sent")
    assert module.heard == ["goodbye"]
    assert not [name for name in sys.modules if name.endswith(".greeter.plugin")]


def test_enabling_brings_everything_back_without_a_restart(make_host, client_of):
    host = make_host("good")
    client = client_of(host)
    host.modules.disable("polite")
    host.modules.disable("greeter")
    host.modules.enable("greeter")
    assert "HELLO!" in client.get("/greeter/").text
    assert "greetings 1" in client.get("/metrics").text


def test_several_that_need_a_plugin_are_all_named(tmp_path, make_host):
    shutil.copytree(Path(__file__).parents[2] / "plugins/good/polite", tmp_path / "plugins/rude")
    host = make_host("good")
    with pytest.raises(Exception, match="greeter is needed by polite, rude: disable those first"):
        host.modules.disable("greeter")


def test_what_others_need_cannot_be_disabled(make_host):
    host = make_host("good")
    with pytest.raises(Exception, match="greeter is needed by polite: disable that first"):
        host.modules.disable("greeter")
    assert host.modules.is_module_loaded("greeter")


def test_enabling_what_was_missing_also_loads_those_who_waited_for_it(make_host):
    host = make_host("good")
    host.modules.disable("polite")
    host.modules.disable("greeter")
    host.modules.enable("polite")
    assert host.modules.get("polite").reason == "needs greeter >=1.0,<2, which is disabled"
    host.modules.enable("greeter")
    assert host.modules.is_module_loaded("polite")


def test_a_disabled_plugin_stays_disabled_over_a_restart(make_host):
    make_host("good").modules.disable("polite")
    assert not make_host().modules.is_module_loaded("polite")


def test_reload_reads_changed_code_and_new_folders(make_host, client_of, tmp_path: Path):
    host = make_host("good")
    client = client_of(host)
    file = tmp_path / "plugins/greeter/plugin.py"
    file.write_text(file.read_text().replace('"pong"', '"ping pong"'))
    shutil.copytree(Path(__file__).parents[2] / "plugins/broken/fine", tmp_path / "plugins/fine")
    assert host.reload() == {"fine": "loaded", "greeter": "loaded", "polite": "loaded"}
    assert client.post("/greeter/ping").json() == {"answer": "ping pong"}


def test_reload_forgets_what_is_gone(make_host, tmp_path: Path):
    host = make_host("good")
    shutil.rmtree(tmp_path / "plugins/polite")
    host.reload()
    with pytest.raises(UnknownPlugin, match="no plugin named 'polite'"):
        host.modules.get("polite")


@pytest.mark.parametrize("question", ["name_of", "switches"])
def test_a_reload_while_the_store_is_away_takes_no_plugin_out_of_service(
    make_host, client_of, monkeypatch: pytest.MonkeyPatch, question: str
):
    host = make_host("good")
    module = host.get_module("greeter")

    def away(*_: object) -> None:
        raise StoreUnavailable(where="there", reason="away")

    with monkeypatch.context() as patch:
        patch.setattr(host.records, question, away)
        with pytest.raises(StoreUnavailable):
            host.reload()
    assert host.get_module("greeter") is module
    assert client_of(host).post("/greeter/ping").status_code == 200
    assert host.reload() == {"greeter": "loaded", "polite": "loaded"}


def test_a_store_that_goes_away_in_the_midst_of_a_reload_costs_only_the_plugin_that_asked(
    make_host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    host = make_host("good")
    (tmp_path / "plugins/folder").mkdir()
    (tmp_path / "plugins/folder/plugin.py").write_text(PLUGIN.format(field='module_name = "itself"'))
    ask = host.records.is_enabled

    def answered(name: str) -> bool:
        if name == "itself":
            raise StoreUnavailable(where="there", reason="away")
        return ask(name)

    monkeypatch.setattr(host.records, "is_enabled", answered)
    assert host.reload() == {"greeter": "loaded", "polite": "loaded", "itself": "failed"}
    assert "does not answer" in host.modules.get("itself").reason


def test_reload_looks_again_in_every_folder_that_was_ever_named(
    make_host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shutil.copytree(Path(__file__).parents[2] / "plugins/broken/fine", tmp_path / "more/fine")
    host = make_host("good")
    monkeypatch.chdir(tmp_path)
    for folder in ("more", "more", "plugins"):
        host.modules.discover_plugins(folder, "plugin")
    monkeypatch.chdir("/")
    assert host.reload() == {"fine": "loaded", "greeter": "loaded", "polite": "loaded"}
    assert [plugin.name for plugin in host.modules.all()] == ["fine", "greeter", "polite"]


def test_the_lifecycle_is_told_to_listeners(make_host):
    host = make_host("good")
    heard = []
    for name in ("plugin_loaded", "plugin_unloaded", "templates_ready"):
        host.events.on(f"plugbay.{name}", lambda event: heard.append((event.name, event.data.get("name"))))
    host.modules.disable("polite")
    host.modules.enable("polite")
    assert heard == [
        ("plugbay.plugin_unloaded", "polite"),
        ("plugbay.templates_ready", None),
        ("plugbay.plugin_loaded", "polite"),
    ]


def test_a_bad_variable_refuses_the_start_and_names_itself(make_host, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GREETER_TIMES", "many")
    with pytest.raises(
        InvalidConfig, match=r"GREETER_TIMES has the value 'many', which is not valid: .*integer"
    ):
        make_host("good")


def test_settings_are_saved_and_take_effect_at_once(make_host, client_of):
    host = make_host("good")
    host.modules.save_settings("greeter", {"greeting": "Salut", "times": 2})
    assert client_of(host).get("/greeter/").text.count("SALUT!") == 2
    assert make_host().get_module("greeter").module_settings.greeting == "Salut"


def test_a_stored_value_that_became_invalid_gives_way_to_the_default(
    make_host, caplog: pytest.LogCaptureFixture
):
    host = make_host("good")
    host.modules.save_settings("greeter", {"times": 99})
    assert host.get_module("greeter").module_settings.times == 1
    assert "less than or equal to 5" in host.modules.get("greeter").settings.replaced["times"]
    assert "setting_replaced plugin=greeter setting=times" in caplog.text


def test_a_secret_setting_is_encrypted_in_the_store(make_host):
    host = make_host("good")
    host.modules.save_settings("greeter", {"password": "hunter2"})
    with host.store.connect() as connection:
        stored = connection.scalar(sa.text("SELECT value FROM plugin_settings WHERE field = 'password'"))
    assert "hunter2" not in stored
    assert host.get_module("greeter").module_settings.password.get_secret_value() == "hunter2"
    assert "hunter2" not in repr(host.get_module("greeter").module_settings)


def test_a_plugin_that_fails_in_its_last_hook_takes_its_dependents_with_it(make_host, tmp_path: Path):
    make = tmp_path / "plugins/leans"
    make.mkdir(parents=True)
    code = PLUGIN.format(field="depends_on = {'raises_in_on_load_complete': ''}")
    (make / "plugin.py").write_text(code)
    plugin = make_host("broken").modules.get("leans")
    assert (plugin.state.value, plugin.reason) == (
        "refused",
        "needs raises_in_on_load_complete, which failed",
    )
