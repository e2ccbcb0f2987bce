"""The embedded engine: what it costs when idle, how many jobs it does, how soon it picks one up."""

import os
import platform
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import plugbay_task_worker
from plugbay import Clock, Store, SystemClock
from plugbay_task_worker.embedded import EmbeddedEngine
from plugbay_task_worker.engine import Job
from plugbay_task_worker.tick_claims import KEEP_TICKS, MemoryTickClaims, StoreTickClaims, TickClaims

MIGRATIONS = Path(plugbay_task_worker.__file__).parent / "migrations"
TASKS, JOBS, PICK_UPS, TIMERS, BURSTS = 1_000, 50_000, 2_000, 200, 50
IDLE_S = 10.0


class StandingClock(SystemClock):
    """A clock that moves only when told to, so that no minute passes by itself."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


def main() -> None:
    print(f"# {os.cpu_count()} cores, {memory_gb()} GB, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as folder:
        store = Store("", Path(folder))
        store.migrate("task_worker", MIGRATIONS)
        print_idle()
        print_minute("in memory", MemoryTickClaims())
        print_minute("in a SQLite store", StoreTickClaims(store))
        store.close()
    print_jobs()
    print_pick_up()
    print_timers()
    print_burst()


def print_idle() -> None:
    with engine_at_work() as engine:
        for n in range(TASKS):
            engine.every(owner="bench", name=f"task_{n}", seconds=86_400, call=no_op)
        settle()
        began = time.process_time()
        time.sleep(IDLE_S)
        share = (time.process_time() - began) / IDLE_S
    row(f"idle, {TASKS:,} periodic tasks", f"{share:.3%} of a core")


def print_minute(where: str, claims: TickClaims) -> None:
    """The cost of one tick of all tasks at once."""
    clock = StandingClock()
    with engine_at_work(clock, claims) as engine:
        for n in range(TASKS):
            engine.every(owner="bench", name=f"task_{n}", seconds=60, call=no_op)
        cpu, wall = [], []
        for _ in range(KEEP_TICKS + 20):  # the last ones also forget old claims
            clock.advance(60)
            began_cpu, began = time.process_time(), time.perf_counter()
            engine.run_due()
            engine.wait_idle()
            cpu.append(time.process_time() - began_cpu)
            wall.append(time.perf_counter() - began)
        assert sum(task.runs for task in engine.stats().tasks) == len(cpu) * TASKS
    cpu_s, wall_s = statistics.median(cpu[-20:]), statistics.median(wall[-20:])
    row(
        f"{TASKS:,} tasks tick in the same second, claimed {where}",
        f"{cpu_s * 1000:.0f} ms of CPU, {wall_s * 1000:.0f} ms in all "
        f"({cpu_s / 60:.2%} of a core at one tick a minute)",
    )


def print_jobs() -> None:
    with engine_at_work() as engine:
        engine.handle(owner="bench", name="no_op", call=no_op)
        engine.submit_many("bench", "no_op", [{"run": n} for n in range(1000)])
        engine.wait_idle()
        began = time.perf_counter()
        engine.submit_many("bench", "no_op", [{"run": n} for n in range(JOBS)])
        engine.wait_idle(600)
        at_once = JOBS / (time.perf_counter() - began)
        began = time.perf_counter()
        for n in range(JOBS):
            engine.submit("bench", "no_op", {"run": n})
        engine.wait_idle(600)
        one_by_one = JOBS / (time.perf_counter() - began)
        assert engine.stats().jobs[0].runs == 2 * JOBS + 1000
    row("no-op jobs, submitted at once", f"{at_once:,.0f} a second")
    row("no-op jobs, submitted one by one", f"{one_by_one:,.0f} a second")


def print_pick_up() -> None:
    """From `submit` to the call, on an engine that has nothing else to do."""
    delays, begun = [], threading.Semaphore(0)

    def note(job: Job) -> None:
        delays.append(time.perf_counter() - submitted)
        begun.release()

    with engine_at_work() as engine:
        engine.handle(owner="bench", name="note", call=note)
        for _ in range(PICK_UPS):
            submitted = time.perf_counter()
            engine.submit("bench", "note")
            begun.acquire()
            time.sleep(0.001)
    row("pick-up of a job", percentiles(delays))


def print_timers() -> None:
    delays, rang = [], threading.Semaphore(0)

    def note(job: Job) -> None:
        delays.append((datetime.now(UTC) - job.due_at).total_seconds())
        rang.release()

    with engine_at_work() as engine:
        for n in range(TIMERS):
            when = datetime.now(UTC) + timedelta(milliseconds=20 + n % 7)
            engine.at(owner="bench", name="lane", when=when, call=note)
            rang.acquire()
    row("lateness of a timer", percentiles(delays))


def print_burst() -> None:
    """100 jobs at once, of 10 ms each, 8 at a time: when has the last one begun?"""
    lasts = []
    with engine_at_work(workers=8) as engine:
        starts: list[float] = []

        def work(job: Job) -> None:
            starts.append(time.perf_counter())
            time.sleep(0.01)

        engine.handle(owner="bench", name="work", call=work)
        for _ in range(BURSTS):
            starts.clear()
            submitted = time.perf_counter()
            engine.submit_many("bench", "work", [{"run": n} for n in range(100)])
            engine.wait_idle()
            lasts.append(max(starts) - submitted)
    row("100 jobs of 10 ms at once, 8 workers: the last begins after", percentiles(lasts))


@contextmanager
def engine_at_work(
    clock: Clock | None = None, claims: TickClaims | None = None, workers: int = 16
) -> Iterator[EmbeddedEngine]:
    engine = EmbeddedEngine(clock or SystemClock(), claims or MemoryTickClaims(), workers=workers)
    engine.start()
    try:
        yield engine
    finally:
        engine.stop(0)


def no_op(job: Job) -> None:
    pass


def settle() -> None:
    time.sleep(0.5)


def percentiles(values: list[float]) -> str:
    cuts = statistics.quantiles(values, n=100)
    return f"p50 {cuts[49] * 1000:.2f} ms, p99 {cuts[98] * 1000:.2f} ms"


def memory_gb() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def row(what: str, figure: str) -> None:
    print(f"| {what} | {figure} |", flush=True)


if __name__ == "__main__":
    main()
