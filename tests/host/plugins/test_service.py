from pathlib import Path

import pytest
from fastapi.responses import RedirectResponse
from plugbay import FlashMessage, PluginService
from plugbay.errors import UnknownPlugin


def test_disable_and_enable_answer_with_a_message(make_host):
    host = make_host("good")
    assert PluginService.disable_plugin("polite", host) == FlashMessage(
        "polite is disabled. Its tables stay in the store."
    )
    assert PluginService.enable_plugin("polite", host) == FlashMessage("polite is enabled.")


def test_disabling_what_others_need_names_them(make_host):
    message = PluginService.disable_plugin("greeter", make_host("good"))
    assert message == FlashMessage("greeter is needed by polite: disable that first.", "error")


def test_enabling_what_cannot_load_says_why(make_host):
    host = make_host("broken")
    PluginService.disable_plugin("needs_newer", host)
    message = PluginService.enable_plugin("needs_newer", host)
    assert message == FlashMessage(
        "needs_newer is enabled, but refused: needs fine >=2, but fine is 1.0", "error"
    )


@pytest.mark.parametrize(
    "operation", ["enable_plugin", "disable_plugin", "install_module_requirements", "remove_plugin"]
)
def test_an_unknown_plugin_is_unknown_to_each_operation(make_host, operation: str):
    host = make_host()
    with pytest.raises(UnknownPlugin, match="There is no plugin named 'nobody'"):
        getattr(PluginService, operation)("nobody", host)


def test_removing_deletes_the_folder_and_leads_back_to_the_list(make_host, tmp_path: Path):
    host = make_host("good")
    message, redirect = PluginService.remove_plugin("polite", host)
    assert message == FlashMessage("polite is removed. Its tables stay in the store.")
    assert isinstance(redirect, RedirectResponse)
    assert redirect.headers["location"] == "/admin/plugins"
    assert not (tmp_path / "plugins/polite").exists()
    assert "polite" not in [plugin.name for plugin in host.modules.all()]


def test_a_symlink_is_unlinked_and_not_followed(make_host, tmp_path: Path):
    real = tmp_path / "elsewhere/linked"
    real.mkdir(parents=True)
    (real / "plugin.py").write_text(
        "from plugbay import BaseModule\nclass X(BaseModule):\n    def on_load(self): pass\n"
    )
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins/linked").symlink_to(real)
    host = make_host()
    assert host.modules.is_module_loaded("linked")
    PluginService.remove_plugin("linked", host)
    assert (real / "plugin.py").is_file()
    assert not (tmp_path / "plugins/linked").is_symlink()


def test_what_others_need_is_not_removed(make_host, tmp_path: Path):
    message, _ = PluginService.remove_plugin("greeter", make_host("good"))
    assert message.level == "error"
    assert "needed by polite" in message.text
    assert (tmp_path / "plugins/greeter/plugin.py").is_file()


def test_nothing_to_install_is_said_so(make_host):
    message = PluginService.install_module_requirements("greeter", make_host("good"))
    assert message == FlashMessage("greeter has all that it needs.", "info")


def test_a_refused_requirement_is_a_message(make_host, tmp_path: Path):
    host = make_host("good")
    (tmp_path / "plugins/polite/requirements.txt").write_text("--index-url=somewhere\n")
    message = PluginService.install_module_requirements("polite", host)
    assert message.level == "error"
    assert "options for the installer are not allowed" in message.text
