"""Alerts and channels on their pages: made in a sentence, looked at, muted, and told of at the bell."""

from typing import Any

import pytest
from scheduled_query.api.conftest import Service
from scheduled_query.pages.reading import read

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Apprise's own affair

ALERTS = "/scheduled_query/alerts"
CHANNELS = "/scheduled_query/channels"
ABOVE = {"kind": "value", "op": ">", "value": 10}
TYPED = {"alert_kind": "value", "alert_op": ">", "alert_value": "10", "alert_severity": "critical"}


def number(value: float) -> dict[str, Any]:
    return {"columns": ("n",), "result_json": f"[[{value}]]", "row_count": 1}


def make(service: Service, query: dict[str, Any], **fields: Any) -> dict[str, Any]:
    given = {"query_id": query["id"], "condition": ABOVE, "name": service.unique("Alert"), **fields}
    made: dict[str, Any] = service.editor.post("/api/alerts", json=given).json()
    return made


def alerts_of(service: Service, query_id: int) -> list[dict[str, Any]]:
    listed = service.viewer.get("/api/alerts", params={"query_id": query_id})
    found: list[dict[str, Any]] = listed.json()["data"]
    return found


def firing(service: Service, **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    query = service.create()
    alert = make(service, query, **fields)
    service.record(query["id"], result=number(11))
    return query, alert


def test_the_page_shows_what_fires_first_and_what_happened_of_late(service: Service):
    query, alert = firing(service, severity="critical")
    page = read(service.viewer.get(ALERTS).text)
    first = page.all("li", id=f"alert-{alert['id']}")[0]
    for word in ("firing", alert["name"], "critical", "the value is above 10", query["name"], "11"):
        assert word in first.text
    assert "Mute" not in first.text  # a viewer looks
    assert "fired" in page.text
    assert "not sent" in page.text
    assert alert["name"] not in read(service.viewer.get(f"{ALERTS}?state=ok").text).first("ul").text


def test_the_bell_counts_what_fires_on_every_page_of_the_host(service: Service):
    before = read(service.viewer.get("/account").text).first("a", id="bell").attributes["aria-label"]
    firing(service)
    after = read(service.viewer.get("/account").text).first("a", id="bell").attributes["aria-label"]
    assert before != after
    assert "fire" in after
    assert (
        read(service.viewer.get("/scheduled_query/bell").text).first("a", id="bell").attributes["aria-label"]
        == after
    )


def test_list_query_page_and_widgets_show_that_it_fires(service: Service):
    query, alert = firing(service)
    for path in (
        "/scheduled_query/",
        f"/scheduled_query/query/{query['id']}",
        "/scheduled_query/results-widgets",
        "/scheduled_query/results-widgets?full=1",
    ):
        page = service.viewer.get(path, params={"search": query["name"]}).text
        assert "firing" in page, path
        assert alert["name"] in page, path


def test_the_live_part_is_sent_again_only_when_something_changed(service: Service):
    query, _ = firing(service)
    part = read(service.viewer.get(f"{ALERTS}/live").text).first("div", id="live")
    seen = {"X-Seen": part.attributes["data-seen"]}
    assert service.viewer.get(f"{ALERTS}/live", headers=seen).status_code == 204
    service.record(query["id"], result=number(1))
    assert service.viewer.get(f"{ALERTS}/live", headers=seen).status_code == 200


def test_a_query_is_made_together_with_its_alert(service: Service):
    fields = {
        "name": service.unique(),
        "query": "SELECT 1 AS one",
        "cron_schedule": "@daily",
        "data_source": "shop",
        "enabled": "on",
        **TYPED,
        "alert_for_runs": "2",
        "alert_enabled": "on",
    }
    answer = service.editor.post("/scheduled_query/create", data=fields)
    assert answer.status_code == 303
    query_id = int(answer.headers["location"].rpartition("/")[2])
    (alert,) = alerts_of(service, query_id)
    assert (alert["name"], alert["severity"], alert["for_runs"]) == ("the value is above 10", "critical", 2)
    assert alert["enabled"]


def test_a_bad_sentence_stores_neither_the_alert_nor_the_query(service: Service):
    name = service.unique("Not stored")
    fields = {"name": name, "query": "SELECT 1", "cron_schedule": "@daily", "data_source": "shop"}
    answer = service.editor.post("/scheduled_query/create", data={**fields, **TYPED, "alert_value": "many"})
    assert answer.status_code == 422
    assert "value must be a number" in answer.text
    assert read(answer.text).first("input", name="alert_value").attributes["value"] == "many"
    listed = service.viewer.get("/api/scheduled-queries", params={"search": name}).json()
    assert listed["data"] == []


def test_saving_a_query_without_finishing_the_sentence_makes_no_alert(service: Service):
    query = service.create()
    page = read(service.editor.get(f"/scheduled_query/edit/{query['id']}").text)
    assert page.first("select", name="alert_kind")
    fields = {"name": query["name"], "query": query["query"], "cron_schedule": "@daily", "alert_kind": ""}
    assert service.editor.post(f"/scheduled_query/edit/{query['id']}", data=fields).status_code == 303
    assert alerts_of(service, query["id"]) == []


def test_an_alert_is_edited_on_a_page_that_shows_all_of_it(service: Service):
    service.admin.post("/api/channels", json={"name": "edited", "url": "json://127.0.0.1:9/"})
    query, alert = firing(
        service, condition={"kind": "change", "of": "value", "by": 2.5, "percent": True}, channels=["edited"]
    )
    form = read(service.editor.get(f"{ALERTS}/{alert['id']}").text)
    typed = {
        one.attributes["name"]: one.attributes.get("value", "on")
        for one in form.all("input")
        if one.attributes.get("name")
        and (one.attributes.get("type") != "checkbox" or "checked" in one.attributes)
    }
    assert (typed["alert_by"], typed["alert_percent"]) == ("2.5", "on")
    typed |= {"alert_kind": "change", "alert_of": "value", "alert_severity": "info", "alert_name": "Another"}
    answer = service.editor.post(f"{ALERTS}/{alert['id']}", data=typed)
    assert answer.status_code == 303
    (saved,) = alerts_of(service, query["id"])
    assert (saved["name"], saved["severity"], saved["channels"]) == ("Another", "info", ["edited"])
    assert saved["condition"] == {**alert["condition"], "by": 2.5}
    stale = service.editor.post(f"{ALERTS}/{alert['id']}", data=typed)
    assert stale.status_code == 409
    assert "somebody else saved this alert" in stale.text


def test_a_new_alert_has_a_page_of_its_own(service: Service):
    query = service.create()
    assert "Tell me when" in service.editor.get(f"{ALERTS}/new?query_id={query['id']}").text
    assert service.editor.post(f"{ALERTS}/new", data={**TYPED, "query_id": query["id"]}).status_code == 303
    assert len(alerts_of(service, query["id"])) == 1
    bad = service.editor.post(f"{ALERTS}/new", data={**TYPED, "alert_op": "~", "query_id": query["id"]})
    assert bad.status_code == 422
    assert "op must be one of" in bad.text


def test_mute_unmute_and_delete(service: Service):
    query, alert = firing(service)
    place = f"{ALERTS}/{alert['id']}"

    def muted() -> Any:
        return service.viewer.get(f"/api/alerts/{alert['id']}").json()["muted_until"]

    for minutes, until in (("60", "2026"), ("0", None), ("resolved", "9999")):
        service.editor.post(f"{place}/mute", data={"minutes": minutes})
        assert (muted() or "")[:4] == (until or "")
    page = service.editor.post(f"{place}/mute", data={"minutes": "long"}, follow_redirects=True)
    assert "It was not said for how long." in page.text
    assert "Unmute" in page.text
    service.editor.post(f"{place}/delete")
    assert alerts_of(service, query["id"]) == []
    assert service.editor.get(place).status_code == 404


PREVIEWS = [
    (TYPED, "fine now", "would have fired once"),
    ({**TYPED, "alert_value": "1"}, "would fire now", "would have fired once"),
    ({**TYPED, "alert_column": "x"}, "cannot be judged", "no past to play"),
    ({**TYPED, "alert_value": "many"}, "value must be a number", ""),
    ({"alert_kind": "stale", "alert_minutes": "60"}, "fine now", "would have fired never"),
]


@pytest.mark.parametrize(("typed", "now", "past"), PREVIEWS)
def test_the_sentence_is_judged_while_it_is_typed(
    service: Service, typed: dict[str, str], now: str, past: str
):
    query = service.create()
    for value in (5, 11, 7):
        service.clock.advance(60)
        service.record(query["id"], result=number(value))
    answer = service.editor.post(f"{ALERTS}/preview", data={**typed, "query_id": str(query["id"])})
    assert answer.status_code == 200
    assert now in answer.text
    assert past in " ".join(read(answer.text).text.split())


def test_before_the_first_run_the_preview_says_what_it_will_show(service: Service):
    assert "Once the query has run" in service.editor.post(f"{ALERTS}/preview", data=TYPED).text
    assert read(service.editor.post(f"{ALERTS}/preview", data={"alert_kind": ""}).text).text.strip() == ""


def test_channels_are_added_tested_edited_and_deleted_by_admins(service: Service):
    fields = {"name": "by hand", "url": "json://someone:hunter2@127.0.0.1:9/?cto=1", "is_default": "on"}
    assert service.admin.post(f"{CHANNELS}/add", data=fields).status_code == 303
    page = service.admin.get(CHANNELS).text
    assert "by hand" in page
    assert "hunter2" not in page
    (channel,) = [one for one in service.parts.alerts.channels.all() if one.name == "by hand"]
    place = f"{CHANNELS}/{channel.id}"
    assert "json://***" in service.admin.get(place).text
    tested = service.admin.post(f"{place}/test", follow_redirects=True).text
    assert "“by hand” did not take it" in tested
    assert "hunter2" not in tested
    assert service.admin.post(place, data={"name": "renamed", "url": "json://***"}).status_code == 303
    taken = service.admin.post(f"{CHANNELS}/add", data={**fields, "name": "renamed"})
    assert taken.status_code == 422
    assert "another channel is called" in taken.text
    query = service.create()
    alert = make(service, query, channels=["renamed"])
    kept = service.admin.post(f"{place}/delete", follow_redirects=True).text
    assert "it is named by" in kept
    service.editor.delete(f"/api/alerts/{alert['id']}")
    assert "is deleted" in service.admin.post(f"{place}/delete", follow_redirects=True).text
    assert service.admin.get(place).status_code == 404
    assert service.editor.get(CHANNELS).status_code == 403


def test_who_may_open_the_forms(service: Service):
    query, alert = firing(service)
    for path in (f"{ALERTS}/new?query_id={query['id']}", f"{ALERTS}/{alert['id']}"):
        assert service.viewer.get(path).status_code == 403
    assert service.viewer.post(f"{ALERTS}/{alert['id']}/mute", data={"minutes": "60"}).status_code == 403
