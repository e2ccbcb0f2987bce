"""kill -9 anywhere between recording and sending: nothing is lost, and a double has the same event's id."""

import re
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import alert_victim
import pytest
import sqlalchemy as sa
from cryptography.fernet import Fernet
from fakes import FakeClock
from plugbay import Secrets
from plugbay.store import open_store
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.alerts.editing import AlertEditing, ChannelEditing
from plugbay_scheduled_query.core.alerting.model import Alert
from plugbay_scheduled_query.core.draft import Draft
from plugbay_scheduled_query.core.source import Source
from plugbay_scheduled_query.repository.alerts import Alerts
from plugbay_scheduled_query.repository.channels import Channel, Channels
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.sources import SourceRepository
from receivers import Receiver, running

ROUNDS = 50
SEED = 20261115
ABOVE = {"kind": "value", "op": ">", "value": 10}

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Apprise's own affair


def prepare(folder: Path, key: str, url: str) -> int:
    """A store with a query, an alert on it, and a channel; returns the query's id."""
    clock = FakeClock()
    with closing(open_store("", folder)) as store:
        store.migrate("scheduled_query", Path(tables.__file__).parent / "migrations")
        secrets = Secrets([key.encode()])
        source = SourceRepository(store, secrets, clock).add(Source("shop", "sqlite://"), "sqlite")
        draft = Draft(name="Orders", query="SELECT 1", cron_schedule="0 0 1 1 *", data_source="shop")
        query = Definitions(store, clock).create(draft, source.id, "ada", "UTC")
        channels = Channels(store, secrets, clock)
        added = ChannelEditing(channels, lambda channel: None).add(
            {"name": "ops", "url": url, "is_default": True}
        )
        assert isinstance(added, Channel)
        editing = AlertEditing(Alerts(store, clock), channels, lambda events: None)
        assert isinstance(editing.create({"query_id": query.id, "condition": ABOVE}, "ada"), Alert)
    return query.id


def stored_events(folder: Path) -> dict[int, str]:
    """Each event's id with the status of its delivery."""
    deliveries = tables.alert_deliveries
    with closing(open_store("", folder)) as store, store.connect() as connection:
        return dict(connection.execute(sa.select(deliveries.c.event_id, deliveries.c.status)).all())  # type: ignore[arg-type]


def test_nothing_is_lost_and_doubles_are_named_by_the_same_event(tmp_path: Path):
    key = Fernet.generate_key().decode()
    with running(Receiver()) as receiver:
        query_id = prepare(tmp_path / "data", key, receiver.url)
        arguments = [str(tmp_path / "data"), key, str(query_id), str(ROUNDS), str(SEED)]
        program = Path(alert_victim.__file__)
        subprocess.run([sys.executable, str(program), *arguments], check=True, cwd=program.parent)
        told = Counter(
            int(found) for m in receiver.received for found in re.findall(r"event (\d+)", m["message"])
        )
    stored = stored_events(tmp_path / "data")
    assert len(stored) > ROUNDS / 5, "the children lived too short to tell anything"
    assert set(stored.values()) == {"sent"}
    assert set(told) == set(stored)
    assert told.total() - len(told) <= ROUNDS  # a kill can fall between sending and noting once in a round
