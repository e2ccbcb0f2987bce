"""The plugin list and the overview through HTTP, on a real host."""

import html
import os
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from plugbay import Plugbay

LIST = "/admin/plugins"


def overview(name: str) -> str:
    return f"/admin/base_module/{name}/overview"


def rows(page: str) -> dict[str, str]:
    """The text of each row of the plugin table, by the name that it begins with."""
    table = re.search(r"<tbody>(.*)</tbody>", page, re.DOTALL)[1]
    texts = [words(row) for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)]
    return {text.split()[0]: text for text in texts}


def words(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup)).split())


@pytest.fixture
def good(make_host) -> Plugbay:
    return make_host("good")


@pytest.fixture
def client(good: Plugbay, client_of) -> TestClient:
    return client_of(good)


def write_plugin(folder: Path, body: str = "    def on_load(self): pass\n", head: str = "") -> None:
    folder.mkdir(parents=True)
    (folder / "plugin.py").write_text(f"from plugbay import BaseModule\n{head}class X(BaseModule):\n{body}")


def test_each_plugin_has_a_row_with_name_version_state_and_source(client: TestClient):
    found = rows(client.get(LIST).text)
    assert list(found) == ["greeter", "polite"]
    assert found["greeter"].startswith("greeter 1.2.3 · folder 1.2.3 loaded folder Settings Disable")


def test_failed_and_refused_plugins_are_listed_with_their_reason(make_host, client_of):
    page = client_of(make_host("broken")).get(LIST).text
    found = rows(page)
    assert (
        "failed import: ModuleNotFoundError: No module named 'a_module_that_does_not_exist'"
        in found["import_error"]
    )
    assert "refused needs nowhere_to_be_found >=1, which is not installed" in found["needs_missing"]
    assert "failed on_load: SystemExit: goodbye, all of you" in found["exits"]
    assert "loaded" in found["fine"]
    assert "<b>no</b>" not in page
    assert "&lt;b&gt;no&lt;/b&gt; luck" in page


def test_the_list_counts_states_and_tells_since_when_the_server_runs(client: TestClient):
    text = words(client.get(LIST).text)
    assert "2 loaded · server started 2026-11-15 12:00 UTC" in text


def test_a_row_leads_to_overview_settings_toggle_requirements_and_removal(client: TestClient):
    page = client.get(LIST).text
    for target in (
        'href="/admin/base_module/greeter/overview"',
        'href="/admin/base_module/greeter/settings"',
        'action="/admin/plugins/greeter/toggle"',
        'action="/admin/base_module/greeter/install-requirements"',
        'href="/admin/base_module/greeter/overview?confirm=remove#remove"',
        'action="/admin/reload"',
        'action="/admin/restart"',
        'action="/admin/restart/force"',
    ):
        assert target in page


def test_a_host_without_plugins_says_what_to_do(make_host, client_of):
    text = words(client_of(make_host()).get(LIST).text)
    assert "No plugin found" in text
    assert "plugbay plugin new hello" in text


def test_of_two_with_one_name_the_second_is_shown_without_actions(make_host, client_of, tmp_path: Path):
    write_plugin(tmp_path / "domains/greeter")
    page = client_of(make_host("good")).get(LIST).text
    assert page.count('action="/admin/plugins/greeter/toggle"') == 1
    assert "two plugins are named greeter" in words(page)


def test_what_a_plugin_says_of_itself_is_text_and_not_markup(make_host, client_of):
    client = client_of(make_host("admin"))
    for page in (client.get(LIST).text, client.get(overview("shop")).text):
        assert "<script>alert" not in page
        assert "Sells &lt;script&gt;alert(1)&lt;/script&gt; things." in page


def test_a_folder_with_an_odd_name_can_be_looked_at(make_host, client_of, tmp_path: Path):
    name = "<b>Odd & 100%?#"
    write_plugin(tmp_path / "plugins" / name)
    client = client_of(make_host())
    page = client.get(LIST).text
    assert "&lt;b&gt;Odd &amp; 100%?#" in page
    link = re.search(r'href="([^"]*Odd[^"]*/overview)"', page)[1]
    assert "a letter first" in words(client.get(link).text)


def test_the_overview_tells_what_a_plugin_contributes(client: TestClient):
    page = client.get(overview("greeter")).text
    text = words(page)
    assert "greeter 1.2.3 loaded" in text
    assert text.index("Settings") < text.index("Routes")
    assert "Version 1.2.3" in text
    assert "Mounted at /greeter" in text
    assert "GET /greeter/" in text
    assert "POST /greeter/ping" in text
    assert "Greetings (main)" in text
    assert "More greetings (main)" in text
    assert "Listens to greeting.sent" in text
    assert "1 part of /metrics" in text
    assert "Scripts greeter.js" in text
    assert "is needed by polite" in text
    assert "It declares none." in text


def test_the_overview_lists_settings_with_their_origin_and_no_secret(make_host, client_of, monkeypatch):
    monkeypatch.setenv("GREETER_GREETING", "Hi")
    host = make_host("good")
    host.modules.save_settings("greeter", {"times": 3, "password": "hunter2"})
    page = client_of(host).get(overview("greeter")).text
    text = words(page)
    assert "greeting Hi GREETER_GREETING" in text
    assert "times 3 settings page" in text
    assert "password a secret settings page" in text
    assert "hunter2" not in page


