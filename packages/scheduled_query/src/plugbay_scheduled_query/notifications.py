"""Messages to people when a query ran, through Apprise; never in the way of an execution."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from plugbay import get_logger

from plugbay_scheduled_query.repository.recording import Finished
from plugbay_scheduled_query.settings import Settings

MOST_WAITING = 1000  # messages: a channel that is slower than the schedule does not fill the memory

log = get_logger(__name__)


class Message(NamedTuple):
    """What people read of an execution; result data is not part of it."""

    title: str
    body: str


class Notifications:
    """Sends one message per execution, one after the other: a slow channel holds one worker, not all."""

    def __init__(self, settings: Callable[[], Settings], call_sender: Callable[[], object]) -> None:
        self._settings = settings
        self._call_sender = call_sender
        self._lock = threading.Lock()
        self._waiting: deque[Message] = deque()
        self._has_sender = False
        self.sent = 0
        self.failed = 0

    def announce(self, finished: Finished) -> None:
        """Has a message sent if the settings say so."""
        settings = self._settings()
        if settings.notification_on_run and settings.channels() and self._put(_message(finished)):
            try:
                self._call_sender()
            except Exception:
                self.sender_left()
                raise

    def send_waiting(self, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Called by the engine, off the execution path."""
        while is_wanted() and (message := self._next()):
            try:
                self._count(self._send(message), message)
            except Exception as error:
                self._count(False, message, type(error).__name__)
        if not is_wanted():
            self.sender_left()

    def sender_left(self) -> None:
        """Nobody sends any more what still waits: the next message calls somebody anew."""
        with self._lock:
            self._has_sender = False

    def _put(self, message: Message) -> bool:
        """Whether somebody must be called to send it."""
        with self._lock:
            is_full = len(self._waiting) == MOST_WAITING
            if not is_full:
                self._waiting.append(message)
            is_needed, self._has_sender = not self._has_sender, True
        if is_full:
            self._count(False, message, f"{MOST_WAITING} others wait")
        return is_needed

    def _next(self) -> Message | None:
        with self._lock:
            self._has_sender = bool(self._waiting)
            return self._waiting.popleft() if self._waiting else None

    def _send(self, message: Message) -> bool:
        import apprise

        channel, urls = apprise.Apprise(), self._settings().channels()
        with _unspoken(urls):
            for url in urls:
                if not channel.add(url):
                    log.warning("notification_url_refused", kind=url.partition(":")[0])
        return bool(channel.notify(title=message.title, body=message.body))

    def _count(self, is_sent: bool, message: Message, reason: str = "the channel did not take it") -> None:
        with self._lock:
            self.sent += is_sent
            self.failed += not is_sent
        if not is_sent:
            log.warning("notification_failed", title=message.title, reason=reason)


@contextmanager
def _unspoken(urls: list[str]) -> Iterator[None]:
    """Apprise writes a URL that it cannot read into the log, with the password in it."""

    def is_harmless(record: logging.LogRecord) -> bool:
        return not any(url in record.getMessage() for url in urls)

    logger = logging.getLogger("apprise")
    logger.addFilter(is_harmless)
    try:
        yield
    finally:
        logger.removeFilter(is_harmless)


def _message(finished: Finished) -> Message:
    return Message(f"{finished.claimed.query_name}: {finished.status.value}", _body(finished))


def _body(finished: Finished) -> str:
    run = finished.claimed.run
    started = f"{finished.executed_at:%Y-%m-%d %H:%M:%S} UTC"
    lines = [f"Took {finished.duration_ms:,} ms at {started} ({run.trigger.value})."]
    if finished.result:
        lines.append(f"Rows: {finished.result.row_count:,}.")
    if finished.error:
        lines.append(f"Error: {finished.error}")
    if run.missed:
        lines.append(f"Missed before it: {run.missed:,}.")
    return "\n".join(lines)
