"""Several processes on one SQLite file."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from plugbay import Store
from task_worker.conftest import MIGRATIONS
from task_worker.world import PATIENCE_S

TESTS = Path(__file__).parents[1]


class Process:
    """One that ticks when it is told how much time has passed."""

    def __init__(self, data_dir: Path) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("ticking_process.py")), str(data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": str(TESTS)},
        )
        assert self._answer() == ["ready"]

    def ask(self, seconds: int) -> None:
        assert self._popen.stdin
        self._popen.stdin.write(f"{seconds}\n")
        self._popen.stdin.flush()

    def ticks(self, seconds: int) -> list[str]:
        self.ask(seconds)
        return self._answer()

    def kill(self) -> None:
        self._popen.kill()
        self._close()

    def end(self) -> None:
        if self._popen.poll() is None:
            assert self._popen.stdin
            self._popen.stdin.close()
        self._close()

    def _answer(self) -> list[str]:
        assert self._popen.stdout
        return self._popen.stdout.readline().split()

    def _close(self) -> None:
        assert self._popen.stdin
        assert self._popen.stdout
        self._popen.wait(PATIENCE_S)
        self._popen.stdin.close()
        self._popen.stdout.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Process]]:
    store = Store("", tmp_path)
    store.migrate("task_worker", MIGRATIONS)
    store.close()
    with ExitStack() as stack:

        def start() -> Process:
            process = Process(tmp_path)
            stack.callback(process.end)
            return process

        yield start


def test_three_processes_tick_once_for_each_minute(start: Callable[[], Process]) -> None:
    processes = [start() for _ in range(3)]
    ticked: list[str] = []
    for _ in range(20):
        for process in processes:
            process.ask(60)
        ticked += [tick for process in processes for tick in process._answer()]

    assert ticked == [f"12:{minute:02}" for minute in range(1, 21)]


def test_a_tick_of_a_process_that_was_killed_is_not_repeated_by_the_next(
    start: Callable[[], Process],
) -> None:
    first = start()
    assert first.ticks(60) == ["12:01"]
    first.kill()
    second = start()

    assert second.ticks(60) == []
    assert second.ticks(60) == ["12:02"]
