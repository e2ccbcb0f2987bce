import asyncio
import threading
from collections.abc import Callable

import pytest
from fakes import FakeClock
from own_thread import in_own_thread
from plugbay_task_worker.engine import Job
from plugbay_task_worker.worker_pool import describe_error, make_call
from task_worker.world import PATIENCE_S


@pytest.fixture
def job_of(clock: FakeClock) -> Callable[..., Job]:
    return lambda call: Job("1", "job", "shop", "work", call, clock.now())


def fail(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such order"), "ValueError: no such order"),
        (KeyError("x"), "KeyError: 'x'"),
        (AssertionError(), "AssertionError"),
        (SystemExit(2), "SystemExit: 2"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
    ],
)
def test_whatever_a_call_raises_comes_back_in_words(
    job_of: Callable[..., Job], error: BaseException, text: str
) -> None:
    assert make_call(job_of(lambda job: fail(error))) == text == describe_error(error)


def test_a_call_that_goes_well_has_no_error(job_of: Callable[..., Job]) -> None:
    assert make_call(job_of(lambda job: "whatever it returns")) == ""


def test_an_async_function_is_awaited(job_of: Callable[..., Job]) -> None:
    seen: list[str] = []

    async def work(job: Job) -> None:
        await asyncio.sleep(0)
        seen.append(job.id)

    assert in_own_thread(make_call, job_of(work)) == ""
    assert seen == ["1"]


def test_an_async_function_that_raises_has_failed(job_of: Callable[..., Job]) -> None:
    async def work(job: Job) -> None:
        raise ValueError("later")

    assert in_own_thread(make_call, job_of(work)) == "ValueError: later"


def test_an_async_function_is_cancelled_where_it_waits(
    job_of: Callable[..., Job], caplog: pytest.LogCaptureFixture
) -> None:
    begun, cleared_up = threading.Event(), threading.Event()

    async def work(job: Job) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleared_up.set()

    caplog.set_level("INFO")
    job = job_of(work)
    canceller = threading.Thread(target=lambda: begun.wait(PATIENCE_S) and job.cancel("enough"))
    canceller.start()

    assert in_own_thread(make_call, job) == "CancelledError"
    canceller.join(PATIENCE_S)
    assert cleared_up.is_set()
    assert "cancelled kind=job owner=shop name=work reason=enough" in caplog.text


def test_a_sync_function_that_returns_a_coroutine_is_awaited_too(job_of: Callable[..., Job]) -> None:
    seen: list[int] = []

    async def later() -> None:
        seen.append(1)

    assert in_own_thread(make_call, job_of(lambda job: later())) == ""
    assert seen == [1]
