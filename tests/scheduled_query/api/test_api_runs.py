"""Run Now, by POST and by link, and Cancel."""

import base64
import json
import threading

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from plugbay_scheduled_query.runs.service import Ran
from plugbay_scheduled_query.tables import runs
from plugbay_scheduled_query.web.api.runs import run_message
from service_world import until

FOREVER = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e15) SELECT COUNT(*) FROM n"
)
PASSWORD = "correct horse battery staple"


def flash_of(answer) -> dict[str, str]:
    """The message that the next page will show."""
    value = answer.cookies["plugbay_flash"].partition(".")[0]
    return json.loads(base64.urlsafe_b64decode(value))[-1]


@pytest.fixture
def endless(service):
    """A query that runs until somebody stops it, or deletes it at the end."""
    made = service.create(FOREVER, timeout=300)
    yield made
    service.editor.delete(f"/api/scheduled-queries/{made['id']}")


# POST


def test_post_run_now_answers_with_status_and_execution(service):
    made = service.create("SELECT COUNT(*) AS n FROM orders")
    answer = service.editor.post(f"/api/run-now/{made['id']}")
    assert answer.status_code == 200
    assert answer.json()["status"] == "success"
    execution = answer.json()["execution"]
    assert (execution["result"], execution["result_key"], execution["trigger"]) == ("[[3]]", ["n"], "manual")
    assert execution["triggered_by"] == "editor"
    history = service.viewer.get(f"/api/execution-history/{made['id']}").json()["data"]
    assert history == [execution]


def test_a_failing_query_is_a_status_not_an_error(service):
    made = service.create("SELECT something FROM nowhere")
    ran = service.run(made["id"])
    assert ran["status"] == ran["execution"]["status"] == "failed"
    assert "nowhere" in ran["execution"]["error_message"]


def test_a_query_that_takes_too_long_is_a_timeout(service):
    made = service.create(FOREVER, timeout=1)
    ran = service.run(made["id"])
    assert ran["status"] == "timeout"
    assert ran["execution"]["error_message"] == "the time limit of 1 s was reached"


def test_run_now_works_on_a_disabled_query_and_leaves_its_schedule_alone(service):
    made = service.create(enabled=False)
    assert service.run(made["id"])["status"] == "success"
    found = service.viewer.get(f"/api/scheduled-queries/{made['id']}").json()
    assert (found["enabled"], found["next_run_at"]) == (False, None)


def test_past_the_wait_the_run_goes_on(service, endless):
    answer = service.editor.post(f"/api/run-now/{endless['id']}", params={"wait": 0})
    assert answer.json() == {"status": "running", "execution": None}
    assert service.viewer.get(f"/api/scheduled-queries/{endless['id']}").json()["running"] is True


def test_a_second_run_now_joins_the_first(service, endless):
    first = service.editor.post(f"/api/run-now/{endless['id']}", params={"wait": 0})
    again = service.editor.post(f"/api/run-now/{endless['id']}", params={"wait": 0})
    assert first.json() == again.json() == {"status": "running", "execution": None}
    with service.host.store.connect() as connection:
        count = sa.select(sa.func.count()).where(runs.c.query_id == endless["id"])
        assert connection.scalar(count) == 1


def test_a_run_of_another_process_is_joined_and_its_end_is_seen(service, monkeypatch):
    from plugbay_scheduled_query.core.model import Outcome, Status
    from plugbay_scheduled_query.repository.claims import Claims
    from plugbay_scheduled_query.repository.pruning import Keeping
    from plugbay_scheduled_query.repository.recording import Recording

    made = service.create()
    run, _ = Claims(service.host.store, service.clock, "elsewhere").start_now(made["id"], "ada")
    answer = service.editor.post(f"/api/run-now/{made['id']}", params={"wait": 0})
    assert answer.json() == {"status": "running", "execution": None}
    outcome = Outcome(Status.FAILED, error="over there", executed_at=service.clock.now())
    is_live, seen = service.parts.service.is_live, []

    def ends_once_it_is_seen(run_id: int) -> bool:
        seen.append(is_live(run_id))
        if len(seen) == 1:
            Recording(service.host.store).record([(run, outcome)], service.clock.now(), Keeping())
        return seen[-1]

    monkeypatch.setattr(service.parts.service, "is_live", ends_once_it_is_seen)
    ran = service.run(made["id"])
    assert seen == [True, False]
    assert (ran["status"], ran["execution"]["error_message"]) == ("failed", "over there")


def test_many_who_wait_hold_nobody_up(service, endless):
    waiting = [
        threading.Thread(
            target=service.editor.post,
            args=(f"/api/run-now/{endless['id']}",),
            kwargs={"params": {"wait": 60}},
        )
        for _ in range(60)  # more than there are threads for endpoints
    ]
    for thread in waiting:
        thread.start()
    promises = service.parts.service._runs._promises
    until(lambda: [len(made) for made in promises.values()] == [60])
    assert service.viewer.get(f"/api/scheduled-queries/{endless['id']}").status_code == 200
    assert service.editor.post(f"/api/cancel/{endless['id']}").status_code == 202
    for thread in waiting:
        thread.join()


