"""The plugin in its host: found, started, stopped, reloaded."""

from collections.abc import Callable
from pathlib import Path

import pytest
from fakes import FakeClock
from fastapi.testclient import TestClient
from plugbay import InvalidConfig, Plugbay
from plugbay_task_worker import Engine
from plugbay_task_worker.plugin import TaskWorker
from task_worker.world import PATIENCE_S, Gate, Stoppable, opened_at_last, our_threads

SHOP = """
from plugbay import BaseModule

class Shop(BaseModule):
    module_version = "1.0"
    depends_on = {"task_worker": ">=0.3.0"}
    calls = []

    def on_load(self):
        pass

    def on_load_complete(self, fast_pluggy):
        engine = fast_pluggy.get_module("task_worker").engine
        engine.every(owner="shop", name="count_stock", seconds=60, call=self.calls.append, at_start=True)
"""


def engine_of(host: Plugbay) -> Engine:
    module = host.get_module("task_worker")
    assert isinstance(module, TaskWorker)
    return module.engine


@pytest.fixture
def shop(tmp_path: Path) -> None:
    """A plugin folder that depends on the task worker."""
    folder = tmp_path / "plugins" / "shop"
    folder.mkdir(parents=True)
    (folder / "plugin.py").write_text(SHOP)


def test_it_is_found_by_its_entry_point_with_its_version(host: Plugbay) -> None:
    plugin = host.modules.get("task_worker")
    assert (plugin.state, plugin.version) == ("loaded", "0.3.0")


def test_the_engine_starts_and_stops_with_the_application(host: Plugbay) -> None:
    assert our_threads() == []
    with TestClient(host.app):
        engine = engine_of(host)
        assert engine.stats().started
    assert not engine.stats().started
    assert our_threads() == []


def test_the_engine_starts_again_with_the_application(host: Plugbay) -> None:
    for _ in range(2):
        with TestClient(host.app):
            assert engine_of(host).stats().started


def test_a_server_that_stops_hands_back_what_waits_and_ends_what_runs(
    host: Plugbay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plugbay.host.STOP_GRACE_S", 0.0)
    engine, works, back = engine_of(host), [Stoppable() for _ in range(20)], []
    engine.handle(
        owner="shop",
        name="work",
        call=lambda job: works[job.payload["n"]](job),
        returned=lambda job: back.append(job.payload),
    )
    with opened_at_last(*works):
        with TestClient(host.app):
            engine.submit_many("shop", "work", [{"n": n} for n in range(20)])
            for work in works[:16]:
                work.wait_begun()
            host.stop(0)

        assert [work.reasons for work in works] == [["the engine stops"]] * 16 + [[]] * 4
        assert back == [{"n": n} for n in range(16, 20)]


def test_a_plugin_registers_a_task_by_name_and_owner(
    shop: None, make_host: Callable[..., Plugbay], clock: FakeClock
) -> None:
    host = make_host()
    with TestClient(host.app):
        engine = engine_of(host)
        calls = host.get_module("shop").calls
        assert engine.wait_idle(PATIENCE_S)
        assert [job.name for job in calls] == ["count_stock"]
        clock.advance(60)
        engine.run_due()
        assert engine.wait_idle(PATIENCE_S)

        assert len(calls) == 2


def test_the_tasks_of_a_disabled_plugin_are_gone_and_come_back_with_it(
    shop: None, make_host: Callable[..., Plugbay]
) -> None:
    host = make_host()
    with TestClient(host.app):
        host.modules.disable("shop")
        assert engine_of(host).stats().tasks == ()
        host.modules.enable("shop")

        assert [(task.owner, task.name) for task in engine_of(host).stats().tasks] == [
            ("shop", "count_stock")
        ]


def test_it_cannot_be_disabled_while_a_plugin_needs_it(shop: None, make_host: Callable[..., Plugbay]) -> None:
    with pytest.raises(Exception, match="task_worker is needed by shop"):
        make_host().modules.disable("task_worker")


def test_disabling_it_leaves_no_thread_behind_and_enabling_it_starts_anew(host: Plugbay) -> None:
    with TestClient(host.app):
        host.modules.disable("task_worker")
        assert our_threads() == []
        host.modules.enable("task_worker")

        assert engine_of(host).stats().started


def test_a_reload_leaves_no_thread_of_the_engine_before(
    shop: None, make_host: Callable[..., Plugbay]
) -> None:
    host = make_host()
    with TestClient(host.app):
        before = engine_of(host)
        host.reload()
        assert engine_of(host) is not before
        assert not before.stats().started
        assert our_threads().count("task-worker-clock") == 1


def test_a_tick_is_claimed_in_the_store(
    shop: None, make_host: Callable[..., Plugbay], clock: FakeClock
) -> None:
    host = make_host()
    with TestClient(host.app):
        assert engine_of(host).wait_idle(PATIENCE_S)
        clock.advance(60)
        engine_of(host).run_due()
        assert engine_of(host).wait_idle(PATIENCE_S)
        with host.store.connect() as connection:
            rows = connection.exec_driver_sql("SELECT task, tick FROM task_worker_ticks").all()

    assert rows == [("shop.count_stock", int(clock.now().timestamp()))]


def test_settings_come_from_the_environment(
    make_host: Callable[..., Plugbay], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASK_WORKER_WORKERS", "3")
    assert engine_of(make_host()).stats().workers == 3


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TASK_WORKER_WORKERS", "0"),
        ("TASK_WORKER_WORKERS", "many"),
        ("TASK_WORKER_TASK_WORKERS", "1"),
        ("TASK_WORKER_RECENT_JOBS", "-1"),
    ],
)
def test_a_bad_setting_refuses_to_start_and_is_named(
    make_host: Callable[..., Plugbay], monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidConfig, match=variable):
        make_host()


