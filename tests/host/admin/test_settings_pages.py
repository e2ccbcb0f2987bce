"""The settings page through HTTP, on a real host."""

import re
from typing import Any

import pytest
from fastapi.testclient import TestClient
from plugbay import Plugbay
from plugbay.settings import MASK
from plugbay.store.tables import plugin_settings
from sqlalchemy import select

PAGE = "/admin/base_module/shop/settings"


@pytest.fixture
def host(make_host) -> Plugbay:
    return make_host("admin")


@pytest.fixture
def client(host: Plugbay, client_of) -> TestClient:
    return client_of(host)


def now(host: Plugbay) -> Any:
    return host.modules.get("shop").module.module_settings


def control(page: str, name: str) -> str:
    """The tag of a visible field."""
    return re.search(rf'<(?:input|select|textarea)[^>]* id="{name}"[^>]*>', page)[0]


def stored(host: Plugbay) -> dict[str, str]:
    with host.store.connect() as connection:
        rows = connection.execute(select(plugin_settings.c.field, plugin_settings.c.value))
        return dict(map(tuple, rows))


def test_the_form_is_built_from_the_model(client: TestClient):
    page = client.get(PAGE).text
    assert 'type="checkbox"' in control(page, "is_open")
    assert " checked" in control(page, "is_open")
    assert 'type="number"' in control(page, "page_size")
    assert 'min="1" max="200"' in control(page, "page_size")
    assert 'step="any"' in control(page, "discount")
    assert 'maxlength="60"' in control(page, "greeting")
    assert control(page, "colour").startswith("<select")
    assert '<option value="blue" selected>blue</option>' in page
    assert 'type="password"' in control(page, "api_key")
    assert control(page, "tags").startswith("<textarea")
    assert "new\nsale</textarea>" in page
    assert "Limits by place" in page


def test_help_default_and_bounds_are_told_and_escaped(client: TestClient):
    page = client.get(PAGE).text
    assert "Whether customers can buy &lt;anything&gt; at all." in page
    assert "Default: 50 · at least 1, at most 200" in page


def test_saving_takes_effect_at_once_and_stays(host: Plugbay, client: TestClient, make_host):
    sent = {"page_size": "20", "is_open": "false", "tags": "one\r\ntwo", "discount": "0.25", "colour": "red"}
    response = client.post(PAGE, data=sent)
    assert (response.status_code, response.headers["location"]) == (303, PAGE)
    assert (now(host).page_size, now(host).is_open, now(host).tags) == (20, False, ["one", "two"])
    assert (now(host).discount, now(host).colour.value) == (0.25, "red")
    assert now(make_host()).page_size == 20


def test_the_next_page_says_what_was_saved(client: TestClient):
    client.post(PAGE, data={"page_size": "20", "greeting": "Hi"})
    page = client.get(PAGE).text
    assert "Saved for shop: page_size, greeting." in page
    assert 'value="20"' in control(page, "page_size")


def test_only_what_was_changed_is_stored(host: Plugbay, client: TestClient):
    client.post(PAGE, data={"page_size": "20", "greeting": "Welcome", "region": "us", "discount": ""})
    assert stored(host) == {"page_size": "20"}
    client.post(PAGE, data={"page_size": "20"})
    assert "Nothing was changed." in client.get(PAGE).text


def test_a_checkbox_is_off_when_only_its_hidden_twin_is_sent(host: Plugbay, client: TestClient):
    client.post(PAGE, data={"is_open": ["false", "true"]})
    assert now(host).is_open is True
    client.post(PAGE, data={"is_open": ["false"]})
    assert now(host).is_open is False
    assert " checked" not in control(client.get(PAGE).text, "is_open")


def test_errors_stand_at_their_fields_and_nothing_is_saved(host: Plugbay, client: TestClient):
    response = client.post(PAGE, data={"page_size": "999", "greeting": "<b>Hi</b>", "limits": "{oops"})
    assert response.status_code == 422
    assert 'id="page_size-error">Input should be less than or equal to 200</div>' in response.text
    assert 'id="limits-error">This is not JSON' in response.text
    assert 'aria-invalid="true"' in control(response.text, "page_size")
    assert 'value="999"' in control(response.text, "page_size")
    assert 'value="&lt;b&gt;Hi&lt;/b&gt;"' in control(response.text, "greeting")
    assert "{oops</textarea>" in response.text
    assert (now(host).page_size, stored(host)) == (50, {})


def test_a_secret_is_stored_encrypted_shown_masked_and_kept(host: Plugbay, client: TestClient):
    client.post(PAGE, data={"api_key": "hunter2", "webhooks": "https://a:pw@x/\nhttps://b:pw@x/"})
    assert now(host).api_key.get_secret_value() == "hunter2"
    assert [hook.get_secret_value() for hook in now(host).webhooks] == ["https://a:pw@x/", "https://b:pw@x/"]
    page = client.get(PAGE).text
    assert f'value="{MASK}"' in control(page, "api_key")
    assert "hunter2" not in page + repr(stored(host))
    assert "pw@x" not in page + repr(stored(host))
    client.post(PAGE, data={"api_key": MASK, "webhooks": MASK, "page_size": "7"})
    assert now(host).api_key.get_secret_value() == "hunter2"
    assert len(now(host).webhooks) == 2


def test_an_emptied_secret_is_gone(host: Plugbay, client: TestClient):
    client.post(PAGE, data={"api_key": "hunter2"})
    client.post(PAGE, data={"api_key": ""})
    assert now(host).api_key is None


def test_a_refused_form_does_not_send_a_typed_secret_back(client: TestClient):
    page = client.post(PAGE, data={"api_key": "hunter2", "page_size": "0"}).text
    assert "hunter2" not in page
    assert "Type it again" in page


