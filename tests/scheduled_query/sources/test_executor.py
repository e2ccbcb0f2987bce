import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import psutil
import pytest
from fakes import FakeClock
from plugbay_scheduled_query.executor import Executor, Statement, child, pool
from plugbay_scheduled_query.executor.pool import RunnerState
from plugbay_scheduled_query.runner.protocol import Caps
from runner_kit import Asker, Started, eventually, is_gone, target

# how a runner tells of a result without rows
EMPTY = {"status": "success", "columns": [], "row_count": 0, "truncated": False, "binary": []}

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"


@pytest.fixture
def make() -> Iterator[Callable[..., Asker]]:
    """Makes executors of the test's own, and closes them after it."""
    made: list[Executor] = []

    def make(most: int = 2, **fields: object) -> Asker:
        made.append(Executor(most, **fields))  # type: ignore[arg-type]
        return Asker(made[-1])

    yield make
    for executor in made:
        executor.close()


def busy(asker: Asker) -> list[RunnerState]:
    return [runner for runner in asker.executor.runners() if runner.is_busy]


def start_endless(asker: Asker, url: str, **fields: object) -> tuple[Started, int]:
    """An endless query, and the process it runs in."""
    before = {runner.pid for runner in busy(asker)}
    started = asker.start(url, ENDLESS, timeout_s=600, **fields)
    [pid] = eventually(lambda: {runner.pid for runner in busy(asker)} - before)
    return started, pid


def test_two_runners_are_ready_before_anyone_asks(make: Callable[..., Asker]):
    asker = make(8)
    runners = eventually(lambda: len(found := asker.executor.runners()) == 2 and found)
    assert [(runner.dialect, runner.is_busy) for runner in runners] == [(None, False)] * 2


def test_more_runners_come_on_demand_and_never_more_than_allowed(make: Callable[..., Asker], sqlite_url: str):
    asker = make(3)
    started = [asker.start(sqlite_url, ENDLESS, timeout_s=600, run_id=number) for number in range(5)]
    eventually(lambda: len(busy(asker)) == 3)
    assert len(asker.executor.runners()) == 3
    for number in range(5):
        eventually(lambda number=number: asker.executor.cancel(number, "ann"))  # once its thread is there
    assert [run.outcome().error for run in started] == ["cancelled by ann"] * 5


def test_a_run_that_waits_for_a_runner_gets_the_next_one(make: Callable[..., Asker], sqlite_url: str):
    asker = make(1, ahead=1)
    first, _ = start_endless(asker, sqlite_url, run_id="first")
    second = asker.start(sqlite_url, "SELECT 2")
    asker.executor.cancel("first", "ann")
    assert first.outcome().error == "cancelled by ann"
    assert second.outcome().result_json == "[[2]]"


def test_a_run_can_be_cancelled_while_it_waits(make: Callable[..., Asker], sqlite_url: str):
    asker = make(1, ahead=1)
    _, pid = start_endless(asker, sqlite_url, run_id="first")
    second = asker.start(sqlite_url, "SELECT 2", run_id="second")
    eventually(lambda: asker.executor.cancel("second", "ann"))
    assert second.outcome().error == "cancelled by ann"
    assert [runner.pid for runner in busy(asker)] == [pid]
    asker.executor.cancel("first", "ann")


def test_a_run_that_is_over_cannot_be_cancelled(make: Callable[..., Asker], sqlite_url: str):
    asker = make()
    asker.ask(sqlite_url, "SELECT 1", run_id="done")
    assert not asker.executor.cancel("done", "ann")


def test_a_cancel_does_not_hit_the_next_run_of_the_same_runner(make: Callable[..., Asker], sqlite_url: str):
    asker = make(1, ahead=1)
    for number in range(20):
        started, _ = start_endless(asker, sqlite_url, run_id=number)
        asker.executor.cancel(number, "ann")
        asker.executor.cancel(number, "bob")
        assert started.outcome().error == "cancelled by ann"
        assert asker.value(sqlite_url, "SELECT 1") == 1


def test_one_source_keeps_to_the_runner_that_knows_it(make: Callable[..., Asker], sqlite_url: str):
    asker = make(4)
    eventually(lambda: len(asker.executor.runners()) == 2)
    for _ in range(5):
        asker.ask(sqlite_url, "SELECT 1")
    assert sum(runner.dialect == "sqlite" for runner in asker.executor.runners()) == 1


