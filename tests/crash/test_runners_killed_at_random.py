"""Runners are killed at any moment, and every run still gets an answer."""

import contextlib
import os
import random
import signal
import sqlite3
import threading
from pathlib import Path

from plugbay_scheduled_query.executor import Executor
from runner_kit import Asker, eventually, is_gone, target

THREADS, RUNS, KILLS = 6, 60, 40


def test_every_run_gets_its_own_answer_or_a_reason_while_runners_are_killed(tmp_path: Path):
    sqlite3.connect(tmp_path / "x.db").close()
    place = target(f"sqlite:///{tmp_path}/x.db")
    executor = Executor(4)
    asker = Asker(executor)
    statuses: list[str] = []
    wrong: list[object] = []
    done = threading.Event()

    def work(name: int) -> None:
        for number in range(RUNS):
            outcome = asker.ask(place, f"SELECT '{name}-{number}'", timeout_s=60)
            statuses.append(outcome.status)
            is_right = outcome.result_json == f'[["{name}-{number}"]]'
            if not is_right and not (outcome.status == "failed" and outcome.error):
                wrong.append(outcome)

    def kill() -> None:
        chance = random.Random(1)
        for _ in range(KILLS):
            runners = executor.runners()
            if runners:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(chance.choice(runners).pid, signal.SIGKILL)
            done.wait(0.02)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(THREADS)]
    threads.append(threading.Thread(target=kill))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert len(statuses) == THREADS * RUNS
    assert "success" in statuses
    # those killed while they started are found out one by one
    eventually(lambda: asker.ask(place, "SELECT 1").status == "success")
    pids = [runner.pid for runner in executor.runners()]
    executor.close()
    assert all(map(is_gone, pids))


def test_runs_that_are_cancelled_at_random_end_and_leave_the_pool_whole(tmp_path: Path):
    sqlite3.connect(tmp_path / "x.db").close()
    place = target(f"sqlite:///{tmp_path}/x.db")
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    executor = Executor(3)
    asker = Asker(executor)
    started = [asker.start(place, endless, timeout_s=600, run_id=number) for number in range(12)]
    for number in random.Random(2).sample(range(12), 12):
        eventually(lambda number=number: executor.cancel(number, "ann"))
    assert [run.outcome().error for run in started] == ["cancelled by ann"] * 12
    eventually(lambda: not any(runner.is_busy for runner in executor.runners()))
    assert asker.value(place, "SELECT 1") == 1
    executor.close()
