import re
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes import FakeClock
from fastapi.testclient import TestClient
from plugbay import Plugbay
from plugbay.auth import add_user
from plugbay_task_worker.embedded import EmbeddedEngine
from plugbay_task_worker.engine import Job
from plugbay_task_worker.plugin import TaskWorker
from task_worker.conftest import PASSWORD
from task_worker.world import PATIENCE_S, Gate, Stoppable, opened_at_last


@pytest.fixture
def engine(host: Plugbay) -> EmbeddedEngine:
    module = host.get_module("task_worker")
    assert isinstance(module, TaskWorker)
    return module.engine


def text_of(client: TestClient, path: str = "/task_worker/") -> str:
    """What a reader sees, without the tags."""
    page = client.get(path)
    assert page.status_code == 200
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.text))


def test_an_empty_page_says_what_to_do_next(admin: TestClient) -> None:
    text = text_of(admin)

    assert "No plugin has registered a task" in text
    assert "engine.every(…)" in text
    assert "Nothing is running" in text
    assert "Nothing has run yet" in text


def test_a_task_is_shown_with_its_owner_period_last_and_next_run(
    admin: TestClient,
    engine: EmbeddedEngine,
    clock: FakeClock,
) -> None:
    engine.every(owner="shop", name="count_stock", seconds=300, call=lambda job: clock.advance(1.5))
    clock.advance(300)
    engine.run_due()
    assert engine.wait_idle(PATIENCE_S)
    clock.advance(10.5)
    text = text_of(admin)

    assert "every 5 min done 12 s ago 1.5 s in 4 min 1 0 Run now count_stock" in text
    assert "count_stock shop every 5 min, last 12 s ago, next in 4 min" in text
    assert 'title="2026-11-15 12:05:00 UTC"' in admin.get("/task_worker/").text


def test_a_task_that_never_ran_waits(admin: TestClient, engine: EmbeddedEngine) -> None:
    engine.every(owner="shop", name="count_stock", seconds=60, call=lambda job: None)
    assert "every minute waiting never – in 1 min 0 0 Run now" in text_of(admin)


def test_of_several_hosts_in_a_process_each_shows_its_own_tasks(
    make_host: Callable[..., Plugbay], client_of: Callable[..., TestClient], tmp_path: Path
) -> None:
    hosts = {name: make_host(data_dir=tmp_path / name) for name in ("north", "south")}
    for name, host in hosts.items():
        host.get_module("task_worker").engine.every(
            owner="shop", name=name, seconds=60, call=lambda job: None
        )

    for name, host in hosts.items():
        text = text_of(client_of(host))
        assert [other for other in hosts if f"Run now {other}" in text] == [name]


def test_the_last_error_is_shown_and_escaped(admin: TestClient, engine: EmbeddedEngine) -> None:
    def fail(job: Job) -> None:
        raise ValueError("<script>alert(1)</script>")

    engine.every(owner="shop", name="count_stock", seconds=60, call=fail)
    engine.run_task("shop", "count_stock")
    assert engine.wait_idle(PATIENCE_S)
    page = admin.get("/task_worker/").text

    assert "ValueError: &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page


def test_run_now_calls_the_task_and_comes_back_with_a_message(
    admin: TestClient, engine: EmbeddedEngine
) -> None:
    calls: list[Job] = []
    engine.every(owner="shop", name="count_stock", seconds=60, call=calls.append)
    answer = admin.post("/task_worker/tasks/shop/count_stock/run")

    assert (answer.status_code, answer.headers["location"]) == (303, "/task_worker/")
    assert engine.wait_idle(PATIENCE_S)
    assert len(calls) == 1
    assert "count_stock is being called." in text_of(admin)


def test_run_now_of_a_task_at_work_says_so(admin: TestClient, engine: EmbeddedEngine) -> None:
    gate = Gate()
    engine.every(owner="shop", name="count_stock", seconds=60, call=gate)
    with opened_at_last(gate):
        engine.run_task("shop", "count_stock")
        gate.wait_begun()
        admin.post("/task_worker/tasks/shop/count_stock/run")

        assert "count_stock is already at work." in text_of(admin)
    assert engine.wait_idle(PATIENCE_S)
    assert gate.calls == 1


@pytest.mark.parametrize("path", ["shop/other", "other/count_stock", "shop/%00", "..%2f/x"])
def test_run_now_of_an_unknown_task_is_404(admin: TestClient, engine: EmbeddedEngine, path: str) -> None:
    engine.every(owner="shop", name="count_stock", seconds=60, call=lambda job: None)
    assert admin.post(f"/task_worker/tasks/{path}/run").status_code == 404


def test_a_running_job_is_shown_and_cancelled_by_name(admin: TestClient, engine: EmbeddedEngine) -> None:
    work = Stoppable()
    engine.handle(owner="shop", name="restock", call=work)
    with opened_at_last(work):
        job_id = engine.submit("shop", "restock", {"article": "<b>7</b>"})
        work.wait_begun()
        assert "{&#34;article&#34;: &#34;&lt;b&gt;7&lt;/b&gt;&#34;}" in admin.get("/task_worker/").text
        answer = admin.post(f"/task_worker/jobs/{job_id}/cancel")
        assert engine.wait_idle(PATIENCE_S)

    assert answer.status_code == 303
    assert work.reasons == ["cancelled by admin"]
    text = text_of(admin)
    assert "The job was asked to stop." in text
    assert "cancelled by admin job cancelled now" in text


