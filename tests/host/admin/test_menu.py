"""The menu page: an admin renames, hides and reorders, without a line of script."""

import re
from typing import Any

import pytest
from fastapi.testclient import TestClient
from plugbay import Plugbay
from plugbay.admin.menu_pages import moved, typed_overrides, without
from plugbay.menu import MenuEntry, MenuOverride

PAGE = "/admin/menu"
GREETINGS, POLITE, MORE = "greeter:/greeter/", "polite:", "greeter:/greeter/more"


@pytest.fixture
def host(make_host) -> Plugbay:
    return make_host("good")


@pytest.fixture
def client(host: Plugbay, client_of) -> TestClient:
    return client_of(host)


def menu(client: TestClient) -> list[str]:
    """The labels of the side bar, as a visitor sees them."""
    navigation = re.search(r'<nav [^>]*aria-label="Main">(.*?)</nav>', client.get(PAGE).text, re.DOTALL)[1]
    return re.findall(r"</i>([^<]*)</a>", navigation)


def send(client: TestClient, **data: str) -> Any:
    response = client.post(PAGE, data=data)
    assert (response.status_code, response.headers["location"]) == (303, PAGE)
    return response


def test_all_entries_are_listed_with_owner_and_address(client: TestClient):
    page = client.get(PAGE).text
    assert f'name="label:{GREETINGS}" value="Greetings"' in page
    assert f'name="label:{POLITE}" value="Polite"' in page
    assert "leads nowhere" in page
    assert 'value="Users"' in page
    assert 'value="Account"' in page


def test_an_entry_is_renamed_for_everybody(client: TestClient):
    send(client, **{f"label:{GREETINGS}": " Salutations <b> "})
    page = client.get(PAGE).text
    assert "The menu is changed." in page
    assert "</i>Salutations &lt;b&gt;</a>" in page
    assert 'placeholder="Greetings"' in page


@pytest.mark.parametrize("label", ["", "   ", "Greetings"])
def test_an_empty_or_its_own_label_is_no_change(host: Plugbay, client: TestClient, label: str):
    send(client, **{f"label:{GREETINGS}": label})
    assert host.records.menu_overrides() == {}
    assert "Greetings" in menu(client)


def test_an_entry_is_hidden_and_shown_again(host: Plugbay, client: TestClient):
    client.post(PAGE, data={f"shown:{POLITE}": ["false"]})
    assert "Polite" not in menu(client)
    assert 'aria-label="Show Polite">' in client.get(PAGE).text
    client.post(PAGE, data={f"shown:{POLITE}": ["false", "true"]})
    assert "Polite" in menu(client)
    assert host.records.menu_overrides() == {}


def test_entries_move_up_and_down_within_their_section(client: TestClient):
    assert menu(client)[:3] == ["Greetings", "Polite", "More greetings"]
    send(client, _move=f"up {MORE}")
    assert menu(client)[:3] == ["Greetings", "More greetings", "Polite"]
    send(client, _move=f"up {MORE}")
    send(client, _move=f"up {MORE}")
    assert menu(client)[:3] == ["More greetings", "Greetings", "Polite"]
    send(client, _move=f"down {MORE}")
    assert menu(client)[:3] == ["Greetings", "More greetings", "Polite"]
    assert menu(client)[3:] == ["Plugins", "Users", "Menu"]


def test_moving_saves_what_else_was_typed(client: TestClient):
    send(client, _move=f"down {GREETINGS}", **{f"label:{POLITE}": "Kind"})
    assert menu(client)[:3] == ["Kind", "Greetings", "More greetings"]


@pytest.mark.parametrize("move", ["up nobody:/x", "sideways greeter:/greeter/", "up", ""])
def test_a_move_that_makes_no_sense_moves_nothing(client: TestClient, move: str):
    send(client, _move=move)
    assert menu(client)[:3] == ["Greetings", "Polite", "More greetings"]


