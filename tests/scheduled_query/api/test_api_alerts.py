"""Alerts over HTTP: rules are written, executions judge them, and what follows can be read."""

from typing import Any

import pytest
from scheduled_query.api.conftest import Service

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Apprise's own affair

ABOVE = {"kind": "value", "op": ">", "value": 10, "column": None, "rows": "first"}


@pytest.fixture
def query(service: Service) -> dict[str, Any]:
    return service.create("SELECT total FROM orders")


def number(value: float | None) -> dict[str, Any]:
    text = "null" if value is None else repr(value)
    return {"columns": ("n",), "result_json": f"[[{text}]]", "row_count": 1}


def make(service: Service, query: dict[str, Any], **fields: Any) -> dict[str, Any]:
    given = {"query_id": query["id"], "condition": ABOVE, **fields}
    answer = service.editor.post("/api/alerts", json=given)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def read(service: Service, alert: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = service.viewer.get(f"/api/alerts/{alert['id']}").json()
    return answer


def events(service: Service, alert: dict[str, Any]) -> list[dict[str, Any]]:
    answer = service.viewer.get("/api/alert-events", params={"alert_id": alert["id"]})
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


def test_an_alert_has_the_fields_of_the_contract_and_their_defaults(service: Service, query: dict[str, Any]):
    alert = make(service, query)
    assert alert == {
        "id": alert["id"],
        "query_id": query["id"],
        "name": "the value is above 10",
        "enabled": True,
        "severity": "warning",
        "condition": ABOVE,
        "for_runs": 1,
        "recover_runs": 1,
        "repeat_minutes": None,
        "channels": [],
        "message": "",
        "with_rows": False,
        "muted_until": None,
        "state": "unknown",
        "state_since": "2026-11-15 12:00:00",
        "last_value": None,
        "last_evaluated": None,
        "last_notified": None,
        "problem": None,
        "version": 1,
    }
    assert read(service, alert) == alert


def test_it_fires_and_resolves_with_the_executions(service: Service, query: dict[str, Any]):
    alert = make(service, query, name="Too much", message="Call Ada.")
    states = []
    for value in (5, 11, 12, 7.5):
        service.record(query["id"], result=number(value))
        found = read(service, alert)
        states.append((found["state"], found["last_value"]))
    assert states == [("ok", 5), ("firing", 11), ("firing", 12), ("ok", 7.5)]
    resolved, fired = events(service, alert)
    assert (fired["kind"], fired["value"], fired["deliveries"]) == ("fired", 11, [])
    assert fired["message"] == "Call Ada.\nThe value is 11 (the value is above 10)."
    assert (resolved["kind"], resolved["value"]) == ("resolved", 7.5)
    history = service.viewer.get(f"/api/execution-history/{query['id']}").json()["data"]
    assert [resolved["execution_id"], fired["execution_id"]] == [history[0]["id"], history[2]["id"]]


def test_a_result_that_cannot_be_judged_leaves_the_state_and_says_why(
    service: Service, query: dict[str, Any]
):
    alert = make(service, query)
    service.record(query["id"], result=number(11))
    service.record(query["id"], result=number(None))
    found = read(service, alert)
    assert (found["state"], found["last_value"]) == ("firing", 11)
    assert found["problem"] == "the result has no numeric value"
    service.record(query["id"], result=number(12))
    assert read(service, alert)["problem"] is None


def test_real_executions_judge_too(service: Service):
    query = service.create("SELECT region, total FROM orders")
    alert = make(service, query, condition={"kind": "value", "op": ">", "value": 4, "rows": "any"})
    service.run(query["id"])
    found = read(service, alert)
    assert (found["state"], found["last_value"]) == ("firing", 4.25)


def test_a_disabled_query_is_not_judged_though_it_runs(service: Service, query: dict[str, Any]):
    alert = make(service, query)
    service.editor.patch(f"/api/scheduled-queries/{query['id']}", json={"enabled": False})
    service.record(query["id"], result=number(11))
    assert read(service, alert)["state"] == "unknown"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "Another"}, "The alert was edited."),
        ({"enabled": False}, "The alert was switched off."),
    ],
)
def test_editing_a_firing_alert_resolves_it(
    service: Service, query: dict[str, Any], fields: dict[str, Any], message: str
):
    alert = make(service, query)
    service.record(query["id"], result=number(11))
    changed = service.editor.patch(f"/api/alerts/{alert['id']}", json=fields).json()
    assert (changed["state"], changed["version"]) == ("unknown", 2)
    last = events(service, alert)[0]
    assert (last["kind"], last["message"]) == ("resolved", message)


def test_deleting_a_firing_alert_or_its_query_resolves_it(service: Service, query: dict[str, Any]):
    gone, orphan = make(service, query), make(service, query)
    service.record(query["id"], result=number(11))
    assert service.editor.delete(f"/api/alerts/{gone['id']}").status_code == 204
    assert service.editor.delete(f"/api/scheduled-queries/{query['id']}").status_code == 204
    for alert, reason in ((gone, "The alert was deleted."), (orphan, "The query was deleted.")):
        assert service.viewer.get(f"/api/alerts/{alert['id']}").status_code == 404
        assert events(service, alert)[0]["message"] == reason


