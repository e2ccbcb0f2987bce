"""The event bus: who listens to what, by owner."""

import inspect
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from plugbay.clock import ends_within
from plugbay.errors import AsyncListener, ReservedEvent
from plugbay.logs import get_logger

RESERVED = "plugbay."

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
    """Calls each listener in the order of its coming, in the emitter's thread; one that fails is logged."""

    def __init__(self) -> None:
        self._subscriptions: tuple[Subscription, ...] = ()
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