def test_one_entry_is_as_its_owner_made_it_again(client: TestClient):
    send(client, **{f"label:{GREETINGS}": "A", f"label:{POLITE}": "B"})
    assert f'name="_reset" value="{GREETINGS}"' in client.get(PAGE).text
    send(client, _reset=GREETINGS, **{f"label:{GREETINGS}": "A"})
    assert menu(client)[:2] == ["Greetings", "B"]
    assert f'name="_reset" value="{GREETINGS}"' not in client.get(PAGE).text


def test_all_of_it_is_reset(host: Plugbay, client: TestClient):
    send(client, _move=f"up {MORE}", **{f"label:{GREETINGS}": "A"})
    send(client, _reset="*")
    assert host.records.menu_overrides() == {}
    assert 'value="*"' not in client.get(PAGE).text


@pytest.mark.parametrize("label", ["x" * 61, "two\nlines", "a\x00b"])
def test_a_label_that_does_not_fit_is_an_error_at_its_field(host: Plugbay, client: TestClient, label: str):
    response = client.post(PAGE, data={f"label:{GREETINGS}": label, f"label:{POLITE}": "Kind"})
    assert response.status_code == 422
    assert "A label has at most 60 visible characters." in response.text
    assert f'name="label:{POLITE}" value="Kind"' in response.text
    assert host.records.menu_overrides() == {}


def test_changes_are_told_and_survive_a_restart(host: Plugbay, client: TestClient, make_host, client_of):
    heard: list[Any] = []
    host.events.on("menu.overrides_changed", lambda event: heard.append(event.data["overrides"]))
    send(client, **{f"label:{GREETINGS}": "A"})
    assert heard == [{GREETINGS: MenuOverride(label="A")}]
    assert menu(client_of(make_host()))[0] == "A"


def test_the_changes_of_an_absent_plugin_are_kept(host: Plugbay, client: TestClient):
    send(client, **{f"label:{POLITE}": "Kind"})
    host.modules.disable("polite")
    send(client, **{f"label:{GREETINGS}": "A"})
    host.modules.enable("polite")
    assert {"A", "Kind"} <= set(menu(client))


def test_of_two_labels_that_lead_nowhere_one_is_renamed_and_moved(host: Plugbay, client: TestClient):
    for label in ("One", "Two"):
        host.menu.add("labels", label)
    second = host.menu.of_owner("labels")[1].key
    send(client, _move=f"up {second}", **{f"label:{second}": "Second"})
    ours = [entry.label for entry in host.menu.all_entries() if entry.owner == "labels"]
    assert ours == ["Second", "One"]


OWN = [MenuEntry("shop", "Orders", "/orders"), MenuEntry("shop", "Returns", "/returns")]
ORDERS, RETURNS = (entry.key for entry in OWN)


def test_what_was_not_sent_stays_as_it_was():
    before = {ORDERS: MenuOverride("Buys", hidden=True, position=3)}
    assert typed_overrides(OWN, before, {}) == before
    assert typed_overrides(OWN, before, {f"label:{ORDERS}": "Orders"}) == {
        ORDERS: MenuOverride("", hidden=True, position=3)
    }


def test_arranged_entries_come_before_those_of_plugins_to_come():
    arranged = moved([ORDERS, RETURNS], {}, RETURNS, -1)
    assert arranged == {RETURNS: MenuOverride(position=-2), ORDERS: MenuOverride(position=-1)}


def test_the_first_cannot_go_further_up_nor_the_last_further_down():
    assert moved([ORDERS, RETURNS], {}, ORDERS, -1)[ORDERS].position == -2
    assert moved([ORDERS, RETURNS], {}, RETURNS, 1)[RETURNS].position == -1


def test_a_reset_forgets_one_entry():
    assert without({ORDERS: MenuOverride("a"), RETURNS: MenuOverride("b")}, ORDERS) == {
        RETURNS: MenuOverride("b")
    }