def test_changed_settings_take_effect_at_once(host: Plugbay) -> None:
    engine, gate = engine_of(host), Gate()
    engine.handle(owner="shop", name="gate", call=gate)
    with TestClient(host.app), opened_at_last(gate):
        assert engine.wait_idle(PATIENCE_S)  # else its own chores may be seen at work, too
        host.modules.save_settings("task_worker", {"workers": 1, "recent_jobs": 2})
        engine.submit_many("shop", "gate", [{}] * 5)
        gate.wait_begun()
        assert (len(engine.stats().running), engine.stats().queued) == (1, 4)
        host.modules.save_settings("task_worker", {"workers": 3})
        gate.wait_begun()
        gate.wait_begun()
        assert (len(engine.stats().running), engine.stats().queued) == (3, 2)
        host.modules.save_settings("task_worker", {"workers": 1})
        gate.opened.set()
        assert engine.wait_idle(PATIENCE_S)
        assert len(engine.stats().recent) == 2
        engine.submit("shop", "gate")
        assert engine.wait_idle(PATIENCE_S)

    assert gate.calls == 6


def test_its_counters_are_on_metrics(
    shop: None, make_host: Callable[..., Plugbay], client_of: Callable[..., TestClient]
) -> None:
    host = make_host()
    client = client_of(host)
    assert engine_of(host).wait_idle(PATIENCE_S)

    text = client.get("/metrics").text
    assert 'plugbay_task_runs_total{owner="shop",task="count_stock"} 1\n' in text
    host.modules.disable("shop")
    host.modules.disable("task_worker")
    assert "plugbay_task" not in client.get("/metrics").text


def test_readyz_says_whether_the_engine_ticks(host: Plugbay, client_of: Callable[..., TestClient]) -> None:
    client = client_of(host)
    assert client.get("/readyz").status_code == 200
    engine_of(host).stop(0)

    assert client.get("/readyz").json()["problems"] == {"task_worker": "the engine is not ticking"}


def test_two_servers_on_one_store_tick_once(
    shop: None, make_host: Callable[..., Plugbay], clock: FakeClock
) -> None:
    hosts = [make_host(), make_host()]
    with TestClient(hosts[0].app), TestClient(hosts[1].app):
        for host in hosts:
            assert engine_of(host).wait_idle(PATIENCE_S)
            host.get_module("shop").calls.clear()
        for _ in range(5):
            clock.advance(60)
            for host in hosts:
                engine_of(host).run_due()
            for host in hosts:
                assert engine_of(host).wait_idle(PATIENCE_S)

        runs = [engine_of(host).stats().tasks[0].runs for host in hosts]
    assert sum(runs) == 2 + 5  # one at each start, then one a minute


@pytest.mark.parametrize(
    ("wanted", "on_sqlite", "on_postgresql"),
    [
        ("auto", "EmbeddedEngine", "ProcrastinateEngine"),
        ("embedded", "EmbeddedEngine", "EmbeddedEngine"),
    ],
)
def test_the_engine_is_chosen_by_setting_and_store(
    make_host: Callable[..., Plugbay],
    monkeypatch: pytest.MonkeyPatch,
    postgres_url: str,
    wanted: str,
    on_sqlite: str,
    on_postgresql: str,
) -> None:
    monkeypatch.setenv("TASK_WORKER_ENGINE", wanted)
    hosts = make_host(), make_host(database_url=postgres_url)

    assert [type(engine_of(host)).__name__ for host in hosts] == [on_sqlite, on_postgresql]


def test_an_engine_that_is_not_possible_is_an_error_only_of_who_runs_the_process(
    make_host: Callable[..., Plugbay], caplog: pytest.LogCaptureFixture
) -> None:
    host = make_host()
    host.modules.save_settings("task_worker", {"engine": "procrastinate"})
    again = make_host()

    assert type(engine_of(again)).__name__ == "EmbeddedEngine"
    assert "engine_not_possible wanted=procrastinate" in caplog.text


def test_without_the_library_jobs_stay_in_their_process_and_the_log_says_so(
    make_host: Callable[..., Plugbay],
    monkeypatch: pytest.MonkeyPatch,
    postgres_url: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("plugbay_task_worker.plugin.find_spec", lambda name: None)
    host = make_host(database_url=postgres_url)

    assert not engine_of(host).is_shared
    assert "pip install 'plugbay-task-worker[procrastinate]'" in caplog.text


def test_a_server_may_leave_tasks_to_workers(
    shop: None, make_host: Callable[..., Plugbay], monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    monkeypatch.setenv("TASK_WORKER_SERVER_WORKS", "false")
    host = make_host()
    with TestClient(host.app):
        clock.advance(60)
        engine_of(host).run_due()
        assert engine_of(host).wait_idle(PATIENCE_S)

        assert host.get_module("shop").calls == []
