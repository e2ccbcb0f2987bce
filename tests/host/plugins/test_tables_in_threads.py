"""The tables that plugins contribute to, used from many threads at once."""

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from plugbay import EventBus
from plugbay.health import HealthRegistry
from plugbay.menu import MenuManager
from plugbay.metrics import MetricsRegistry

ADDED = 300
TABLES: dict[str, tuple[Callable[[], Any], Callable[[Any, str], None], str]] = {
    "events": (EventBus, lambda table, owner: table.on("x", print, owner), "_subscriptions"),
    "menu": (
        lambda: MenuManager(EventBus(), dict, lambda overrides: None),
        lambda table, owner: table.add(owner, "Label"),
        "_entries",
    ),
    "metrics": (MetricsRegistry, lambda table, owner: table.add(owner, str), "_sources"),
    "health": (HealthRegistry, lambda table, owner: table.add(owner, str), "_checks"),
}


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("name", TABLES)
def test_nothing_that_is_added_gets_lost_while_others_go(name: str, hasty_threads: None):
    make, add, held = TABLES[name]
    table = make()
    done = threading.Event()

    def come_and_go() -> None:
        while not done.is_set():
            add(table, "passing")
            table.remove_owner("passing")

    thread = threading.Thread(target=come_and_go)
    thread.start()
    for _ in range(ADDED):
        add(table, "staying")
    done.set()
    thread.join()
    assert len(getattr(table, held)) == ADDED


def test_ready_is_heard_exactly_once_however_the_threads_meet(hasty_threads: None):
    for _ in range(200):
        bus, heard = EventBus(), []
        thread = threading.Thread(target=bus.emit_lifecycle, args=("ready",))
        thread.start()
        bus.on("plugbay.ready", heard.append)
        thread.join()
        assert len(heard) == 1