def test_sending_back_what_was_read_is_no_edit(service: Service, query: dict[str, Any]):
    alert = make(service, query)
    service.record(query["id"], result=number(11))
    current = read(service, alert)
    assert service.editor.patch(f"/api/alerts/{alert['id']}", json=current).json() == current


def test_an_edit_of_an_older_version_is_a_conflict(service: Service, query: dict[str, Any]):
    alert = make(service, query)
    url = f"/api/alerts/{alert['id']}"
    assert service.editor.patch(url, json={"for_runs": 2, "version": 1}).status_code == 200
    answer = service.editor.patch(url, json={"for_runs": 3, "version": 1})
    assert answer.status_code == 409
    assert "version 2" in answer.json()["detail"]
    assert service.editor.patch(url, json={"for_runs": 3}).json()["version"] == 3


@pytest.mark.parametrize(
    ("fields", "blamed"),
    [
        ({"condition": None}, "condition"),
        ({"condition": {"kind": "surprise"}}, "condition"),
        ({"query_id": 999_999}, "query_id"),
        ({"query_id": "one"}, "query_id"),
        ({"query_id": 10**30}, "query_id"),
        ({"severity": "fatal"}, "severity"),
        ({"for_runs": 0}, "for_runs"),
        ({"recover_runs": 1.5}, "recover_runs"),
        ({"repeat_minutes": 0}, "repeat_minutes"),
        ({"channels": ["nobody"]}, "channels"),
        ({"channels": "ops"}, "channels"),
        ({"message": "x" * 3000}, "message"),
        ({"with_rows": "yes"}, "with_rows"),
        ({"name": "a\0b"}, "name"),
    ],
)
def test_a_bad_field_is_422_and_named(
    service: Service, query: dict[str, Any], fields: dict[str, Any], blamed: str
):
    given = {"query_id": query["id"], "condition": ABOVE, **fields}
    answer = service.editor.post("/api/alerts", json=given)
    assert answer.status_code == 422
    assert [problem["loc"] for problem in answer.json()["detail"]] == [["body", blamed]]


def test_alerts_are_listed_firing_first_and_filtered(service: Service, query: dict[str, Any]):
    calm = make(service, query, name="A", condition={**ABOVE, "value": 100})
    loud = make(service, query, name="B")
    service.record(query["id"], result=number(11))
    of_query = {"query_id": query["id"]}
    listed = service.viewer.get("/api/alerts", params=of_query).json()
    assert [alert["id"] for alert in listed["data"]] == [loud["id"], calm["id"]]
    assert listed["pagination"]["total_count"] == 2
    firing = service.viewer.get("/api/alerts", params={**of_query, "state": "firing"}).json()
    assert [alert["id"] for alert in firing["data"]] == [loud["id"]]
    assert service.viewer.get("/api/alerts", params={"state": "loud"}).status_code == 422
    assert service.viewer.get("/api/alerts", params={**of_query, "page": 9}).json()["data"] == []


def test_a_muted_alert_goes_on_and_tells_nothing_until_its_time_is_over(
    service: Service, query: dict[str, Any]
):
    alert = make(service, query)
    mute = f"/api/alerts/{alert['id']}/mute"
    assert service.editor.post(mute, json={"minutes": 60}).json()["muted_until"] == "2026-11-15 13:00:00"
    service.record(query["id"], result=number(11))
    assert read(service, alert)["state"] == "firing"
    assert [event["kind"] for event in events(service, alert)] == ["fired"]
    assert service.editor.post(mute, json={"minutes": 0}).json()["muted_until"] is None
    until = service.editor.post(mute, json={"until_resolved": True}).json()["muted_until"]
    assert until == "9999-01-01 00:00:00"
    service.record(query["id"], result=number(1))
    assert read(service, alert)["muted_until"] is None
    for bad in ({}, {"minutes": -1}, {"minutes": "60"}, {"minutes": True}):
        assert service.editor.post(mute, json=bad).status_code == 422


def test_a_backtest_says_when_it_would_have_fired(service: Service, query: dict[str, Any]):
    for value in (1, 20, 21, 2, None, 30):
        service.clock.advance(60)
        service.record(query["id"], result=number(value))
    service.record(query["id"], "failed")
    asked = {"query_id": query["id"], "condition": ABOVE, "for_runs": 1, "recover_runs": 1, "days": 1}
    played = service.viewer.post("/api/alerts/backtest", json=asked).json()
    assert played["executions"] == 5
    first, second = played["periods"]
    assert (first["runs"], first["value"], second["to"]) == (2, 20, None)
    assert first["from"] < first["to"] < second["from"]
    twice = service.viewer.post("/api/alerts/backtest", json={**asked, "for_runs": 2}).json()
    assert [(period["value"], period["runs"]) for period in twice["periods"]] == [(21, 1)]
    assert service.viewer.get("/api/alerts", params={"query_id": query["id"]}).json()["data"] == []


