import threading

import pytest
from fakes import FakeClock
from plugbay_task_worker.engine import Job, JobState
from task_worker.world import PATIENCE_S


@pytest.fixture
def job(clock: FakeClock) -> Job:
    job = Job("1", "job", "shop", "work", lambda job: None, clock.now())
    job.begin(clock.now())
    return job


def test_a_hook_is_called_once_when_the_job_is_cancelled(job: Job) -> None:
    calls: list[str] = []
    job.on_cancel(lambda: calls.append(job.cancel_reason))

    assert job.cancel("enough")
    assert not job.cancel("more than enough")
    assert calls == ["enough"]


def test_a_hook_that_comes_late_is_called_at_once(job: Job) -> None:
    calls: list[bool] = []
    job.cancel("enough")
    job.on_cancel(lambda: calls.append(job.cancelled))

    assert calls == [True]


def test_a_hook_is_in_force_only_within_its_with_statement(job: Job) -> None:
    calls: list[str] = []
    with job.on_cancel(lambda: calls.append("first runner")):
        pass
    with job.on_cancel(lambda: calls.append("second runner")):
        job.cancel("enough")

    assert calls == ["second runner"]


def test_the_with_statement_ends_after_a_hook_that_is_under_way(job: Job) -> None:
    begun, may_end, order = threading.Event(), threading.Event(), []

    def slow_hook() -> None:
        begun.set()
        may_end.wait(PATIENCE_S)
        order.append("hook")

    hook = job.on_cancel(slow_hook)
    canceller = threading.Thread(target=job.cancel, args=["enough"])
    canceller.start()
    begun.wait(PATIENCE_S)

    def leave() -> None:
        with hook:
            pass
        order.append("left")

    leaver = threading.Thread(target=leave)
    leaver.start()
    may_end.set()
    canceller.join(PATIENCE_S)
    leaver.join(PATIENCE_S)

    assert order == ["hook", "left"]


def test_a_failing_hook_does_not_keep_the_others_from_being_called(
    job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[str] = []
    job.on_cancel(lambda: 1 / 0)
    job.on_cancel(lambda: calls.append("second"))
    job.cancel("enough")

    assert calls == ["second"]
    assert "cancel_hook_failed owner=shop name=work" in caplog.text


def test_a_job_that_is_over_calls_no_hook(job: Job) -> None:
    calls: list[str] = []
    job.on_cancel(lambda: calls.append("too late"))
    job.end(0.1)

    assert not job.cancel("enough")
    assert calls == []


def test_a_job_without_a_reason_is_still_cancelled(job: Job) -> None:
    job.cancel("")
    assert job.cancelled


@pytest.mark.parametrize(
    ("cancelled", "error", "state", "told"),
    [
        (False, "", JobState.DONE, ""),
        (False, "ValueError: x", JobState.FAILED, "ValueError: x"),
        (True, "", JobState.CANCELLED, "enough"),
        (True, "ValueError: x", JobState.CANCELLED, "enough"),
    ],
)
def test_how_a_job_ended(job: Job, cancelled: bool, error: str, state: JobState, told: str) -> None:
    if cancelled:
        job.cancel("enough")
    job.end(1.5, error)

    assert (job.state, job.error, job.duration_s) == (state, told, 1.5)
