"""Events: rules 1 to 3."""

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from plugbay import Event, Plugbay
from plugbay.errors import ReservedEvent

LIFECYCLE = ["plugin_loaded", "templates_ready", "ready", "settings_changed", "stopping", "plugin_unloaded"]


@pytest.fixture(scope="module")
def heard(quiet: None, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What a listener hears of a host that starts, changes its settings, reloads and stops."""
    host, heard = Plugbay(FastAPI(), tmp_path_factory.mktemp("host")), []
    for name in LIFECYCLE:
        host.events.on(f"plugbay.{name}", lambda event: heard.append(event.name))
    with TestClient(host.app):
        host.modules.save_settings("task_worker", {})
        host.reload()
    return heard


def test_rule_1_there_is_an_event_bus(service):
    heard: list[Event] = []
    service.host.events.on("order.placed", heard.append)
    service.host.events.emit("order.placed", number=7)
    assert [(event.name, event.data) for event in heard] == [("order.placed", {"number": 7})]


@pytest.mark.parametrize("name", LIFECYCLE)
def test_rule_1_lifecycle_event_is_in_the_reserved_namespace(heard, name):
    assert f"plugbay.{name}" in heard


@pytest.mark.parametrize("name", ["plugbay.ready", "plugbay.anything"])
def test_rule_1_the_namespace_is_reserved(service, name):
    with pytest.raises(ReservedEvent):
        service.host.events.emit(name)


def test_rule_1_the_menu_manager_emits_menu_overrides_changed(service):
    heard: list[Event] = []
    service.host.events.on("menu.overrides_changed", heard.append)
    key = "label:scheduled_query:/scheduled_query/dashboard"
    assert service.admin.post("/admin/menu", data={key: "Board"}).status_code == 303
    (event,) = heard
    assert [override.label for override in event.data["overrides"].values()] == ["Board"]


def test_rule_3_the_service_tells_when_a_query_ran(service):
    heard: list[Event] = []
    service.host.events.on("scheduled_query.executed", heard.append)
    made = service.create()
    service.run(made["id"])
    assert service.host.events.wait_told(60)
    assert [(event.data["query_id"], event.data["status"]) for event in heard] == [(made["id"], "success")]