@pytest.mark.parametrize(
    ("fields", "status"),
    [({"days": 0}, 422), ({"condition": {}}, 422), ({"query_id": None}, 422), ({"query_id": 999_999}, 404)],
)
def test_a_backtest_of_nonsense_is_refused(
    service: Service, query: dict[str, Any], fields: dict[str, Any], status: int
):
    asked = {"query_id": query["id"], "condition": ABOVE, **fields}
    assert service.viewer.post("/api/alerts/backtest", json=asked).status_code == status


def test_channels_are_masked_named_once_and_kept_while_an_alert_names_them(
    service: Service, query: dict[str, Any]
):
    url = "json://someone:hunter2@127.0.0.1:9/T0KEN"
    added = service.admin.post("/api/channels", json={"name": "ops", "url": url, "is_default": False})
    assert added.status_code == 201
    channel = added.json()
    assert channel == {"id": channel["id"], "name": "ops", "url": "json://***", "is_default": False}
    assert service.admin.post("/api/channels", json={"name": "ops", "url": url}).status_code == 409
    alert = make(service, query, channels=["ops"])
    place = f"/api/channels/{channel['id']}"
    refused = service.admin.delete(place)
    assert refused.status_code == 409
    assert alert["name"] in refused.json()["detail"]
    renamed = service.admin.patch(place, json={"name": "on-call", "url": "json://***"}).json()
    assert (renamed["name"], renamed["url"]) == ("on-call", "json://***")
    assert read(service, alert)["channels"] == ["on-call"]
    stored = service.parts.alerts.channels.get(channel["id"])
    assert stored
    assert service.parts.alerts.channels.url_of(stored) == url
    service.editor.delete(f"/api/alerts/{alert['id']}")
    assert service.admin.delete(place).status_code == 204
    assert service.viewer.get("/api/channels").json() == {"data": []}


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "nonsense://host",
        "alertmanager://",
        "alertmanager://host:port",
        "alertmanager://host?x=1",
        None,
        7,
    ],
)
def test_a_channel_with_a_bad_url_is_refused_without_showing_it(service: Service, url: Any):
    answer = service.admin.post("/api/channels", json={"name": "bad", "url": url})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "url"]
    assert answer.json()["detail"][0]["input"] is None


def test_alertmanager_is_masked_but_for_its_place(service: Service):
    given = {"name": "am", "url": "alertmanager://bot:hunter2@am.example.org:9093/prefix"}
    channel = service.admin.post("/api/channels", json=given).json()
    assert channel["url"] == "alertmanager://***@am.example.org:9093/prefix"
    assert service.admin.delete(f"/api/channels/{channel['id']}").status_code == 204


def test_who_may_do_what(service: Service, query: dict[str, Any]):
    alert = make(service, query)
    place = f"/api/alerts/{alert['id']}"
    assert service.viewer.post("/api/alerts", json={}).status_code == 403
    assert service.viewer.patch(place, json={"name": "x"}).status_code == 403
    assert service.viewer.post(f"{place}/mute", json={"minutes": 5}).status_code == 403
    assert service.viewer.delete(place).status_code == 403
    assert service.editor.post("/api/channels", json={}).status_code == 403
    assert service.editor.patch("/api/channels/1", json={}).status_code == 403
    assert service.editor.delete("/api/channels/1").status_code == 403
    assert service.editor.post("/api/channels/1/test").status_code == 403
    assert service.admin.patch("/api/channels/999999", json={}).status_code == 404
    assert service.admin.post("/api/channels/999999/test").status_code == 404
    assert service.client().get("/api/alerts").status_code == 401


def test_the_metrics_say_which_alerts_fire(service: Service, query: dict[str, Any]):
    alert = make(service, query, name="Loud", severity="critical")
    labels = f'alert_id="{alert["id"]}",name="Loud",query_id="{query["id"]}",severity="critical"'

    def line() -> str:
        text = service.viewer.get("/metrics").text
        return next(line for line in text.splitlines() if labels in line)

    assert line() == f"plugbay_alert_firing{{{labels}}} 0.0"
    service.record(query["id"], result=number(11))
    assert line() == f"plugbay_alert_firing{{{labels}}} 1.0"
    assert 'plugbay_alert_deliveries_total{status="sent"} ' in service.viewer.get("/metrics").text
    service.editor.delete(f"/api/alerts/{alert['id']}")
    assert labels not in service.viewer.get("/metrics").text


def test_a_query_has_so_many_alerts_and_no_more(service: Service, query: dict[str, Any], monkeypatch):
    monkeypatch.setattr("plugbay_scheduled_query.repository.alerts.MOST_PER_QUERY", 1)
    make(service, query)
    answer = service.editor.post("/api/alerts", json={"query_id": query["id"], "condition": ABOVE})
    assert answer.status_code == 422
    assert "at most" in answer.json()["detail"][0]["msg"]
