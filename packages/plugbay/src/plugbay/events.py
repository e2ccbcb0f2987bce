"""The event bus: who listens to what, by owner."""

import inspect
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from plugbay.clock import ends_within
from plugbay.errors import AsyncListener, ReservedEvent
from plugbay.logs import get_logger

RESERVED = "plugbay."
SLOW_S = 5.0  # that a listener may take for what was posted, before the log names it
MOST_POSTED = 1000  # events that wait for the listeners of one owner; who is slower than that loses the rest

log = get_logger(__name__)


@dataclass(frozen=True)
class Event:
    """Something that happened: its name, in the past tense, and what there is to know about it."""

    name: str
    data: Mapping[str, Any] = field(default_factory=dict)


Listener = Callable[[Event], object]


@dataclass(frozen=True)
class Subscription:
    event: str
    listener: Listener
    owner: str


class EventBus:
    """Calls each listener in the order of its coming; one that fails is logged.

    What is emitted is told in the emitter's thread, before it goes on. What is posted is told a little later,
    to each owner in a thread of its own: one that is slow costs neither the poster nor the others anything.
    """

    def __init__(self) -> None:
        self._subscriptions: tuple[Subscription, ...] = ()
        self._couriers: dict[str, Courier] = {}
        self._ready: Event | None = None
        self._lock = threading.Lock()  # never held while a listener runs

    def on(self, name: str, listener: Listener, owner: str = "application") -> None:
        """Calls `listener` on each event of that name; for `plugbay.ready`, also if it is already past."""
        if inspect.iscoroutinefunction(listener) or inspect.iscoroutinefunction(type(listener).__call__):
            raise AsyncListener(name=name)
        subscription = Subscription(name, listener, owner)
        with self._lock:
            self._subscriptions = (*self._subscriptions, subscription)
            past = self._ready
        if past and name == past.name:
            self._call(subscription, past)

    def emit(self, name: str, /, **data: Any) -> None:
        """Tells all listeners; the names that begin with `plugbay.` are the host's own."""
        if name.startswith(RESERVED):
            raise ReservedEvent(name=name)
        self._tell(Event(name, data), self._subscriptions)

    def post(self, name: str, /, **data: Any) -> None:
        """Has all listeners told, in order, without waiting for any of them."""
        if name.startswith(RESERVED):
            raise ReservedEvent(name=name)
        event = Event(name, data)
        for subscription in self._subscriptions:
            if subscription.event == name and (courier := self._courier(subscription)):
                courier.put(partial(self._call, subscription, event), name)

    def is_heard(self, name: str) -> bool:
        """Whether anybody listens: of what nobody hears, nothing need be made."""
        return any(subscription.event == name for subscription in self._subscriptions)

    @property
    def is_told(self) -> bool:
        """Whether all that was posted has been told."""
        return self.wait_told(0.0)

    def wait_told(self, limit_s: float) -> bool:
        """Waits until all that was posted has been told; False if that takes too long."""
        deadline = time.monotonic() + limit_s
        return all(courier.wait_idle(deadline) for courier in [*self._couriers.values()])

    def emit_lifecycle(self, name: str, /, limit_s: float | None = None, **data: Any) -> None:
        """For the host alone: emits `plugbay.<name>`; a listener that takes longer than the limit is left."""
        event = Event(RESERVED + name, data)
        with self._lock:
            if name in ("ready", "stopping"):
                self._ready = event if name == "ready" else None
            listening = self._subscriptions
        self._tell(event, listening, limit_s)

    def of_owner(self, owner: str) -> list[str]:
        """The names of the events that an owner listens to."""
        return sorted({sub.event for sub in self._subscriptions if sub.owner == owner})

    def remove_owner(self, owner: str) -> None:
        with self._lock:
            self._subscriptions = tuple(sub for sub in self._subscriptions if sub.owner != owner)
            courier = self._couriers.pop(owner, None)
        if courier:
            courier.close()

    def _courier(self, subscription: Subscription) -> "Courier | None":
        """Who tells this owner; nobody, if it has left meanwhile."""
        owner = subscription.owner
        with self._lock:
            if subscription not in self._subscriptions:
                return None
            if owner not in self._couriers:
                self._couriers[owner] = Courier(owner)
            return self._couriers[owner]

    def _tell(self, event: Event, listening: tuple[Subscription, ...], limit_s: float | None = None) -> None:
        for subscription in listening:
            if subscription.event != event.name:
                continue
            if limit_s is None:
                self._call(subscription, event)
            elif not ends_within(limit_s, partial(self._call, subscription, event), event.name):
                log.error("listener_hangs", event=event.name, owner=subscription.owner, seconds=limit_s)

    def _call(self, subscription: Subscription, event: Event) -> None:
        try:
            subscription.listener(event)
        except (Exception, SystemExit):
            log.exception("listener_failed", event=event.name, owner=subscription.owner)


class Courier:
    """Tells the listeners of one owner what was posted, one after the other."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._waiting: deque[tuple[Callable[[], None], str]] = deque()
        self._changed = threading.Condition()
        self._busy_since: float | None = None
        self._at_work = ""
        self._is_named = self._is_closed = False
        self._lost = 0
        threading.Thread(target=self._work, name=f"events-{owner}", daemon=True).start()

    def wait_idle(self, deadline: float) -> bool:
        """Waits until all is told; `deadline` is by the machine's monotonic clock."""
        with self._changed:
            patience_s = max(0.0, deadline - time.monotonic())
            return self._changed.wait_for(lambda: not self._waiting and self._busy_since is None, patience_s)

    def put(self, call: Callable[[], None], event: str) -> None:
        with self._changed:
            if len(self._waiting) >= MOST_POSTED:
                self._lost += 1
            else:
                self._waiting.append((call, event))
                self._changed.notify_all()
            self._name_if_slow()

    def close(self) -> None:
        """Tells nothing any more; a call under way goes on."""
        with self._changed:
            self._is_closed = True
            if self._waiting:
                log.warning("events_lost", owner=self._owner, count=len(self._waiting), reason="it leaves")
            self._waiting.clear()
            self._changed.notify_all()

    def _work(self) -> None:
        while call := self._next():
            call()

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            self._name_if_slow()
            self._busy_since, self._is_named = None, False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            if self._is_closed:
                return None
            call, self._at_work = self._waiting.popleft()
            self._busy_since = time.monotonic()
            self._tell_loss()
            return call

    def _name_if_slow(self) -> None:
        if self._busy_since is None or self._is_named or time.monotonic() - self._busy_since < SLOW_S:
            return
        self._is_named = True
        log.error("listener_slow", event=self._at_work, owner=self._owner, seconds=SLOW_S)

    def _tell_loss(self) -> None:
        if self._lost and len(self._waiting) < MOST_POSTED // 2:
            log.error("events_lost", owner=self._owner, count=self._lost, reason="its listeners are slow")
            self._lost = 0
