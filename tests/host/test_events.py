import logging
import queue
import threading
from functools import partial

import pytest
from plugbay import Event, EventBus, events
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


def eventually_told(bus: EventBus) -> None:
    pause = threading.Event()
    for _ in range(1000):
        if bus.is_told:
            return
        pause.wait(0.01)
    raise AssertionError("it was not told")


def test_what_is_posted_is_told_in_order_and_not_in_the_posters_thread():
    bus, heard = EventBus(), []
    bus.on("order.placed", lambda event: heard.append((event.data["number"], threading.current_thread())))
    for number in range(5):
        bus.post("order.placed", number=number)
    eventually_told(bus)
    assert [number for number, _ in heard] == [0, 1, 2, 3, 4]
    assert threading.current_thread() not in {thread for _, thread in heard}


def test_a_listener_that_hangs_costs_neither_poster_nor_neighbour_anything():
    bus, go_on, heard = EventBus(), threading.Event(), queue.Queue()
    bus.on("order.placed", lambda event: go_on.wait(60), owner="slow")
    bus.on("order.placed", heard.put, owner="quick")
    for _ in range(3):
        bus.post("order.placed")
    assert [heard.get(timeout=60).name for _ in range(3)] == ["order.placed"] * 3
    assert not bus.is_told
    go_on.set()
    eventually_told(bus)


def test_a_slow_listener_is_named_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(events, "SLOW_S", 0.0)
    bus, go_on = EventBus(), threading.Event()
    bus.on("order.placed", lambda event: go_on.wait(60), owner="slow")
    with caplog.at_level(logging.ERROR):
        bus.post("order.placed")
        pause = threading.Event()
        while not caplog.records:  # until it has begun
            bus.post("order.shipped")
            bus.post("order.placed")
            pause.wait(0.01)
        bus.post("order.placed")
        assert caplog.text.count("listener_slow event=order.placed owner=slow") == 1
        go_on.set()
        eventually_told(bus)


def test_who_is_too_slow_loses_events_and_the_log_says_how_many(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(events, "MOST_POSTED", 4)
    bus, go_on, begun, heard = EventBus(), threading.Event(), threading.Event(), []

    def listen(event: Event) -> None:
        begun.set()
        go_on.wait(60)
        heard.append(event.data["number"])

    bus.on("order.placed", listen, owner="slow")
    bus.post("order.placed", number=0)
    begun.wait(60)
    with caplog.at_level(logging.ERROR):
        for number in range(1, 10):
            bus.post("order.placed", number=number)
        go_on.set()
        eventually_told(bus)
    assert heard == [0, 1, 2, 3, 4]
    assert "events_lost owner=slow count=5" in caplog.text


def test_an_owner_that_leaves_is_told_nothing_more():
    bus, go_on, begun, heard = EventBus(), threading.Event(), threading.Event(), []

    def listen(event: Event) -> None:
        begun.set()
        go_on.wait(60)
        heard.append(event)

    bus.on("order.placed", listen, owner="gone")
    for _ in range(3):
        bus.post("order.placed")
    begun.wait(60)
    bus.remove_owner("gone")
    go_on.set()
    bus.on("order.placed", heard.append, owner="other")
    bus.post("order.placed")
    eventually_told(bus)
    assert len(heard) <= 2


def test_one_can_ask_whether_anybody_listens():
    bus = EventBus()
    bus.on("order.placed", print)
    assert (bus.is_heard("order.placed"), bus.is_heard("order.shipped")) == (True, False)


def test_the_hosts_own_events_cannot_be_posted():
    with pytest.raises(ReservedEvent):
        EventBus().post("plugbay.ready")


def test_what_is_posted_while_its_owner_leaves_is_told_to_nobody():
    bus, heard = EventBus(), []
    bus.on("order.placed", heard.append, owner="gone")
    [subscription] = bus._subscriptions
    bus.remove_owner("gone")
    assert bus._courier(subscription) is None


def test_what_waits_for_an_owner_that_leaves_is_counted_in_the_log(caplog: pytest.LogCaptureFixture):
    bus, go_on, begun = EventBus(), threading.Event(), threading.Event()

    def listen(event: Event) -> None:
        begun.set()
        go_on.wait(60)

    bus.on("order.placed", listen, owner="gone")
    for _ in range(3):
        bus.post("order.placed")
    begun.wait(60)
    bus.remove_owner("gone")
    go_on.set()
    assert "events_lost owner=gone count=2" in caplog.text
