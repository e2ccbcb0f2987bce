"""Why a query waits or did not run, and the pause of all queries, over HTTP."""

from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query.core.text import format_utc
from plugbay_scheduled_query.tables import lanes, queries
from scheduled_query.pages.reading import read
from service_world import until

PAGES = "/scheduled_query"


@pytest.fixture
def paused(service):
    """All queries are paused by the admin, until the test is over."""
    assert service.admin.post("/api/schedule", json={"paused": True}).status_code == 200
    yield
    service.admin.post("/api/schedule", json={"paused": False})
    service.clock.advance(1)  # who just looked looks again


@pytest.fixture
def source(service) -> dict[str, Any]:
    given = {
        "name": service.unique("pace").replace(" ", "-"),
        "url": f"sqlite:///{service.shop}",
        "pace_s": 0,
    }
    made: dict[str, Any] = service.admin.post("/api/data-sources", json=given).json()
    return made


def create(service, **fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = service.create(**{"data_source": "shop", **fields})
    return made


def make_due(service, query: dict[str, Any], ago: timedelta = timedelta(minutes=1)) -> datetime:
    """Due for a while, and made long before."""
    due = service.clock.now().replace(second=0, microsecond=0) - ago
    with service.host.store.begin() as connection:
        of_query = sa.update(queries).where(queries.c.id == query["id"])
        connection.execute(of_query.values(next_run_at=due, created_at=due - timedelta(days=1)))
    return due


def why(service, query: dict[str, Any], at: datetime | str) -> dict[str, Any]:
    text = at if isinstance(at, str) else format_utc(at)
    answer = service.viewer.get(f"/api/scheduled-queries/{query['id']}/why", params={"at": text})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    assert told.keys() == {"at", "reason", "answer", "execution_id"}
    assert told["at"] == text
    return told


def read_query(service, query: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = service.viewer.get(f"/api/scheduled-queries/{query['id']}").json()
    return found


def test_a_query_that_is_not_due_waits_for_nothing(service):
    assert create(service)["waiting_for"] is None


def test_a_pace_is_set_through_the_api_and_null_gives_it_back(service, source):
    assert (source["pace_s"], source["max_parallel"]) == (0, None)
    path = f"/api/data-sources/{source['id']}"
    changed = service.admin.patch(path, json={"pace_s": 12, "max_parallel": 3}).json()
    assert (changed["pace_s"], changed["max_parallel"]) == (12, 3)
    assert changed["capacity"]["possible_per_hour"] == 300.0
    seen = service.viewer.get(path).json()
    assert (seen["pace_s"], seen["max_parallel"]) == (12, 3)
    back = service.admin.patch(path, json={"pace_s": None, "max_parallel": None}).json()
    assert (back["pace_s"], back["max_parallel"]) == (None, None)
    assert service.editor.patch(path, json={"pace_s": 0}).status_code == 403


@pytest.mark.parametrize("value", [-1, 86_401, 1.5, "30", True, [], {}])
def test_a_pace_that_is_none_is_refused(service, source, value):
    answer = service.admin.patch(f"/api/data-sources/{source['id']}", json={"pace_s": value})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "pace_s"]


@pytest.mark.parametrize("value", [0, 65, "8", False])
def test_a_number_of_parallel_runs_that_is_none_is_refused(service, source, value):
    answer = service.admin.patch(f"/api/data-sources/{source['id']}", json={"max_parallel": value})
    assert answer.status_code == 422


def test_a_query_says_that_it_waits_for_the_pace_of_its_source_and_starts_when_that_is_0(service, source):
    path = f"/api/data-sources/{source['id']}"
    service.admin.patch(path, json={"pace_s": 86_400})
    with service.host.store.begin() as connection:
        rests = sa.update(lanes).where(lanes.c.source_id == source["id"])
        connection.execute(rests.values(ended_at=service.clock.now()))
    query = create(service, data_source=source["name"])
    make_due(service, query)
    told = read_query(service, query)["waiting_for"]
    assert told.startswith(f"the pace of its source: “{source['name']}” runs one at a time, 86400 s apart")
    assert f"set the pace of {source['name']} to 0" in told
    listed = service.viewer.get("/api/scheduled-queries", params={"search": query["name"]}).json()["data"]
    assert [one["waiting_for"] for one in listed if one["id"] == query["id"]] == [told]
    for path_of_page in (f"{PAGES}/?search={query['name']}", f"{PAGES}/query/{query['id']}"):
        page = read(service.viewer.get(path_of_page).text).text
        assert all(part in page for part in told.split(": ", 1)), path_of_page
    service.admin.patch(path, json={"pace_s": 0})
    until(lambda: read_query(service, query)["last_status"] == "success")
    assert read_query(service, query)["waiting_for"] is None


def test_while_all_are_paused_nothing_starts_but_by_hand_and_the_pages_say_who_did_it(service, paused):
    state = service.viewer.get("/api/schedule").json()
    assert (state["paused"], state["by"]) == (True, "admin")
    assert state["since"]
    query = create(service, cron_schedule="* * * * *")
    due = make_due(service, query)
    service.parts.service.tick()
    found = read_query(service, query)
    assert (found["last_status"], found["running"]) == (None, False)
    assert found["waiting_for"].startswith("the end of a pause: admin paused all queries at ")
    for path in (
        "/",
        f"/query/{query['id']}",
        "/dashboard",
        "/results-widgets",
        "/results-widgets?full=1",
        "/alerts",
    ):
        page = service.viewer.get(PAGES + path).text
        assert "All queries are paused." in page, path
        assert "Resume all" not in page
    assert "Resume all" in service.admin.get(f"{PAGES}/").text
    assert "plugbay_schedule_paused 1.0" in service.admin.get("/metrics").text
    assert service.run(query["id"])["status"] == "success"
    assert why(service, query, due)["reason"] == "waiting"
    service.clock.advance(60)
    told = why(service, query, due + timedelta(minutes=1, seconds=30))
    assert told["reason"] in ("paused", "ran")


def test_what_was_due_meanwhile_runs_once_when_the_schedule_goes_on(service, source, paused):
    query = create(service, cron_schedule="0 * * * *", data_source=source["name"])
    due = make_due(service, query, timedelta(hours=48))
    service.parts.service.tick()
    assert service.admin.post(f"{PAGES}/resume-all").status_code == 303
    until(lambda: read_query(service, query)["last_status"] == "success")
    [item] = service.viewer.get(f"/api/execution-history/{query['id']}").json()["data"]
    assert item["missed"] == 48
    assert "All queries are paused." not in service.viewer.get(f"{PAGES}/").text
    assert "plugbay_schedule_paused 0.0" in service.admin.get("/metrics").text
    late = why(service, query, due)
    assert (late["reason"], late["execution_id"]) == ("ran_late", item["id"])
    passed = why(service, query, due.replace(minute=0) + timedelta(hours=2))
    assert (passed["reason"], passed["execution_id"]) == ("missed", item["id"])


def test_admins_pause_and_resume_from_the_list(service):
    page = service.admin.get(f"{PAGES}/").text
    assert "Pause all" in page
    assert "Pause all" not in service.editor.get(f"{PAGES}/").text
    for path in ("/pause-all", "/resume-all"):
        assert service.editor.post(PAGES + path).status_code == 403
    assert service.admin.post(f"{PAGES}/pause-all").status_code == 303
    assert service.viewer.get("/api/schedule").json()["paused"] is True
    assert service.admin.post(f"{PAGES}/resume-all").status_code == 303
    assert service.viewer.get("/api/schedule").json() == {"paused": False, "since": None, "by": None}


@pytest.mark.parametrize("body", [{}, {"paused": None}, {"paused": "yes"}, {"paused": 1}])
def test_a_pause_is_wanted_or_not(service, body):
    assert service.admin.post("/api/schedule", json=body).status_code == 422
    assert service.viewer.get("/api/schedule").json()["paused"] is False


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_only_admins_pause_all(service, role):
    assert getattr(service, role).post("/api/schedule", json={"paused": True}).status_code == 403


def test_a_run_by_hand_answers_for_its_minute(service):
    query = create(service)
    item = service.run(query["id"])["execution"]
    told = why(service, query, item["executed_at"])
    assert (told["reason"], told["execution_id"]) == ("ran", item["id"])
    assert "by hand (editor)" in told["answer"]


def test_who_disabled_a_query_is_told(service):
    query = create(service, cron_schedule="* * * * *")
    service.clock.advance(1)
    service.editor.patch(f"/api/scheduled-queries/{query['id']}", json={"enabled": False})
    service.clock.advance(120)
    told = why(service, query, service.clock.now() - timedelta(minutes=1))
    assert told["reason"] == "disabled"
    assert told["answer"].startswith("It was disabled by editor at ")


@pytest.mark.parametrize("at", ["", "soon", "2026-11-15", "2026-11-15T12:00:00", "2026-02-30 00:00:00"])
def test_a_time_that_is_none_is_refused(service, at):
    query = create(service)
    answer = service.viewer.get(f"/api/scheduled-queries/{query['id']}/why", params={"at": at})
    assert answer.status_code == 422
    assert service.viewer.get(f"/api/scheduled-queries/{query['id']}/why").status_code == 422


def test_an_unknown_query_has_no_past(service):
    answer = service.viewer.get("/api/scheduled-queries/999999/why", params={"at": "2026-11-15 12:00:00"})
    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("1999-01-01T09:00", "Not there yet. The query was made by editor at"),
        ("2999-01-01T09:00", "Future. That is still to come."),
        ("soon", "Enter a day and a time"),
        ("", "The answer comes from the history"),
    ],
)
def test_the_page_of_a_query_answers_too(service, asked, words):
    query = create(service)
    page = read(service.viewer.get(f"{PAGES}/query/{query['id']}", params={"why": asked}).text)
    assert words in page.first("p", id="why-answer").text


def test_the_page_reads_a_time_in_the_zone_of_its_reader(service):
    query = create(service)
    item = service.run(query["id"])["execution"]
    began = datetime.fromisoformat(item["executed_at"]) + timedelta(hours=9)
    params = {"why": began.strftime("%Y-%m-%dT%H:%M"), "zone": "Asia/Tokyo"}
    page = read(service.viewer.get(f"{PAGES}/query/{query['id']}", params=params).text)
    assert "Ran. It ran at" in page.first("p", id="why-answer").text


@pytest.mark.parametrize(
    ("at", "reason"), [("9999-12-31 23:59:30", "future"), ("0001-01-01 00:00:00", "not_there_yet")]
)
def test_the_ends_of_the_calendar_have_an_answer(service, at: str, reason: str):
    query = service.create(data_source="shop")
    assert why(service, query, at)["reason"] == reason