def test_a_recent_job_shows_which_one_it_was(admin: TestClient, engine: EmbeddedEngine) -> None:
    engine.handle(owner="shop", name="restock", call=lambda job: None)
    engine.submit_many("shop", "restock", [{"article": 7}, {"article": 8}])
    assert engine.wait_idle(PATIENCE_S)

    text = text_of(admin)
    assert "{&#34;article&#34;: 7} job done" in text
    assert "{&#34;article&#34;: 8} job done" in text


def test_a_job_that_was_asked_to_stop_is_shown_as_stopping(admin: TestClient, engine: EmbeddedEngine) -> None:
    deaf = Gate()
    engine.handle(owner="shop", name="restock", call=deaf)
    with opened_at_last(deaf):
        job_id = engine.submit("shop", "restock")
        deaf.wait_begun()
        engine.cancel(job_id)

        assert "Stopping" in text_of(admin)


@pytest.mark.parametrize("job_id", ["unknown", "1", "x" * 500])
def test_cancelling_what_does_not_run_says_so(admin: TestClient, job_id: str) -> None:
    assert admin.post(f"/task_worker/jobs/{job_id}/cancel").status_code == 303
    assert "That job is no longer running." in text_of(admin)


def test_the_live_part_is_the_tables_alone(admin: TestClient, engine: EmbeddedEngine) -> None:
    engine.every(owner="shop", name="count_stock", seconds=60, call=lambda job: None)
    part = admin.get("/task_worker/live").text

    assert "count_stock" in part
    assert "<html" not in part


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_only_admins_may_see_and_do(
    host: Plugbay,
    engine: EmbeddedEngine,
    client_of: Callable[..., TestClient],
    role: str,
) -> None:
    calls: list[Job] = []
    engine.every(owner="shop", name="count_stock", seconds=60, call=calls.append)
    add_user(host.store, "ada", PASSWORD, role)
    client = client_of(host, "ada")

    assert client.get("/task_worker/").status_code == 403
    assert client.get("/task_worker/live").status_code == 403
    assert client.post("/task_worker/tasks/shop/count_stock/run").status_code == 403
    assert client.post("/task_worker/jobs/1/cancel").status_code == 403
    assert engine.wait_idle(PATIENCE_S)
    assert calls == []


def test_who_is_not_logged_in_is_sent_to_the_login(
    host: Plugbay, client_of: Callable[..., TestClient]
) -> None:
    anonymous = client_of(host, "")

    assert anonymous.get("/task_worker/").headers["location"] == "/login?next=/task_worker/"
    assert anonymous.post("/task_worker/jobs/1/cancel").status_code == 401


def test_the_menu_leads_admins_to_the_page(admin: TestClient) -> None:
    assert re.search(
        r'<a href="/task_worker/"[^>]*><i class="fas fa-gears"></i>Tasks</a>', admin.get("/task_worker/").text
    )


def test_a_job_is_named_and_linked_by_its_owner(
    admin: TestClient, host: Plugbay, engine: EmbeddedEngine
) -> None:
    engine.handle(owner="shop", name="pack", call=lambda job: None)
    asked = []

    def describe(payloads):
        asked.append(payloads)
        return [[(f"Parcel {number}", f"/shop/{number}") for number in one["parcels"]] for one in payloads]

    host.get_module("task_worker").describe("shop", "pack", describe)
    engine.submit("shop", "pack", {"parcels": [1]})
    engine.submit("shop", "pack", {"parcels": list(range(1, 8))})
    assert engine.wait_idle(PATIENCE_S)
    page = admin.get("/task_worker/").text
    assert '<a class="text-break" href="/shop/1">Parcel 1</a>' in page
    assert "Parcel 5</a> and 2 more" in page
    assert "parcels" not in page
    assert len(asked) == 1


def test_who_fails_to_say_leaves_the_payload(
    admin: TestClient, host: Plugbay, engine: EmbeddedEngine
) -> None:
    engine.handle(owner="shop", name="pack", call=lambda job: None)
    host.get_module("task_worker").describe("shop", "pack", lambda payloads: 1 / 0)
    engine.submit("shop", "pack", {"parcels": [1]})
    assert engine.wait_idle(PATIENCE_S)
    assert "parcels" in text_of(admin)


def test_what_ran_is_paged(admin: TestClient, engine: EmbeddedEngine) -> None:
    engine.handle(owner="shop", name="pack", call=lambda job: None)
    engine.submit_many("shop", "pack", [{"n": number} for number in range(30)])
    assert engine.wait_idle(PATIENCE_S)
    assert "1–25 of 30" in text_of(admin)
    assert "26–30 of 30" in text_of(admin, "/task_worker/?page=2")
    assert "26–30 of 30" in text_of(admin, "/task_worker/live?page=99")
    assert "1–25 of 30" in text_of(admin, "/task_worker/?page=x")
