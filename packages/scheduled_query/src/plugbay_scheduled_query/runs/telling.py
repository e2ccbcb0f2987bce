"""What the world is told of an execution: one log line, one event, and the counters of /metrics."""

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from plugbay import EventBus, get_logger

from plugbay_scheduled_query.core.model import Status
from plugbay_scheduled_query.repository.recording import Finished, Recorded
from plugbay_scheduled_query.settings import Settings

log = get_logger("plugbay.scheduled_query")


class Reports:
    """Speaks of each recorded execution; counts since the start of this process."""

    def __init__(self, events: EventBus) -> None:
        self._events = events
        self._lock = threading.Lock()
        self.executions: Counter[str] = Counter()
        self.seconds = 0.0
        self.lateness_s = 0.0
        self.starts = 0
        self.missed = 0

    def tell(self, finished: Finished, recorded: Recorded) -> None:
        if recorded.is_dropped:
            return
        self._count(finished)
        self._log(finished)
        self._emit(finished, recorded)

    def _count(self, finished: Finished) -> None:
        run = finished.claimed.run
        with self._lock:
            self.executions["rejected" if finished.rejection else finished.status.value] += 1
            self.seconds += finished.duration_ms / 1000
            self.missed += run.missed
            if run.due_at:
                self.starts += 1
                self.lateness_s += max(0.0, (finished.executed_at - run.due_at).total_seconds())

    def _log(self, finished: Finished) -> None:
        name, run = finished.claimed.query_name, finished.claimed.run
        facts = {"query": name, "id": run.query_id, "ms": finished.duration_ms, "trigger": run.trigger.value}
        if run.missed:
            log.warning("missed", query=name, id=run.query_id, times=run.missed)
        if finished.rejection:
            rejection = finished.rejection
            log.warning(
                "rejected", query=name, rule=rejection.rule, keyword=rejection.found, reason=rejection.reason
            )
        elif finished.status is Status.SUCCESS:
            rows = finished.result.row_count if finished.result else 0
            log.info("executed", **facts, rows=rows)
        else:
            log.warning(finished.status.value, **facts, error=finished.error)
        if finished.claimed.metric and finished.status is Status.SUCCESS and finished.metric_value is None:
            log.warning("metric_not_updated", query=name, reason="the result has no numeric value")

    def _emit(self, finished: Finished, recorded: Recorded) -> None:
        run = finished.claimed.run
        data = {
            "query_id": run.query_id,
            "name": finished.claimed.query_name,
            "status": finished.status.value,
            "duration_ms": finished.duration_ms,
            "error": finished.error,
            "execution_id": recorded.execution.id,
            "trigger": run.trigger.value,
        }
        if run.missed:
            self._events.emit("scheduled_query.missed", **data, missed=run.missed)
        if finished.rejection:
            self._events.emit("scheduled_query.rejected", **data, rule=finished.rejection.rule)
        if finished.status is not Status.SUCCESS:
            self._events.emit("scheduled_query.failed", **data)
        self._events.emit("scheduled_query.executed", **data)


MOST_WAITING = 1000  # messages: a channel that is slower than the schedule does not fill the memory


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
