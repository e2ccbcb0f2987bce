"""The stage on which engines are tried: some engines of one cluster, a clock, and calls that can be held."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fakes import FakeClock
from plugbay_task_worker.engine import Engine, Job, JobView, TaskStats

PATIENCE_S = 60.0  # how long a test waits for what should come at once


class World(ABC):
    """Some engines that share a cluster, and the clock they go by."""

    def __init__(self) -> None:
        self.clock = FakeClock()

    @abstractmethod
    def new_engine(self, workers: int = 4) -> Engine:
        """Another engine of the cluster, not started."""

    @abstractmethod
    def settle(self) -> None:
        """Lets every engine do what is due, and waits until nothing is under way."""

    @abstractmethod
    def ring(self) -> None:
        """Lets every engine see what is due, without waiting for it to end."""

    def engine(self, workers: int = 4) -> Engine:
        """Another engine of the cluster, at work and done with what it does for itself at its start."""
        engine = self.new_engine(workers)
        engine.start()
        self.settle()
        return engine

    def advance(self, seconds: float) -> None:
        """Time passes, and what was due is done."""
        self.clock.advance(seconds)
        self.settle()

    def jump(self, seconds: float) -> None:
        """Someone sets the wall clock."""
        self.clock.jump(seconds)
        self.settle()


class Gate:
    """A call that says when it has begun and ends when it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.opened = threading.Event()
        self.calls = 0
        self._counting = threading.Lock()

    def __call__(self, job: Job) -> None:
        with self._counting:
            self.calls += 1
        self.begun.release()
        assert self.opened.wait(PATIENCE_S)

    def wait_begun(self) -> None:
        assert self.begun.acquire(timeout=PATIENCE_S)


class Stoppable(Gate):
    """A call that also ends when it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: list[str] = []

    def __call__(self, job: Job) -> None:
        with job.on_cancel(self.opened.set):
            super().__call__(job)
        self.reasons.append(job.cancel_reason)


@contextmanager
def opened_at_last(*gates: Gate) -> Iterator[None]:
    """Lets go of everything, also when the test fails."""
    try:
        yield
    finally:
        for gate in gates:
            gate.opened.set()


def our_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("task-worker")]


def wait_for_our_threads() -> None:
    """Until none of ours is left: also one whose call was given up ends when that call does."""
    wait_until(lambda: our_threads() == [])


def task_of(engine: Engine, name: str = "task") -> TaskStats:
    return next(task for task in engine.stats().tasks if task.name == name)


def recent(engine: Engine) -> dict[str, JobView]:
    return {job.id: job for job in engine.stats().recent}


def wait_until(condition: Callable[[], bool]) -> None:
    """Waits for another thread, which is on its way."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.001)