def test_a_runner_of_one_dialect_makes_place_for_another(
    make: Callable[..., Asker], sqlite_url: str, tmp_path: Path
):
    duckdb.connect(str(tmp_path / "x.duckdb")).close()
    asker = make(1, ahead=1)
    for _ in range(2):
        assert asker.value(sqlite_url, "SELECT 1") == 1
        assert asker.value(f"duckdb:///{tmp_path}/x.duckdb", "SELECT 2") == 2
        assert len(asker.executor.runners()) <= 1


def test_runners_of_two_dialects_in_demand_do_not_drive_each_other_out(
    make: Callable[..., Asker], sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pool, "EXCHANGE_AFTER_S", 600.0)
    duckdb.connect(str(tmp_path / "x.duckdb")).close()
    asker, places = make(2), [target(sqlite_url), target(f"duckdb:///{tmp_path}/x.duckdb")]
    for place in places:
        asker.ask(place, "SELECT 1")
    before = {runner.pid for runner in asker.executor.runners()}
    started = [asker.start(places[number % 2], "SELECT 1") for number in range(40)]
    assert all(run.outcome().status == "success" for run in started)
    assert {runner.pid for runner in asker.executor.runners()} == before


def test_many_threads_get_each_their_own_answer(make: Callable[..., Asker], sqlite_url: str):
    asker = make(4)
    place = target(sqlite_url)
    wrong: list[object] = []

    def work(name: int) -> None:
        for number in range(50):
            value = asker.value(place, f"SELECT '{name}-{number}'")
            if value != f"{name}-{number}":
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert busy(asker) == []


def test_a_runner_outlives_the_thread_that_first_used_it(make: Callable[..., Asker], sqlite_url: str):
    asker = make(1, ahead=1)
    pids = set()
    for _ in range(3):
        asker.start(sqlite_url, "SELECT 1").outcome()
        pids |= {runner.pid for runner in asker.executor.runners()}
    assert len(pids) == 1


def test_a_runner_killed_in_mid_query_is_a_failure_with_its_reason(
    make: Callable[..., Asker], sqlite_url: str
):
    asker = make()
    assert asker.value(sqlite_url, "SELECT 1") == 1
    eventually(lambda: len(asker.executor.runners()) == 2)
    started, pid = start_endless(asker, sqlite_url)
    before = psutil.Process(pid).cpu_times().user  # of a runner that is up and knows its source
    eventually(lambda: psutil.Process(pid).cpu_times().user > before + 0.2, "the query does not run")
    os.kill(pid, signal.SIGKILL)
    outcome = started.outcome()
    assert outcome.status == "failed"
    assert outcome.error == "the runner ended by signal SIGKILL while the query ran"
    assert asker.value(sqlite_url, "SELECT 1") == 1


def test_a_runner_killed_while_idle_is_replaced_without_a_word(make: Callable[..., Asker], sqlite_url: str):
    asker = make(2)
    eventually(lambda: len(asker.executor.runners()) == 2)
    asker.ask(sqlite_url, "SELECT 1")
    for _ in range(3):
        for runner in asker.executor.runners():
            os.kill(runner.pid, signal.SIGKILL)
            eventually(lambda pid=runner.pid: is_gone(pid))
        assert asker.value(sqlite_url, "SELECT 1") == 1


def test_a_runner_killed_just_as_it_starts_costs_one_run_at_most(make: Callable[..., Asker], sqlite_url: str):
    asker = make(2)
    killed = [runner.pid for runner in eventually(asker.executor.runners)]
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    asker.ask(sqlite_url, "SELECT 1")  # one that was still dying may have taken it along
    eventually(lambda: all(map(is_gone, killed)))
    assert asker.value(sqlite_url, "SELECT 1") == 1


def test_a_runner_that_uses_too_much_memory_is_replaced(make: Callable[..., Asker], sqlite_url: str):
    asker = make(1, ahead=1, memory_bytes=50_000_000)
    asker.ask(sqlite_url, "SELECT 1")
    [before] = asker.executor.runners()
    numbers = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1000000)"
    outcome = asker.ask(sqlite_url, f"{numbers} SELECT hex(randomblob(500)) AS h FROM c ORDER BY h")
    assert outcome.error == "the query needs more than 50 MB of memory"
    assert asker.value(sqlite_url, "SELECT 1") == 1
    eventually(lambda: is_gone(before.pid))


