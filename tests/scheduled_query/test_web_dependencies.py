"""Threads for calls that block: a few of each kind, for each server its own."""

import asyncio
import threading

from own_thread import in_own_thread
from plugbay_scheduled_query.web.dependencies import AT_ONCE, SlowCalls


class Crowd:
    """Counts who is inside at the same time; all leave once so many have come."""

    def __init__(self, full: int) -> None:
        self.most = self._inside = 0
        self._full = threading.Barrier(full, timeout=30)
        self._lock = threading.Lock()

    def visit(self, name: str, *, last: str = "") -> str:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        self._full.wait()
        with self._lock:
            self._inside -= 1
        return name + last


def crowded(calls: SlowCalls, crowd: Crowd, visitors: int) -> list[str]:
    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(calls.run(crowd.visit, str(n), last="!") for n in range(visitors)))

    answers: list[str] = in_own_thread(asyncio.run, all_of_them())
    return answers


def test_a_slow_call_gets_its_arguments_and_gives_its_answer():
    assert crowded(SlowCalls("some"), Crowd(1), 2) == ["0!", "1!"]


def test_only_some_slow_calls_run_at_once():
    crowd = Crowd(AT_ONCE)
    assert len(crowded(SlowCalls("some"), crowd, 2 * AT_ONCE)) == 2 * AT_ONCE
    assert crowd.most == AT_ONCE


def test_slow_calls_of_one_kind_do_not_wait_for_those_of_another():
    crowd = Crowd(2 * AT_ONCE)

    async def both() -> None:
        kinds = (SlowCalls("some"), SlowCalls("others"))
        await asyncio.gather(*(kind.run(crowd.visit, "x") for kind in kinds for _ in range(AT_ONCE)))

    in_own_thread(asyncio.run, both())
    assert crowd.most == 2 * AT_ONCE


def test_servers_of_one_process_do_not_wait_for_each_other():
    calls, crowd = SlowCalls("some"), Crowd(2 * AT_ONCE)
    servers = [threading.Thread(target=crowded, args=(calls, crowd, AT_ONCE)) for _ in range(2)]
    for server in servers:
        server.start()
    for server in servers:
        server.join(30)
    assert crowd.most == 2 * AT_ONCE
