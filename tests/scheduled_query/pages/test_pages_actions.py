"""The buttons of a list through HTTP: run, cancel, switch, copy, delete; with htmx and without."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from anyio.to_thread import current_default_thread_limiter
from runner_kit import eventually
from scheduled_query.api.conftest import FOREVER, Service
from scheduled_query.pages.reading import read

HTMX = {"HX-Request": "true"}


def toast(response) -> dict[str, str]:
    return json.loads(response.headers["HX-Trigger"])["toast"]


def test_run_now_without_javascript_leads_back_to_where_one_was(service: Service):
    made = service.create()
    referer = f"http://testserver/scheduled_query/?search={made['id']}&page=1"
    answer = service.editor.post(f"/scheduled_query/run/{made['id']}", headers={"Referer": referer})
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/scheduled_query/?search={made['id']}&page=1"


@pytest.mark.parametrize(
    "referer",
    ["", "https://evil.example/scheduled_query/", "http://testserver/admin/plugins", "http://[", "//x"],
)
def test_whoever_comes_from_elsewhere_is_led_to_the_list(service: Service, referer: str):
    made = service.create()
    answer = service.editor.post(f"/scheduled_query/run/{made['id']}", headers={"Referer": referer})
    assert answer.headers["location"] == "/scheduled_query/"


def test_run_now_with_htmx_answers_with_the_row(service: Service):
    made = service.create()
    answer = service.editor.post(f"/scheduled_query/run/{made['id']}", headers=HTMX)
    assert answer.status_code == 200
    assert read(answer.text).first("tr", id=f"q-{made['id']}")
    assert toast(answer)["level"] in ("success", "info")


def test_run_now_of_a_failing_query_says_why(service: Service):
    made = service.create("SELECT * FROM nowhere")
    service.run(made["id"])
    answer = service.editor.post(f"/scheduled_query/run/{made['id']}", headers=HTMX)
    if toast(answer)["level"] != "info":  # a busy machine may need longer than the button waits
        assert "no such table: nowhere" in toast(answer)["text"]


def test_run_now_of_a_slow_query_goes_on_and_can_be_cancelled(service: Service):
    made = service.create(FOREVER, timeout=300)
    answer = service.editor.post(f"/scheduled_query/run/{made['id']}", headers=HTMX)
    assert toast(answer) == {"text": f"“{made['name']}” is running.", "level": "info"}
    assert "Cancel" in read(answer.text).text
    stopped = service.editor.post(f"/scheduled_query/cancel/{made['id']}", headers=HTMX)
    assert "is being cancelled" in toast(stopped)["text"]
    history = f"/api/execution-history/{made['id']}"
    found = eventually(lambda: service.viewer.get(history).json()["data"])
    assert found[0]["error_message"] == "cancelled by editor"


@pytest.fixture
def two_threads(service: Service) -> Iterator[None]:
    """The server has two threads for all that blocks."""
    limiter = service._portal.call(current_default_thread_limiter)
    before = limiter.total_tokens
    service._portal.call(setattr, limiter, "total_tokens", 2)
    yield
    service._portal.call(setattr, limiter, "total_tokens", before)


@pytest.mark.usefixtures("two_threads")
def test_more_people_than_threads_can_wait_for_their_runs(service: Service):
    made = [service.create(FOREVER)["id"] for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(service.editor.post, f"/scheduled_query/run/{each}") for each in made]
        assert [answer.result(60).status_code for answer in answers] == [303, 303, 303]
    for each in made:
        service.editor.post(f"/api/cancel/{each}")
        eventually(
            lambda each=each: not service.editor.get(f"/api/scheduled-queries/{each}").json()["running"]
        )


def test_cancelling_what_does_not_run_says_so(service: Service):
    made = service.create()
    answer = service.editor.post(f"/scheduled_query/cancel/{made['id']}", headers=HTMX)
    assert toast(answer)["text"] == f"“{made['name']}” was not running."


def test_the_switch_switches(service: Service):
    made = service.create()
    for is_on, words in ((False, "no longer runs"), (True, "runs on schedule again")):
        answer = service.editor.post(f"/scheduled_query/toggle/{made['id']}", headers=HTMX)
        switch = read(answer.text).first("button", role="switch")
        assert switch.attributes["aria-checked"] == str(is_on).lower()
        assert words in toast(answer)["text"]
        assert service.viewer.get(f"/api/scheduled-queries/{made['id']}").json()["enabled"] is is_on


def test_switching_on_too_much_warns(service: Service):
    made = [service.create(cron_schedule="* * * * *", enabled=False) for _ in range(3)]
    answers = [service.editor.post(f"/scheduled_query/toggle/{one['id']}", headers=HTMX) for one in made]
    assert toast(answers[-1])["level"] == "warning"
    assert "cannot keep up" in toast(answers[-1])["text"]
    for one in made:
        service.editor.delete(f"/api/scheduled-queries/{one['id']}")


def test_a_copy_is_switched_off_and_open_for_editing(service: Service):
    made = service.create(monitor_metric_config={"metric_name": "copied_total", "labels": {}})
    answer = service.editor.post(f"/scheduled_query/duplicate/{made['id']}")
    copy_id = answer.headers["location"].rpartition("/")[2]
    copy = service.viewer.get(f"/api/scheduled-queries/{copy_id}").json()
    assert answer.headers["location"] == f"/scheduled_query/edit/{copy_id}"
    assert copy["name"] == f"{made['name']} (copy)"
    assert copy["enabled"] is False
    assert copy["monitor_metric_config"] is None


def test_deleting_leads_to_the_list_also_from_the_page_of_the_query(service: Service):
    made = service.create()
    referer = f"http://testserver/scheduled_query/query/{made['id']}"
    answer = service.editor.post(f"/scheduled_query/delete/{made['id']}", headers={"Referer": referer})
    assert (answer.status_code, answer.headers["location"]) == (303, "/scheduled_query/")
    assert service.viewer.get(f"/scheduled_query/query/{made['id']}").status_code == 404


def test_deleting_from_a_filtered_list_keeps_the_filter(service: Service):
    made = service.create()
    referer = "http://testserver/scheduled_query/?tag=x"
    answer = service.editor.post(f"/scheduled_query/delete/{made['id']}", headers={"Referer": referer})
    assert answer.headers["location"] == "/scheduled_query/?tag=x"


def test_deleting_asks_on_a_page_or_in_a_dialog(service: Service):
    made = service.create()
    page = service.editor.get(f"/scheduled_query/delete/{made['id']}").text
    part = service.editor.get(f"/scheduled_query/delete/{made['id']}", headers=HTMX).text
    for text in (page, part):
        assert f"Delete “{made['name']}”?" in text
    assert "<html" in page
    assert "<html" not in part
    assert service.viewer.get(f"/scheduled_query/delete/{made['id']}").status_code == 403


@pytest.mark.parametrize("action", ["run", "cancel", "toggle", "duplicate", "delete", "edit"])
def test_a_viewer_may_do_none_of_it(service: Service, action: str):
    made = service.create()
    assert service.viewer.post(f"/scheduled_query/{action}/{made['id']}").status_code == 403


@pytest.mark.parametrize("action", ["run", "cancel", "toggle", "duplicate", "delete", "edit"])
@pytest.mark.parametrize("query_id", ["999999", "0", "-1", "x", "1.0", "9" * 40, "٣"])
def test_what_does_not_exist_is_not_found(service: Service, action: str, query_id: str):
    assert service.editor.post(f"/scheduled_query/{action}/{query_id}").status_code == 404