def test_an_executor_that_closes_ends_its_runners_and_what_runs_in_them(
    make: Callable[..., Asker], sqlite_url: str
):
    asker = make(3)
    started, _ = start_endless(asker, sqlite_url)
    pids = [runner.pid for runner in asker.executor.runners()]
    asker.executor.close()
    assert all(map(is_gone, pids))
    outcome = started.outcome()
    assert (outcome.status, outcome.error) == ("failed", "the service is stopping")


def test_a_closed_executor_runs_nothing(make: Callable[..., Asker], sqlite_url: str):
    asker = make()
    asker.executor.close()
    assert asker.ask(sqlite_url, "SELECT 1").error == "the service is stopping"
    assert asker.executor.runners() == []
    asker.executor.close()


def test_those_who_wait_for_a_runner_are_told_when_it_closes(make: Callable[..., Asker], sqlite_url: str):
    asker = make(1, ahead=1)
    _, _ = start_endless(asker, sqlite_url)
    waiting = asker.start(sqlite_url, "SELECT 1")
    asker.executor.close()
    assert waiting.outcome().error == "the service is stopping"


def test_runners_that_nobody_needs_are_let_go_but_for_those_ahead(
    make: Callable[..., Asker], sqlite_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pool, "IDLE_LIMIT_S", 0)
    asker = make(4)
    started = [asker.start(sqlite_url, ENDLESS, timeout_s=600, run_id=number) for number in range(4)]
    eventually(lambda: len(busy(asker)) == 4)
    for number in range(4):
        asker.executor.cancel(number, "ann")
    assert {run.outcome().error for run in started} == {"cancelled by ann"}
    eventually(lambda: len(asker.executor.runners()) == 2)


