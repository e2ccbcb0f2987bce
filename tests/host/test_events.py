import logging
import queue
import threading
from functools import partial

import pytest
from plugbay import Event, EventBus
from plugbay.errors import AsyncListener, ReservedEvent


def test_listeners_hear_the_name_and_the_data_in_the_order_of_their_coming():
    bus, heard = EventBus(), []
    bus.on("order.placed", lambda event: heard.append(("first", event)))
    bus.on("order.placed", lambda event: heard.append(("second", event)))
    bus.emit("order.placed", number=7)
    assert heard == [
        ("first", Event("order.placed", {"number": 7})),
        ("second", Event("order.placed", {"number": 7})),
    ]


def test_a_failing_listener_is_logged_by_owner_and_the_others_run(caplog: pytest.LogCaptureFixture):
    bus, heard = EventBus(), []
    bus.on("order.placed", lambda event: 1 / 0, owner="clumsy")
    bus.on("order.placed", heard.append)
    with caplog.at_level(logging.ERROR):
        bus.emit("order.placed")
    assert len(heard) == 1
    assert "listener_failed event=order.placed owner=clumsy" in caplog.text


def test_a_listener_that_exits_does_not_end_the_process():
    bus = EventBus()

    def leave(event: Event) -> None:
        raise SystemExit(1)

    bus.on("order.placed", leave)
    bus.emit("order.placed")


async def listen(event: Event) -> None: ...


class Listens:
    async def __call__(self, event: Event) -> None: ...

    async def method(self, event: Event) -> None: ...


@pytest.mark.parametrize("listener", [listen, Listens(), Listens().method, partial(listen)])
def test_an_async_listener_which_would_never_run_is_refused(listener):
    bus = EventBus()
    with pytest.raises(AsyncListener, match=r"The listener to 'order\.placed' is an async def"):
        bus.on("order.placed", listener, owner="hasty")
    assert bus.of_owner("hasty") == []


@pytest.mark.parametrize("name", ["plugbay.ready", "plugbay.anything"])
def test_only_the_host_emits_in_the_reserved_namespace(name: str):
    with pytest.raises(ReservedEvent, match="belongs to the host"):
        EventBus().emit(name)


def test_ready_is_remembered_for_those_who_come_later():
    bus, heard = EventBus(), []
    bus.emit_lifecycle("ready")
    bus.on("plugbay.ready", heard.append)
    assert [event.name for event in heard] == ["plugbay.ready"]


def test_after_stopping_nothing_is_ready_any_more():
    bus, heard = EventBus(), []
    bus.emit_lifecycle("ready")
    bus.emit_lifecycle("stopping", grace_s=1)
    bus.on("plugbay.ready", heard.append)
    assert heard == []


def test_an_owner_is_taken_back_whole():
    bus, heard = EventBus(), []
    bus.on("a", heard.append, owner="me")
    bus.on("b", heard.append, owner="me")
    assert bus.of_owner("me") == ["a", "b"]
    bus.remove_owner("me")
    bus.emit("a")
    assert heard == []
    assert bus.of_owner("me") == []


def test_a_listener_that_hangs_is_named_and_left_where_there_is_a_limit(
    caplog: pytest.LogCaptureFixture,
):
    bus, let_go, heard = EventBus(), threading.Event(), queue.SimpleQueue[Event]()
    bus.on("plugbay.stopping", lambda event: let_go.wait(), owner="stubborn")
    bus.on("plugbay.stopping", heard.put, owner="polite")
    bus.emit_lifecycle("stopping", limit_s=0.05, grace_s=0)
    let_go.set()
    assert heard.get(timeout=60).data == {"grace_s": 0}
    assert "listener_hangs event=plugbay.stopping owner=stubborn" in caplog.text
