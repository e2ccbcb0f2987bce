"""`plugbay worker`, in a process of its own."""

import signal
import subprocess
from pathlib import Path

import pytest
from plugbay import Store
from servers import PLUGBAY, START_S, environment, plugbay

SHOP = """
from plugbay import BaseModule

class Shop(BaseModule):
    depends_on = {"task_worker": ">=0.3.0"}

    def on_load(self):
        pass

    def on_load_complete(self, fast_pluggy):
        engine = fast_pluggy.get_module("task_worker").engine
        engine.every(owner="shop", name="count_stock", seconds=1, call=self.count)

    def count(self, job):
        print("stock was counted", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_works_off_tasks_until_it_is_told_to_stop(tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "plugins" / "shop"
    folder.mkdir(parents=True)
    (folder / "plugin.py").write_text(SHOP)
    variables = environment(PLUGBAY_ADMIN_PASSWORD="correct horse battery staple")
    command = [str(PLUGBAY), "worker", "--data-dir", str(tmp_path / "elsewhere"), "--log-level", "warning"]
    wanted = {f"Plugbay is working on {tmp_path / 'elsewhere/plugbay.db'}", "stock was counted"}
    with subprocess.Popen(command, cwd=tmp_path, env=variables, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        while wanted:  # in either order: the engine is at work before the command says so
            line = process.stdout.readline()
            assert line, f"it ended without {wanted}"
            wanted = {text for text in wanted if text not in line}
        process.send_signal(number)
        assert process.wait(START_S) == 0
    store = Store("", tmp_path / "elsewhere")
    with store.connect() as connection:
        claimed = connection.exec_driver_sql("SELECT count(*) FROM task_worker_ticks").scalar()
    store.close()
    assert claimed


def test_a_bad_variable_is_named_with_exit_status_2(tmp_path: Path) -> None:
    answer = plugbay(tmp_path, "worker", TASK_WORKER_WORKERS="many")

    assert answer.returncode == 2
    assert "TASK_WORKER_WORKERS" in answer.stderr


def test_help_says_what_it_is_for(tmp_path: Path) -> None:
    assert "without serving pages" in " ".join(plugbay(tmp_path, "worker", "--help").stdout.split())


@pytest.mark.parametrize("command", ["worker", "serve"])
def test_the_shared_engine_needs_postgresql_and_says_so_with_exit_status_2(
    tmp_path: Path, command: str
) -> None:
    answer = plugbay(tmp_path, command, TASK_WORKER_ENGINE="procrastinate")

    assert answer.returncode == 2
    assert "TASK_WORKER_ENGINE has the value 'procrastinate'" in answer.stderr
    assert "it needs a PostgreSQL store, which PLUGBAY_DATABASE_URL names" in answer.stderr


@pytest.mark.parametrize("number", ["0", "257", "many"])
def test_a_concurrency_that_cannot_be_is_refused(tmp_path: Path, number: str) -> None:
    assert plugbay(tmp_path, "worker", "--concurrency", number).returncode == 2