def test_a_runner_sees_nothing_of_the_servers_environment(
    make: Callable[..., Asker], sqlite_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PLUGBAY_ENCRYPTION_KEY", "key-of-the-house")
    monkeypatch.setenv("SCHEDULED_QUERY_SOURCES", "hunter2")
    asker = make(1, ahead=1)
    asker.ask(sqlite_url, "SELECT 1")
    [runner] = asker.executor.runners()
    seen = str(psutil.Process(runner.pid).environ()) + str(psutil.Process(runner.pid).cmdline())
    assert "key-of-the-house" not in seen
    assert "hunter2" not in seen


def test_the_duration_is_told_by_the_clock_of_the_house(make: Callable[..., Asker], sqlite_url: str):
    assert make(clock=FakeClock()).ask(sqlite_url, "SELECT 1").duration_ms == 0


def test_a_result_without_end_does_not_grow_the_server(make: Callable[..., Asker], sqlite_url: str):
    asker = make()
    sql = (
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x, hex(zeroblob(500)) FROM c"
    )
    asker.ask(sqlite_url, sql)
    before = psutil.Process().memory_info().rss
    for _ in range(3):
        outcome = asker.ask(sqlite_url, sql)
        assert (outcome.status, outcome.truncated) == ("success", True)
        assert outcome.result_json is not None
        assert len(outcome.result_json) <= Caps().result_bytes
    assert psutil.Process().memory_info().rss - before < 60_000_000


BOOT = """
import socket, sys, time
from plugbay_scheduled_query.runner.protocol import *
channel, control = (socket.socket(fileno=int(fd)) for fd in sys.argv[1:3])
channel.sendall(pack(FrameKind.READY))
reader = FrameReader(channel)
"""


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets every runner be a program of the test's instead."""
    return lambda text: monkeypatch.setattr(child, "PROGRAM", text)


def test_a_runner_that_cannot_start_is_a_failure_not_a_wait(
    make: Callable[..., Asker], sqlite_url: str, program: Callable[[str], None]
):
    program("raise SystemExit(3)")
    outcome = make().ask(sqlite_url, "SELECT 1")
    assert (outcome.status, outcome.error) == ("failed", "the runner did not start")


def test_a_system_that_starts_no_process_is_a_failure_and_works_again_by_itself(
    make: Callable[..., Asker], sqlite_url: str, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*args: object, **fields: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(pool, "RETRY_START_S", 0.01)
    with monkeypatch.context() as broken:
        broken.setattr(child, "_spawn", refuse)
        asker = make()
        outcome = asker.ask(sqlite_url, "SELECT 1")
        assert outcome.error == "no runner can be started: Resource temporarily unavailable"
    eventually(lambda: asker.ask(sqlite_url, "SELECT 1").status == "success")


def test_a_runner_that_talks_nonsense_is_ended(
    make: Callable[..., Asker], sqlite_url: str, program: Callable[[str], None]
):
    program(BOOT + "reader.read(); channel.sendall(b'\\xff' * 100); time.sleep(600)")
    outcome = make().ask(sqlite_url, "SELECT 1")
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "SIGKILL" in outcome.error


def test_a_runner_that_sends_without_end_is_ended(
    make: Callable[..., Asker], sqlite_url: str, program: Callable[[str], None]
):
    program(BOOT + "reader.read()\nwhile True: channel.sendall(pack(FrameKind.ROWS, b'x' * 100_000))")
    outcome = make().ask(sqlite_url, "SELECT 1", caps=Caps(result_bytes=1_000))
    assert outcome.status == "failed"


def test_a_runner_that_hears_nothing_is_ended_two_seconds_after_the_limit(
    make: Callable[..., Asker], sqlite_url: str, program: Callable[[str], None]
):
    program(BOOT + "reader.read(); time.sleep(600)")
    asker = make(1, ahead=1)
    started = asker.start(sqlite_url, "SELECT 1", timeout_s=0.2)
    [runner] = eventually(lambda: busy(asker))
    outcome = started.outcome()
    assert outcome.status == "timeout"
    assert 2200 <= outcome.duration_ms < 60_000  # with all the time it takes to start one
    eventually(lambda: is_gone(runner.pid))


def test_a_runner_that_hears_nothing_is_ended_two_seconds_after_a_cancel(
    make: Callable[..., Asker], sqlite_url: str, program: Callable[[str], None]
):
    program(BOOT + "reader.read(); time.sleep(600)")
    asker = make(1, ahead=1)
    started, pid = start_endless(asker, sqlite_url, run_id="deaf")
    asker.executor.cancel("deaf", "ann")
    assert started.outcome().error == "cancelled by ann"
    eventually(lambda: is_gone(pid))


def test_a_runner_that_hangs_while_it_connects_is_a_failure(
    make: Callable[..., Asker], sqlite_url: str, program: Callable[[str], None]
):
    program(BOOT + "reader.read(); channel.sendall(pack(FrameKind.CONNECTING)); time.sleep(600)")
    outcome = make().ask(sqlite_url, "SELECT 1", connect_s=0.1)
    assert (outcome.status, outcome.error) == ("failed", "no connection within 0.1 s")


def test_the_time_to_connect_does_not_count_against_the_query(
    make: Callable[..., Asker], sqlite_url: str, program: Callable[[str], None]
):
    end = f"pack_json(FrameKind.END, {EMPTY})"
    connecting, started = (f"channel.sendall(pack(FrameKind.{kind}))" for kind in ("CONNECTING", "STARTED"))
    slowly = f"{connecting}; time.sleep(3.5); {started}"
    program(
        BOOT
        + f"reader.read(); {slowly}; channel.sendall(pack(FrameKind.ROWS, b'[]') + {end}); time.sleep(600)"
    )
    assert make().ask(sqlite_url, "SELECT 1", timeout_s=2).status == "success"


def test_an_answer_that_comes_after_the_limit_is_still_a_timeout(
    make: Callable[..., Asker], sqlite_url: str, program: Callable[[str], None]
):
    end = f"pack_json(FrameKind.END, {EMPTY})"
    wait = "FrameReader(control).read()"  # for the cancel
    program(
        BOOT + f"reader.read(); {wait}; channel.sendall(pack(FrameKind.ROWS, b'[]') + {end}); time.sleep(600)"
    )
    outcome = make().ask(sqlite_url, "SELECT 1", timeout_s=0.1)
    assert (outcome.status, outcome.result_json) == ("timeout", None)


def test_a_request_may_be_repeated_under_the_same_id(make: Callable[..., Asker], sqlite_url: str):
    asker = make()
    request = Statement("same", target(sqlite_url), "SELECT 1", 10)
    assert [asker.executor.run(request).status for _ in range(2)] == ["success"] * 2
