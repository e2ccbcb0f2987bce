"""Messages to people when a query ran, through Apprise; never in the way of an execution."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from plugbay import get_logger

from plugbay_scheduled_query.repository.recording import Finished
from plugbay_scheduled_query.settings import Settings

log = get_logger(__name__)


class Notifications:
    """Puts one message per execution into the engine, and sends it from there."""

    def __init__(
        self, settings: Callable[[], Settings], submit: Callable[[Mapping[str, Any]], object]
    ) -> None:
        self._settings = settings
        self._submit = submit
        self._lock = threading.Lock()
        self.sent = 0
        self.failed = 0

    def announce(self, finished: Finished) -> None:
        """Has a message sent if the settings say so; result data is not part of it."""
        settings = self._settings()
        if settings.notification_on_run and settings.channels():
            self._submit({"title": _title(finished), "body": _body(finished)})

    def send(self, message: Mapping[str, Any]) -> None:
        """Called by the engine, off the execution path."""
        import apprise

        channel = apprise.Apprise()
        for url in self._settings().channels():
            if not channel.add(url):
                log.warning("notification_url_refused", kind=url.partition(":")[0])
        is_sent = bool(channel.notify(title=message["title"], body=message["body"]))
        with self._lock:
            self.sent += is_sent
            self.failed += not is_sent
        if not is_sent:
            log.warning("notification_failed", title=message["title"])


def _title(finished: Finished) -> str:
    return f"{finished.claimed.query_name}: {finished.status.value}"


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