def test_dependencies_are_met_or_say_what_is_wrong(make_host, client_of):
    client = client_of(make_host("good"))
    assert "needs greeter >=1.0,<2 met" in words(client.get(overview("polite")).text)
    broken = client_of(make_host("broken"))
    assert "unmet needs fine >=2, but fine is 1.0" in words(broken.get(overview("needs_newer")).text)
    missing = broken.get(overview("needs_missing")).text
    assert "unmet needs nowhere_to_be_found >=1, which is not installed" in words(missing)
    assert "base_module/nowhere_to_be_found" not in missing


def test_a_failure_shows_its_reason_and_a_folded_traceback(make_host, client_of):
    page = client_of(make_host("broken")).get(overview("raises_in_on_load")).text
    assert "It failed" in page
    assert "<details" in page
    assert "<details open" not in page
    assert "Traceback (most recent call last)" in page
    assert "RuntimeError: &lt;b&gt;no&lt;/b&gt; luck in on_load" in page


def test_each_broken_plugin_has_an_overview(make_host, client_of):
    host = make_host("broken")
    client = client_of(host)
    for plugin in host.modules.all():
        response = client.get(overview(plugin.name))
        assert response.status_code == 200
        assert plugin.state.value in words(response.text)


def test_a_disabled_plugin_shows_what_is_known_of_it(make_host, client_of):
    make_host("good").modules.disable("polite")
    page = words(client_of(make_host()).get(overview("polite")).text)
    assert "It is disabled: its code is not read until it is enabled." in page
    assert "It serves no routes while it is not loaded." in page


def test_requirements_are_installed_missing_or_refused(make_host, client_of, tmp_path: Path):
    host = make_host("good", config={"install_module_requirement_at_start": False})
    client = client_of(host)
    declared = tmp_path / "plugins/polite/requirements.txt"
    declared.write_text("fastapi>=0.1\nno-such-package-xyz>=2\n")
    text = words(client.get(overview("polite")).text)
    assert "fastapi>=0.1 installed" in text
    assert "no-such-package-xyz>=2 missing Install requirements" in text
    declared.write_text("--index-url=<elsewhere>\n")
    assert "The requirement '--index-url=<elsewhere>' is refused" in words(
        client.get(overview("polite")).text
    )
    declared.write_bytes(b"\xff\xfe")
    assert client.get(overview("polite")).status_code == 200


def test_what_a_plugin_lacked_when_it_was_read_is_in_the_list(make_host, client_of, tmp_path: Path):
    write_plugin(tmp_path / "plugins/needy")
    (tmp_path / "plugins/needy/requirements.txt").write_text("no-such-package-xyz>=2\n")
    host = make_host(config={"install_module_requirement_at_start": False})
    assert "Lacks no-such-package-xyz>=2" in rows(client_of(host).get(LIST).text)["needy"]


@pytest.mark.parametrize("confirm", ["", "?confirm=other", "?confirm=remove"])
def test_removal_is_asked_for_and_opens_when_the_list_leads_there(client: TestClient, confirm: str):
    page = client.get(overview("polite") + confirm).text
    assert ("<details open" in page) == (confirm == "?confirm=remove")
    assert "Yes, remove polite" in page
    assert "is deleted with all that is in it" in page


def test_what_others_need_cannot_be_removed(client: TestClient):
    page = client.get(overview("greeter")).text
    assert "It is needed by polite: disable that first." in page
    assert 'type="submit" disabled' in page


def test_removing_a_link_says_that_its_folder_stays(make_host, client_of, tmp_path: Path):
    write_plugin(tmp_path / "elsewhere/linked")
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins/linked").symlink_to(tmp_path / "elsewhere/linked")
    assert "the folder that it leads to stays" in words(client_of(make_host()).get(overview("linked")).text)


def test_an_installed_package_has_a_page_too(tmp_path: Path, clock, client_of, monkeypatch):
    from fastapi import FastAPI

    monkeypatch.setenv("PLUGBAY_ADMIN_PASSWORD", "correct horse battery staple")
    host = Plugbay(FastAPI(), tmp_path, clock=clock)
    client = client_of(host)
    page = words(client.get(overview("ui_tools")).text)
    assert "Package plugbay-ui-tools" in page
    assert "To uninstall it: pip uninstall plugbay-ui-tools" in page
    assert "plugbay-ui-tools" in rows(client.get(LIST).text)["ui_tools"]
    host.modules.unload_all()


def test_names_and_messages_that_are_no_text_do_no_harm(make_host, client_of, tmp_path: Path):
    write_plugin(tmp_path / "plugins" / os.fsdecode(b"bad\xff"))
    write_plugin(tmp_path / "plugins/lone", "    def on_load(self): raise ValueError('half \\ud800 one')\n")
    client = client_of(make_host())
    page = client.get(LIST)
    assert "half ? one" in page.text
    links = re.findall(r'href="([^"]*/overview)"', page.text)
    assert links[0] == "/admin/base_module/bad%3F/overview"
    assert all(client.get(link).status_code == 200 for link in links)
    assert client.post("/admin/plugins/bad%3F/toggle").status_code == 303
