"""Two processes on one store: what is done to plugins in one is followed by the other."""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from fastapi.testclient import TestClient
from plugbay import Plugbay
from plugbay.errors import StoreUnavailable
from plugbay.menu import MenuOverride
from plugbay.plugins.service import PluginService


@pytest.fixture
def here(make_host: Callable[..., Plugbay]) -> Plugbay:
    """The process where an admin presses the buttons."""
    return make_host("good")


@pytest.fixture
def there(here: Plugbay, make_host: Callable[..., Plugbay]) -> Plugbay:
    """Another process on the same store."""
    return make_host()


@pytest.fixture
def heard(there: Plugbay) -> list[str]:
    """Whose settings the other process heard to have changed."""
    names: list[str] = []
    there.events.on("plugbay.settings_changed", lambda event: names.append(event.data["name"]))
    return names


def states(host: Plugbay) -> dict[str, str]:
    return {plugin.name: plugin.state.value for plugin in host.modules.all()}


def test_a_setting_saved_here_is_in_effect_there(here: Plugbay, there: Plugbay, heard: list[str]) -> None:
    here.modules.save_settings("greeter", {"times": 3, "password": "hush"})
    there.follower.look()
    assert there.get_module("greeter").module_settings.times == 3
    assert there.get_module("greeter").module_settings.password.get_secret_value() == "hush"
    assert heard == ["greeter"]
    here.modules.save_settings("greeter", {}, resets=["times"])
    there.follower.look()
    assert there.get_module("greeter").module_settings.times == 1


def test_a_setting_is_told_once_and_not_to_who_saved_it(
    here: Plugbay, there: Plugbay, heard: list[str]
) -> None:
    there.modules.save_settings("greeter", {"times": 2})
    there.follower.look()
    here.modules.save_settings("greeter", {"times": 2})
    there.follower.look()
    there.follower.look()
    assert heard == ["greeter"]


def test_a_stored_value_that_fits_nowhere_gives_way_there_as_it_does_here(
    here: Plugbay, there: Plugbay, heard: list[str]
) -> None:
    model = here.modules.get("greeter").module_class.module_settings
    here.modules.save_settings("greeter", {"times": 4})
    here.records.save_settings("greeter", model, {"times": 99})
    there.follower.look()
    assert there.get_module("greeter").module_settings.times == 1
    assert heard == ["greeter"]


def test_switching_off_and_on_is_followed(here: Plugbay, there: Plugbay) -> None:
    here.modules.disable("polite")
    here.modules.disable("greeter")
    there.follower.look()
    assert states(there) == {"greeter": "disabled", "polite": "disabled"}
    assert there.modules.routes_of("greeter") == []
    here.modules.enable("greeter")
    here.modules.enable("polite")
    there.follower.look()
    assert states(there) == {"greeter": "loaded", "polite": "loaded"}


def test_what_still_needs_a_plugin_that_went_is_refused_and_comes_back_with_it(
    here: Plugbay, there: Plugbay
) -> None:
    here.records.set_enabled("greeter", "plugin:greeter", False)
    there.follower.look()
    assert states(there) == {"greeter": "disabled", "polite": "refused"}
    here.records.set_enabled("greeter", "plugin:greeter", True)
    there.follower.look()
    assert states(there) == {"greeter": "loaded", "polite": "loaded"}


def test_nothing_is_touched_that_nobody_changed(here: Plugbay, there: Plugbay, heard: list[str]) -> None:
    modules = [plugin.module for plugin in there.modules.loaded()]
    here.modules.save_settings("greeter", {"times": 3})
    here.modules.disable("polite")
    here.modules.enable("polite")
    for _ in range(3):
        there.follower.look()
    assert [plugin.module for plugin in there.modules.loaded()] == modules
    assert heard == ["greeter"]


def test_who_has_stopped_loads_nothing_any_more(here: Plugbay, there: Plugbay) -> None:
    there.follower.stop()
    there.modules.unload_all()
    here.reload()
    there.follower.look()
    assert there.modules.loaded() == []


def test_a_plugin_removed_here_goes_there_and_may_come_again(here: Plugbay, there: Plugbay, tmp_path: Path):
    kept = shutil.copytree(tmp_path / "plugins/polite", tmp_path / "kept")
    PluginService.remove_plugin("polite", here)
    there.follower.look()
    assert states(there) == {"greeter": "loaded"}
    shutil.copytree(kept, tmp_path / "plugins/polite")
    assert here.reload() == {"greeter": "loaded", "polite": "loaded"}
    there.follower.look()
    assert states(there) == {"greeter": "loaded", "polite": "loaded"}


def test_a_reload_is_followed_once_and_not_echoed(here: Plugbay, there: Plugbay) -> None:
    first = [host.get_module("greeter") for host in (here, there)]
    here.reload()
    there.follower.look()
    second = [host.get_module("greeter") for host in (here, there)]
    for host in (here, there):
        host.follower.look()
    assert not set(map(id, first)) & set(map(id, second))
    assert [host.get_module("greeter") for host in (here, there)] == second


def test_a_menu_that_was_changed_here_is_changed_there(here: Plugbay, there: Plugbay) -> None:
    here.menu.override({"greeter:/greeter/": MenuOverride(label="Good day")})
    assert "Good day" in [entry.label for entry in there.menu.all_entries()]


def test_a_plugin_that_failed_for_want_of_a_setting_is_tried_again(here: Plugbay, make_host, tmp_path: Path):
    folder = tmp_path / "plugins/wanting"
    folder.mkdir()
    (folder / "plugin.py").write_text(
        "import pydantic, plugbay\n"
        "class Needs(pydantic.BaseModel):\n    url: str\n"
        "class Wanting(plugbay.BaseModule):\n    module_settings = Needs\n    def on_load(self): pass\n"
    )
    here.reload()
    there = make_host()
    assert states(there)["wanting"] == "failed"
    here.modules.save_settings("wanting", {"url": "https://example.org"})
    there.follower.look()
    assert there.get_module("wanting").module_settings.url == "https://example.org"


def test_a_store_that_is_away_is_reported_once_and_asked_again(
    here: Plugbay,
    there: Plugbay,
    heard: list[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here.modules.save_settings("greeter", {"times": 3})

    def away(*_: object) -> None:
        raise StoreUnavailable(where="there", reason="away")

    for place in ("changes", "settings"):
        with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
            patch.setattr(there.records, place, away)
            there.follower.look()
            there.follower.look()
    assert caplog.text.count("changes_not_seen") == 1
    assert heard == []
    there.follower.look()
    assert heard == ["greeter"]


def test_a_running_server_looks_by_itself_and_its_thread_ends_with_it(
    here: Plugbay, there: Plugbay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plugbay.plugins.service.LOOK_EVERY_S", 0.01)
    looks = iter(range(3))
    seen = SimpleNamespace(all=False)
    monkeypatch.setattr(there.follower, "look", lambda: setattr(seen, "all", next(looks, None) is None))
    with TestClient(there.app):
        thread = there.follower._thread
        while not seen.all:
            thread.join(0.01)
    thread.join(60)
    assert not thread.is_alive()