def test_without_history_run_now_still_answers_with_the_execution(service):
    made = service.create("SELECT 7 AS n")
    with service.settings(enable_history=False):
        ran = service.run(made["id"])
    assert (ran["status"], ran["execution"]["id"], ran["execution"]["result"]) == ("success", None, "[[7]]")
    assert service.viewer.get(f"/api/execution-history/{made['id']}").json()["data"] == []
    assert service.viewer.get(f"/api/scheduled-queries/{made['id']}").json()["last_result"] == "[[7]]"


def test_sql_that_became_forbidden_fails_and_is_recorded(service):
    made = service.create("SELECT 'secret' AS s")
    with service.settings(forbidden_keywords="secret"):
        ran = service.run(made["id"])
    assert ran["status"] == "failed"
    assert ran["execution"]["error_message"].startswith("rejected: ")


@pytest.mark.parametrize("wait", ["-1", "61", "1.5", "soon", ""])
def test_a_bad_wait_is_422(service, wait):
    answer = service.editor.post(f"/api/run-now/{service.create()['id']}", params={"wait": wait})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", "wait"]


@pytest.mark.parametrize("path", ["run-now", "cancel"])
@pytest.mark.parametrize(("query_id", "code"), [(999_999, 404), (2**31, 404), (2**63, 422), ("x", 422)])
def test_an_unknown_or_impossible_query(service, path, query_id, code):
    assert service.editor.post(f"/api/{path}/{query_id}").status_code == code


# GET


def test_the_link_says_what_happened(service):
    made = service.create("SELECT 1", name="Linked")
    answer = service.editor.get(f"/api/run-now/{made['id']}")
    flash = flash_of(answer)
    assert flash["level"] == "success"
    assert flash["text"].startswith("“Linked” ran in ")


def test_the_link_says_why_it_failed(service):
    made = service.create("SELECT something FROM nowhere", name="Broken")
    flash = flash_of(service.editor.get(f"/api/run-now/{made['id']}"))
    assert flash["level"] == "error"
    assert flash["text"].startswith("“Broken” failed: ")


def test_the_link_goes_back_below_the_path_of_a_proxy(service):
    made = service.create()
    token = service.editor.headers["authorization"].partition(" ")[2]
    with_proxy = service.client(token, root_path="/tools/plugbay")
    assert (
        with_proxy.get(f"/api/run-now/{made['id']}").headers["location"] == "/tools/plugbay/scheduled_query/"
    )


@pytest.fixture
def visitor(service) -> TestClient:
    """Somebody who is logged in with a cookie."""
    client = service.client()
    assert client.post("/login", data={"username": "editor", "password": PASSWORD}).status_code == 303
    return client


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Referer": "https://evil.example/"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Purpose": "prefetch"},
        {"Purpose": "prefetch"},
        {"Sec-Purpose": "prefetch;prerender"},
    ],
)
def test_a_link_on_another_site_or_a_prefetch_runs_nothing(service, visitor, headers):
    made = service.create()
    assert visitor.get(f"/api/run-now/{made['id']}", headers=headers).status_code == 403
    assert service.viewer.get(f"/api/execution-history/{made['id']}").json()["data"] == []


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}])
def test_a_link_of_our_own_or_a_bookmark_runs(service, visitor, headers):
    assert visitor.get(f"/api/run-now/{service.create()['id']}", headers=headers).status_code == 303


def test_a_token_is_always_meant(service):
    headers = {"Sec-Fetch-Site": "cross-site", "Referer": "https://ci.example/"}
    assert service.editor.get(f"/api/run-now/{service.create()['id']}", headers=headers).status_code == 303


def test_head_runs_nothing(service, visitor):
    made = service.create()
    assert visitor.head(f"/api/run-now/{made['id']}").status_code == 405
    assert service.viewer.get(f"/api/execution-history/{made['id']}").json()["data"] == []


# cancel


def test_cancel_stops_a_run_and_names_who_did_it(service, endless):
    ran = {}
    waiting = threading.Thread(target=lambda: ran.update(service.run(endless["id"])))
    waiting.start()
    while service.admin.post(f"/api/cancel/{endless['id']}").status_code == 409:
        pass  # it has not begun yet
    waiting.join()
    assert ran["status"] == "failed"
    assert ran["execution"]["error_message"] == "cancelled by admin"


def test_cancel_answers_202_and_409_when_nothing_runs(service, endless):
    answer = service.editor.post(f"/api/cancel/{endless['id']}")
    assert (answer.status_code, answer.json()) == (409, {"detail": "This query is not running."})
    service.editor.post(f"/api/run-now/{endless['id']}", params={"wait": 0})
    answer = service.editor.post(f"/api/cancel/{endless['id']}")
    assert (answer.status_code, answer.json()) == (202, {"status": "cancelling"})


def test_deleting_a_query_stops_its_run(service):
    made = service.create(FOREVER, timeout=300)
    service.editor.post(f"/api/run-now/{made['id']}", params={"wait": 0})
    _, promise = service.parts.service.begin_now(made["id"], "test")
    assert service.editor.delete(f"/api/scheduled-queries/{made['id']}").status_code == 204
    execution = promise.result(60)
    assert execution.error_message == "cancelled by editor"


def test_the_link_has_a_word_for_every_end():
    going_on = run_message(Ran("running"), "Named")
    assert (going_on.level, going_on.text) == (
        "info",
        "“Named” is still running; its result will be here when it is done.",
    )
    assert run_message(Ran("timeout"), "Named").text == "“Named” timed out: no reason given"
    assert run_message(Ran("success"), "Named").text == "“Named” ran."
