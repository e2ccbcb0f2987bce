"""States and transitions: of queries, executions and plugins."""

import pytest
from scheduled_query.pages.reading import read
from specification.asking import details, history

EDIT = "/scheduled_query/edit/{}"

pytestmark = pytest.mark.usefixtures("clean")


def save(service, query_id: int, is_enabled: bool) -> None:
    """Opens the edit form, sets or clears the box Enabled, and sends it."""
    page = read(service.editor.get(EDIT.format(query_id)).text)
    (form,) = [form for form in page.all("form") if "cron_schedule" in form.fields()]
    assert form.all("input", type="checkbox", name="enabled")
    typed = {name: value for name, value in form.fields().items() if name != "enabled"}
    sent = {**typed, "enabled": "on"} if is_enabled else typed
    assert service.editor.post(EDIT.format(query_id), data=sent).status_code == 303


def test_enabled_is_switched_off_by_the_edit_form_and_the_scheduler_picks_it_no_longer(service, next_minute):
    made = service.create(cron_schedule="* * * * *", enabled=True)
    next_minute()
    save(service, made["id"], False)
    assert details(service, made["id"])["enabled"] is False
    next_minute()
    assert len(history(service, made["id"])) == 1


def test_disabled_is_switched_on_by_the_edit_form_and_the_scheduler_picks_it(service, next_minute):
    made = service.create(cron_schedule="* * * * *", enabled=False)
    next_minute()
    assert history(service, made["id"]) == []
    save(service, made["id"], True)
    assert details(service, made["id"])["enabled"] is True
    next_minute()
    assert len(history(service, made["id"])) == 1


@pytest.mark.parametrize("status", ["success", "failed", "timeout"])
def test_history_status_value(service, status):
    made = service.create()
    service.record(made["id"], status)
    assert [item["status"] for item in history(service, made["id"])] == [status]


def test_the_toggle_route_switches_a_plugin_between_enabled_and_disabled(service):
    states = []
    for _ in range(2):
        service.admin.post("/admin/plugins/scheduled_query/toggle")
        states.append(service.host.modules.get("scheduled_query").state.value)
    assert states == ["disabled", "loaded"]


@pytest.mark.parametrize("is_enabled", [True, False], ids=["enabled", "disabled"])
def test_run_now_does_not_change_the_state_of_a_query_and_redirects(service, is_enabled):
    made = service.create(enabled=is_enabled)
    answer = service.editor.get(f"/api/run-now/{made['id']}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/scheduled_query/")
    after = details(service, made["id"])
    kept = ("enabled", "next_run_at", "cron_schedule", "query", "version", "updated_at")
    assert {field: after[field] for field in kept} == {field: made[field] for field in kept}
    assert after["last_status"] == "success"
