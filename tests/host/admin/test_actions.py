"""What an admin can do, through HTTP on a real host: each answer is a redirect with a message."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from plugbay import Plugbay
from plugbay.admin.plugin_pages import reloaded
from starlette.types import Message, Receive, Scope, Send

LIST = "/admin/plugins"


@pytest.fixture
def host(make_host) -> Plugbay:
    return make_host("good")


@pytest.fixture
def client(host: Plugbay, client_of) -> TestClient:
    return client_of(host)


def test_toggling_disables_at_once_and_enables_again(host: Plugbay, client: TestClient):
    assert client.get("/greeter/").status_code == 200
    client.post("/admin/plugins/polite/toggle")
    response = client.post("/admin/plugins/greeter/toggle")
    assert (response.status_code, response.headers["location"]) == (303, LIST)
    assert client.get("/greeter/").status_code == 404
    page = client.get(LIST).text
    assert "greeter is disabled. Its tables stay in the store." in page
    assert ">Greetings<" not in page
    client.post("/admin/plugins/greeter/toggle")
    assert "greeter is enabled." in client.get(LIST).text
    assert client.get("/greeter/").status_code == 200


def test_two_clicks_on_one_button_do_not_undo_each_other(host: Plugbay, client: TestClient):
    assert 'name="wanted" value="disabled"' in client.get(LIST).text
    for wanted, state in (("disabled", "disabled"), ("enabled", "loaded")):
        for _ in range(2):
            client.post("/admin/plugins/polite/toggle", data={"wanted": wanted})
            assert host.modules.get("polite").state.value == state


def test_the_state_survives_a_restart(client: TestClient, make_host):
    client.post("/admin/plugins/polite/toggle")
    assert make_host().modules.get("polite").state.value == "disabled"


def test_what_others_need_stays_and_the_message_names_them(host: Plugbay, client: TestClient):
    client.post("/admin/plugins/greeter/toggle")
    assert "greeter is needed by polite: disable that first." in client.get(LIST).text
    assert host.modules.is_module_loaded("greeter")


@pytest.mark.parametrize(
    ("referer", "target"),
    [
        ("http://testserver/admin/base_module/polite/overview", "/admin/base_module/polite/overview"),
        ("http://testserver/admin/plugins?x=1&y=%C3%A9#row", "/admin/plugins?x=1&y=%C3%A9"),
        ("http://elsewhere/admin/base_module/polite/overview", LIST),
        ("http://testserver:8080/greeter/", LIST),
        ("http://testserver@elsewhere/", LIST),
        ("http://testserver//elsewhere/", LIST),
        ("http://testserver/\\elsewhere", LIST),
        ("http://[broken/", LIST),
        ("javascript:alert(1)", LIST),
        ("", LIST),
    ],
)
def test_the_way_back_leads_to_a_page_of_this_site(client: TestClient, referer: str, target: str):
    response = client.post("/admin/plugins/polite/toggle", headers={"referer": referer})
    assert (response.status_code, response.headers["location"]) == (303, target)


def test_reload_reads_changed_and_new_folders(host: Plugbay, client: TestClient, tmp_path: Path):
    code = tmp_path / "plugins/greeter/plugin.py"
    code.write_text(code.read_text().replace('"1.2.3"', '"1.9.9"'))
    (tmp_path / "plugins/late").mkdir()
    (tmp_path / "plugins/late/plugin.py").write_text(
        "from plugbay import BaseModule\n"
        "class Late(BaseModule):\n    def on_load(self): raise ValueError('<no>')\n"
    )
    response = client.post("/admin/reload")
    assert (response.status_code, response.headers["location"]) == (303, LIST)
    page = client.get(LIST).text
    assert "Reloaded: 1 failed, 2 loaded." in page
    assert "1.9.9" in page
    assert "ValueError: &lt;no&gt;" in page


def test_a_reload_is_told_by_the_states_that_it_led_to():
    assert reloaded({}).text == "Reloaded: no plugin found."
    assert (reloaded({"a": "loaded"}).level, reloaded({"a": "refused"}).level) == ("success", "warning")


def test_remove_deletes_the_folder_and_leads_to_the_list(host: Plugbay, client: TestClient, tmp_path: Path):
    came_from = {"referer": "http://testserver/admin/base_module/polite/overview"}
    response = client.post("/admin/base_module/polite/remove", headers=came_from)
    assert (response.status_code, response.headers["location"]) == (303, LIST)
    assert not (tmp_path / "plugins/polite").exists()
    page = client.get(LIST).text
    assert "polite is removed. Its tables stay in the store." in page
    assert "/admin/plugins/polite/toggle" not in page
    assert client.post("/admin/base_module/polite/remove").status_code == 404


def test_remove_leaves_what_others_need(client: TestClient, tmp_path: Path):
    client.post("/admin/base_module/greeter/remove")
    assert "greeter was not removed" in client.get(LIST).text
    assert (tmp_path / "plugins/greeter/plugin.py").is_file()


@pytest.mark.parametrize(
    ("path", "force", "told"),
    [
        ("/admin/restart", False, "It finishes what it is doing first"),
        ("/admin/restart/force", True, "restarts without waiting"),
    ],
)
def test_restart_answers_first_and_then_stops_the_server(
    host: Plugbay, client: TestClient, path: str, force: bool, told: str
):
    happened: list[object] = []

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        async def note(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                happened.append("answered")

        await host.app(scope, receive, note)

    host.restarter.stop_server = lambda forced: happened.append(f"stopped, {forced=}")
    host.restarter.after_stop = lambda: None
    response = TestClient(watched, follow_redirects=False).post(path, auth=client.auth)
    assert (response.status_code, response.headers["location"]) == (303, LIST)
    assert happened == ["answered", f"stopped, forced={force}"]
    client.cookies.update(response.cookies)
    page = client.get(LIST).text
    assert told in page
    assert '<meta http-equiv="refresh" content="1">' in page
    assert "The server restarts. This page comes back by itself." in page


def test_without_a_restart_no_page_loads_itself_again(client: TestClient):
    assert 'http-equiv="refresh"' not in client.get(LIST).text


@pytest.mark.parametrize(
    "path", ["/admin/plugins/polite/toggle", "/admin/reload", "/admin/restart", "/admin/restart/force"]
)
def test_looking_changes_nothing(host: Plugbay, client: TestClient, path: str):
    assert client.get(path).status_code == 405
    assert host.modules.is_module_loaded("polite")


@pytest.mark.parametrize("name", ["polite", "Odd-Name"])
def test_a_folder_with_a_bad_name_is_not_loaded_by_any_switch(
    make_host, client_of, tmp_path: Path, name: str
):
    (tmp_path / "plugins/Odd-Name").mkdir(parents=True)
    (tmp_path / "plugins/Odd-Name/plugin.py").write_text(
        "from plugbay import BaseModule\nclass Odd(BaseModule):\n    def on_load(self): pass\n"
    )
    host = make_host("good")
    before = host.modules.get("Odd-Name").reason
    assert "a letter first" in before
    client = client_of(host)
    for _ in range(2):
        client.post(f"/admin/plugins/{name}/toggle")
    plugin = host.modules.get("Odd-Name")
    assert (plugin.state.value, plugin.reason, plugin.module_class) == ("refused", before, None)
