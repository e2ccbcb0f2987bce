"""A store with alerts in it, channels to real receivers, and a clock in the test's hand."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
import sqlalchemy as sa
from cryptography.fernet import Fernet
from fakes import FakeClock
from plugbay import Secrets, Store
from plugbay_scheduled_query.alerts.delivery import Delivery
from plugbay_scheduled_query.alerts.editing import AlertEditing, ChannelEditing
from plugbay_scheduled_query.core.alerting.model import Alert, AlertEvent
from plugbay_scheduled_query.core.model import Outcome, Query, Status
from plugbay_scheduled_query.repository.alert_events import AlertEvents, EventFilter
from plugbay_scheduled_query.repository.alert_judging import AlertLooks
from plugbay_scheduled_query.repository.alerts import Alerts
from plugbay_scheduled_query.repository.channels import Channel, Channels
from plugbay_scheduled_query.repository.claims import Claims
from plugbay_scheduled_query.repository.outbox import Outbox
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.repository.recording import Recording
from plugbay_scheduled_query.tables import alerts
from receivers import Receiver, running

ABOVE = {"kind": "value", "op": ">", "value": 10}
PUBLIC_URL = "https://plugbay.example.org"


class Watch:
    """Everything about alerts on one store; executions are recorded as the service does."""

    def __init__(self, store: Store, clock: FakeClock, add_query: Callable[..., Query]) -> None:
        self.store, self.clock, self.add_query = store, clock, add_query
        self.alerts = Alerts(store, clock)
        self.events = AlertEvents(store, clock)
        self.looks = AlertLooks(store, clock)
        self.channels = Channels(store, Secrets([Fernet.generate_key()]), clock)
        self.calls_at: list[datetime] = []
        self.node = self.new_node()
        self.editing = AlertEditing(self.alerts, self.channels, lambda events: None)
        self._claims = Claims(store, clock, "node-1")
        self._recording = Recording(store)

    def new_node(self) -> Delivery:
        """A process that sends."""
        outbox = Outbox(self.store, self.clock)
        return Delivery(
            outbox, self.channels, self.clock, lambda: PUBLIC_URL, lambda: None, self.calls_at.append
        )

    def channel(self, name: str, url: str, is_default: bool = True) -> Channel:
        editing = ChannelEditing(self.channels, self.node.test)
        channel = editing.add({"name": name, "url": url, "is_default": is_default})
        assert isinstance(channel, Channel), channel
        return channel

    def alert(self, query: Query, **fields: Any) -> Alert:
        alert = self.editing.create({"query_id": query.id, "condition": ABOVE, **fields}, "ada")
        assert isinstance(alert, Alert), alert
        return alert

    def copy(self, alert: Alert, count: int) -> None:
        """So many more like this one, more than a person could make."""
        with self.store.begin() as connection:
            of_alert = sa.select(alerts).where(alerts.c.id == alert.id)
            row = dict(connection.execute(of_alert).one()._mapping)
            del row["id"]
            rows = [{**row, "name": f"Alert {number}"} for number in range(1, count + 1)]
            connection.execute(sa.insert(alerts), rows)

    def record(self, query: Query, value: float | None, **fields: Any) -> tuple[AlertEvent, ...]:
        """An execution that brought a number; None: it failed."""
        run, _ = self._claims.start_now(query.id, "ada")
        assert run
        outcome = Outcome(Status.FAILED, error="it broke", executed_at=self.clock.now())
        if value is not None:
            brought = {"columns": ("n",), "result_json": f"[[{value}]]", "row_count": 1, **fields}
            outcome = Outcome(Status.SUCCESS, executed_at=self.clock.now(), **brought)
        (execution,) = self._recording.record([(run, outcome)], self.clock.now(), Keeping())
        assert execution
        return execution.alert_events

    def state(self, alert: Alert) -> str:
        found = self.alerts.get(alert.id)
        assert found
        return found.state.value

    def told(self, alert: Alert) -> list[AlertEvent]:
        """Its events, oldest first."""
        return self.events.page(EventFilter(alert_id=alert.id), 0, 200)[0][::-1]

    def deliver(self, *nodes: Delivery) -> None:
        """Sends what is due, after the moment in which more may come."""
        self.clock.advance(2)
        for node in nodes or (self.node,):
            node.run()
        for node in nodes or (self.node,):
            node.wait()

    def minutes(self, count: int) -> None:
        """Time goes by, and the task of each minute is called."""
        for _ in range(count):
            self.clock.advance(60)
            self.looks.look()
            self.node.run()
            self.node.wait()


@pytest.fixture
def watch(store: Store, clock: FakeClock, add_query: Callable[..., Query]) -> Watch:
    return Watch(store, clock, add_query)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running(Receiver()) as server:
        yield server
