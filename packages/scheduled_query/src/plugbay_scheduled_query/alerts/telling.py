"""What the world is told of alert events beside the messages: a log line, and an event on the bus."""

from collections.abc import Callable, Iterable

from plugbay import EventBus, get_logger

from plugbay_scheduled_query.core.alerting.model import AlertEvent, EventKind

LINES = {
    EventKind.FIRED: "alert_fired",
    EventKind.RESOLVED: "alert_resolved",
    EventKind.REPEATED: "alert_still_fires",
}

log = get_logger("plugbay.scheduled_query")


class AlertTelling:
    """Speaks of what was just committed."""

    def __init__(self, events: EventBus, wake: Callable[[], object]) -> None:
        self._events = events
        self._wake = wake

    def tell(self, events: Iterable[AlertEvent]) -> None:
        """Of each; what is to be sent goes on its way."""
        told = list(events)
        for event in told:
            self._tell(event)
        if any(event.deliveries for event in told):
            self._wake()

    def _tell(self, event: AlertEvent) -> None:
        facts = {"alert": event.alert_name, "query": event.query_name, "event": event.id}
        log.info(LINES[event.kind], **facts, severity=event.severity.value, value=event.value)
        if event.kind is EventKind.FIRED:
            self._events.post("scheduled_query.alert_fired", **_data(event))
        elif event.kind is EventKind.RESOLVED:
            self._events.post("scheduled_query.alert_resolved", **_data(event))


def _data(event: AlertEvent) -> dict[str, object]:
    return {
        "event_id": event.id,
        "alert_id": event.alert_id,
        "alert": event.alert_name,
        "query_id": event.query_id,
        "name": event.query_name,
        "severity": event.severity.value,
        "value": None if event.value is None else float(event.value),
        "execution_id": event.execution_id,
        "message": event.message,
    }
