"""A slice of statements in one runner: what befalls one of them is nobody else's business."""

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from plugbay_scheduled_query.core.model import Outcome
from plugbay_scheduled_query.executor import Executor, Statement, child
from runner_kit import Asker, eventually, target

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
HUGE = "SELECT length(replace(hex(zeroblob(200000000)), '0', 'xxxx'))"


@pytest.fixture
def asker() -> Iterator[Asker]:
    executor = Executor(2)
    yield Asker(executor)
    executor.close()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine everything is slow: nothing is called back for it."""
    monkeypatch.setattr(child, "PATIENCE_S", 600)


class Slice:
    """Statements of one slice, by their text, executed in a thread of their own."""

    def __init__(self, asker: Asker, url: str, *texts: str, timeout_s: float = 30) -> None:
        self.outcomes: dict[Any, Outcome] = {}
        self.left: dict[Any, str] = {}
        self._executor = asker.executor
        self._statements = [Statement(text, target(url), text, timeout_s) for text in texts]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._executor.run_slice(self._statements, self._end, self._give_back)

    def _give_back(self, left: list[tuple[Statement, str]]) -> None:
        self.left |= {statement.run_id: by for statement, by in left}

    def _end(self, statement: Statement, outcome: Outcome) -> None:
        self.outcomes[statement.run_id] = outcome

    def wait(self) -> "Slice":
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self

    @property
    def ended(self) -> dict[Any, str]:
        """How each ended, in words."""
        return {text: outcome.error or outcome.status.value for text, outcome in self.outcomes.items()}


def pid_at_work(asker: Asker) -> int:
    found: list[int] = eventually(lambda: [state.pid for state in asker.executor.runners() if state.is_busy])
    return found[0]


@pytest.mark.usefixtures("patient")
def test_each_gets_its_own_result_in_order(asker: Asker, sqlite_url: str):
    done = Slice(asker, sqlite_url, "SELECT 1", "SELECT missing", "SELECT 3").wait()
    assert done.ended == {
        "SELECT 1": "success",
        "SELECT missing": "no such column: missing",
        "SELECT 3": "success",
    }
    assert [done.outcomes[text].result_json for text in ("SELECT 1", "SELECT 3")] == ["[[1]]", "[[3]]"]
    assert list(done.outcomes) == ["SELECT 1", "SELECT missing", "SELECT 3"]
    assert done.left == {}


def test_what_stands_behind_a_slow_one_comes_back(asker: Asker, sqlite_url: str):
    done = Slice(asker, sqlite_url, ENDLESS, "SELECT 3", "SELECT 4", timeout_s=1).wait()
    assert done.ended == {ENDLESS: "the time limit of 1 s was reached"}
    assert done.left == {"SELECT 3": "", "SELECT 4": ""}


def test_they_come_back_while_it_is_still_at_work(asker: Asker, sqlite_url: str):
    slow = Slice(asker, sqlite_url, ENDLESS, "SELECT 2")
    eventually(lambda: slow.left)
    assert slow.outcomes == {}
    asker.executor.cancel(ENDLESS, "ann")
    assert slow.wait().ended == {ENDLESS: "cancelled by ann"}


def test_the_runner_goes_on_with_other_slices_after_it_gave_one_back(asker: Asker, sqlite_url: str):
    assert Slice(asker, sqlite_url, ENDLESS, "SELECT 2", timeout_s=0.3).wait().left
    assert Slice(asker, sqlite_url, "SELECT 2").wait().ended == {"SELECT 2": "success"}


def test_a_cancel_is_for_the_one_at_work(asker: Asker, sqlite_url: str):
    slow = Slice(asker, sqlite_url, ENDLESS, "SELECT 3")
    pid_at_work(asker)
    asker.executor.cancel(ENDLESS, "ann")
    slow.wait()
    assert slow.outcomes[ENDLESS].error == "cancelled by ann"
    assert {**slow.ended, **slow.left}.get("SELECT 3") in (
        "",
        "success",
    )  # called back, or it came to its turn


def test_one_that_is_cancelled_before_its_turn_never_begins(asker: Asker, sqlite_url: str):
    slow = Slice(asker, sqlite_url, ENDLESS, "SELECT 2", "SELECT 3")
    pid_at_work(asker)
    assert asker.executor.cancel("SELECT 2", "ann")
    asker.executor.cancel(ENDLESS, "bob")
    slow.wait()
    assert slow.outcomes[ENDLESS].error == "cancelled by bob"
    assert slow.left["SELECT 2"] == "ann"
    assert {**slow.ended, **slow.left}.get("SELECT 3") in ("", "success")  # called back, or in time


def test_all_cancelled_at_once_end_or_come_back(asker: Asker, sqlite_url: str):
    texts = [f"SELECT {number}" for number in range(50)]
    many = Slice(asker, sqlite_url, *texts)
    for text in texts:
        asker.executor.cancel(text, "ann")
    many.wait()
    assert many.outcomes.keys() | many.left.keys() == set(texts)
    assert set(many.ended.values()) <= {"success", "cancelled by ann"}
    assert set(many.left.values()) <= {"ann", ""}


@pytest.mark.usefixtures("patient")
def test_the_death_of_a_runner_costs_the_one_at_work_alone(asker: Asker, sqlite_url: str):
    slow = Slice(asker, sqlite_url, "SELECT 1", ENDLESS, "SELECT 3")
    eventually(lambda: "SELECT 1" in slow.outcomes)
    os.kill(pid_at_work(asker), signal.SIGKILL)
    slow.wait()
    assert slow.ended == {
        "SELECT 1": "success",
        ENDLESS: "the runner ended by signal SIGKILL while the query ran",
    }
    assert slow.left == {"SELECT 3": ""}


@pytest.mark.usefixtures("patient")
def test_too_much_memory_costs_the_one_at_work_alone(asker: Asker, sqlite_url: str):
    done = Slice(asker, sqlite_url, "SELECT 1", HUGE, "SELECT 3").wait()
    assert done.outcomes["SELECT 1"].status == "success"
    assert done.outcomes[HUGE].status == "failed"
    assert {**done.ended, **done.left}["SELECT 3"] in ("", "success")  # by the same runner, or by another


@pytest.mark.usefixtures("patient")
def test_each_has_its_own_time_limit(asker: Asker, sqlite_url: str):
    place = target(sqlite_url)
    outcomes: list[Outcome] = []
    statements = [Statement(1, place, "SELECT 1", 30), Statement(2, place, ENDLESS, 0.3)]
    asker.executor.run_slice(statements, lambda _, outcome: outcomes.append(outcome), print)
    assert [outcome.status for outcome in outcomes] == ["success", "timeout"]


def test_asides_leave_runners_to_the_others(sqlite_url: str):
    executor = Executor(3, asides=2)
    asker = Asker(executor)
    try:
        looks = [asker.start(sqlite_url, ENDLESS, timeout_s=600, run_id=number) for number in range(4)]
        eventually(lambda: sum(state.is_busy for state in executor.runners()) == 2)
        assert Slice(asker, sqlite_url, "SELECT 1").wait().ended == {"SELECT 1": "success"}
        for number in range(4):
            eventually(lambda number=number: executor.cancel(number, "ann"))
        assert {look.outcome().error for look in looks} == {"cancelled by ann"}
    finally:
        executor.close()


def test_whoever_stumbles_over_an_answer_does_not_leave_a_runner_that_answers_others(
    asker: Asker, sqlite_url: str
):
    """What it is still at must not be taken for the answer to the next question."""

    def stumble(left: object) -> None:
        raise RuntimeError("nobody thought of this")

    place = target(sqlite_url)
    texts = ["SELECT 1", ENDLESS, "SELECT 3"]
    statements = [Statement(text, place, text, 2) for text in texts]
    with pytest.raises(RuntimeError):
        asker.executor.run_slice(statements, lambda _, outcome: None, stumble)
    for number in range(4):
        assert asker.value(sqlite_url, f"SELECT {number}") == number


def test_a_number_is_never_used_again(asker: Asker, sqlite_url: str, monkeypatch: pytest.MonkeyPatch):
    """A cancel may come between the loan of a runner and the question."""
    asker.ask(sqlite_url, "SELECT 1")
    take = asker.executor._pool.take

    def take_and_cancel(*args: Any) -> Any:
        child = take(*args)
        monkeypatch.undo()
        asker.executor._underway["first"].cancelled_by = "ann"
        child.cancel(child.last_number + 1)
        return child

    monkeypatch.setattr(asker.executor._pool, "take", take_and_cancel)
    assert asker.ask(sqlite_url, "SELECT 1", run_id="first").error == "cancelled by ann"
    assert asker.value(sqlite_url, "SELECT 2") == 2


@pytest.mark.usefixtures("patient")
def test_one_that_is_cancelled_while_the_slice_waits_for_a_runner_is_not_begun(sqlite_url: str):
    executor = Executor(1)
    asker = Asker(executor)
    try:
        slow = Slice(asker, sqlite_url, ENDLESS)
        pid_at_work(asker)
        waiting = Slice(asker, sqlite_url, "SELECT 1", "SELECT 2", "SELECT 3")
        eventually(lambda: executor.cancel("SELECT 2", "ann"))
        executor.cancel(ENDLESS, "bob")
        slow.wait()
        assert waiting.wait().ended == {"SELECT 1": "success", "SELECT 3": "success"}
        assert waiting.left == {"SELECT 2": "ann"}
    finally:
        executor.close()


@pytest.mark.usefixtures("patient")
def test_the_time_of_one_is_not_counted_for_the_next(asker: Asker, sqlite_url: str):
    place, took = target(sqlite_url), {}
    pause = threading.Event()

    def end(statement: Statement, outcome: Outcome) -> None:
        took[statement.sql] = outcome.duration_ms
        pause.wait(0.5)  # as long as it may take to look through a large result

    statements = [Statement(text, place, text, 30) for text in ("SELECT 1", "SELECT 2")]
    asker.executor.run_slice(statements, end, print)
    assert took["SELECT 2"] < 500