def test_one_field_goes_back_to_its_default(host: Plugbay, client: TestClient):
    client.post(PAGE, data={"page_size": "20", "greeting": "Hi"})
    page = client.get(PAGE).text
    assert 'name="_reset" value="page_size"' in page
    assert 'name="_reset" value="region"' not in page
    response = client.post(PAGE, data={"_reset": "page_size", "greeting": "not saved by this"})
    assert response.status_code == 303
    assert (now(host).page_size, now(host).greeting) == (50, "Hi")
    assert stored(host) == {"greeting": '"Hi"'}
    assert "Back to the default: page_size." in client.get(PAGE).text


def test_an_unknown_field_cannot_be_reset(client: TestClient):
    response = client.post(PAGE, data={"_reset": "<nothing>"})
    assert response.status_code == 422
    assert "There is no setting named &#39;&lt;nothing&gt;&#39;." in response.text


def test_what_the_environment_decides_is_locked(make_host, client_of, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHOP_PAGE_SIZE", "5")
    monkeypatch.setenv("SHOP_API_KEY", "hunter2")
    host = make_host("admin")
    client = client_of(host)
    page = client.get(PAGE).text
    assert "Set by the environment: <code>SHOP_PAGE_SIZE</code>" in page
    assert " disabled" in control(page, "page_size")
    assert "hunter2" not in page
    client.post(PAGE, data={"page_size": "99", "api_key": "other"})
    assert (now(host).page_size, now(host).api_key.get_secret_value()) == (5, "hunter2")
    assert stored(host) == {}


def test_a_stored_value_that_is_no_longer_valid_is_shown_as_replaced(host: Plugbay, client: TestClient):
    model = host.modules.get("shop").module_class.module_settings
    host.records.save_settings("shop", model, {"page_size": 100_000})
    page = client.get(PAGE).text
    assert "The stored value is not valid (Input should be less than or equal to 200)" in page
    assert 'value="50"' in control(page, "page_size")
    client.post(PAGE, data={"page_size": "50"})
    assert stored(host) == {}
    assert "is not valid" not in client.get(PAGE).text


def test_listeners_hear_of_a_change(host: Plugbay, client: TestClient):
    heard: list[Any] = []
    host.events.on("plugbay.settings_changed", lambda event: heard.append(dict(event.data)))
    client.post(PAGE, data={"page_size": "20"})
    assert heard == [{"name": "shop"}]


def test_a_plugin_that_lacks_a_setting_loads_as_soon_as_it_is_saved(host: Plugbay, client: TestClient):
    page = "/admin/base_module/strict/settings"
    assert host.modules.get("strict").state.value == "failed"
    shown = client.get(page).text
    assert 'id="address-error">Field required</div>' in shown
    assert "Required" in shown
    assert client.post(page, data={"address": "here"}).status_code == 303
    assert host.modules.get("strict").is_loaded
    told = client.get(page).text
    assert "Saved for strict: address." in told
    assert "strict is enabled." in told


def test_a_plugin_without_settings_says_so(make_host, client_of):
    client = client_of(make_host("good"))
    assert "polite works without any." in client.get("/admin/base_module/polite/settings").text
    assert client.post("/admin/base_module/polite/settings", data={"a": "1"}).status_code == 422


def test_a_disabled_plugin_says_why_its_settings_are_not_shown(make_host, client_of, tmp_path):
    first = make_host("admin")
    first.modules.disable("shop")
    client = client_of(make_host())
    assert "Enable shop to see its settings." in client.get(PAGE).text
    assert client.post(PAGE, data={"page_size": "1"}).status_code == 422


def test_a_plugin_that_cannot_be_read_leads_to_its_overview(make_host, client_of):
    client = client_of(make_host("broken"))
    page = client.get("/admin/base_module/import_error/settings").text
    assert "The code of import_error could not be read: its overview says why." in page


def test_odd_bytes_and_files_in_the_form_do_no_harm(host: Plugbay, client: TestClient):
    assert client.post(PAGE, data={"greeting": "a\x00b\ud7ff"}).status_code == 303
    assert client.get(PAGE).status_code == 200
    assert client.post(PAGE, files={"greeting": ("x.txt", b"\xff\xfe")}).status_code == 303
    headers = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post(PAGE, content=b"greeting=%ff%00&page_size=\xff", headers=headers).status_code in (
        303,
        422,
    )
    assert (
        client.post(PAGE, content=b"not a form", headers={"content-type": "multipart/form-data"}).status_code
        < 500
    )


def test_a_missing_setting_is_no_mistake_of_the_variables_that_are_there(
    make_host, client_of, tmp_path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "plugins/needy"
    folder.mkdir(parents=True)
    (folder / "plugin.py").write_text(
        "from pydantic import BaseModel\nfrom plugbay import BaseModule\n"
        "class Settings(BaseModel):\n    address: str\n    port: int = 1\n    region: str = 'eu'\n"
        "class Needy(BaseModule):\n    module_settings = Settings\n    def on_load(self): pass\n"
    )
    monkeypatch.setenv("NEEDY_PORT", "7")
    host = make_host()
    plugin = host.modules.get("needy")
    told = "Its settings are not complete (address: Field required). Enter them on its settings page."
    assert (plugin.state.value, plugin.reason) == ("failed", told)
    page = client_of(host).get("/admin/base_module/needy/settings").text
    assert 'value="7"' in control(page, "port")
    assert 'value="eu"' in control(page, "region")
    client_of(host).post("/admin/base_module/needy/settings", data={"address": "here", "region": "us"})
    assert host.get_module("needy").module_settings.model_dump() == {
        "address": "here",
        "port": 7,
        "region": "us",
    }
