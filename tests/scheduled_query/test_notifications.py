"""Messages through real channels: an HTTP server of the test's own takes them, or does not."""

import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from plugbay import Store
from plugbay.store import open_store
from plugbay_scheduled_query import messaging, tables
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.runs import telling as notifications
from plugbay_scheduled_query.runs.telling import Notifications
from plugbay_scheduled_query.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Apprise's own affair


class Channel(ThreadingHTTPServer):
    """Takes messages as JSON."""

    def __init__(self) -> None:
        self.received: list[dict[str, str]] = []
        self.status = 200
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"json://someone:hunter2@127.0.0.1:{self.server_port}/?cto=60&rto=60"  # not its four seconds


class _Handler(BaseHTTPRequestHandler):
    server: Channel

    def do_POST(self) -> None:
        self.server.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def channel() -> Iterator[Channel]:
    with Channel() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """One is enough: no message depends on the database."""
    opened = open_store("", tmp_path / "data")
    opened.migrate("scheduled_query", Path(tables.__file__).parent / "migrations")
    yield opened
    opened.close()


@pytest.fixture
def ended(claims, recording, finished, add_query, clock):
    """A run of a query of that name with what came back of it, recorded."""

    def record(name="Orders", **fields):
        item = finished(claims.start_now(add_query(name).id, "ada")[0], **fields)
        return *item, *recording.record([item], clock.now(), Keeping())

    return record


def settings_of(*urls: str, **fields) -> Settings:
    return Settings(notification_on_run=True, notification_urls=" ".join(urls), **fields)


def test_each_execution_is_one_message_without_its_data(channel, ended):
    calls = []
    told = Notifications(lambda: settings_of(channel.url), lambda: calls.append(1))
    told.announce(*ended("Orders"))
    told.announce(*ended("Visitors", status="failed"))
    assert calls == [1]  # one sender sends what waits
    told.send_waiting()
    assert [item["title"] for item in channel.received] == ["Orders: success", "Visitors: failed"]
    assert "Error: it broke" in channel.received[1]["message"]
    assert "[[1]]" not in json.dumps(channel.received)
    assert (told.sent, told.failed) == (2, 0)
    told.announce(*ended("Later"))
    assert calls == [1, 1]


@pytest.mark.parametrize("settings", [Settings(), settings_of(), Settings(notification_urls="json://x")])
def test_nothing_is_sent_unless_it_is_asked_for_and_there_is_a_channel(ended, settings):
    calls = []
    Notifications(lambda: settings, lambda: calls.append(1)).announce(*ended())
    assert calls == []


def test_a_channel_that_fails_is_counted_and_named_without_its_secret(channel, ended, caplog):
    channel.status = 500
    told = Notifications(lambda: settings_of(channel.url, "nonsense://hunter2"), lambda: None)
    with caplog.at_level(logging.DEBUG):
        told.announce(*ended())
        told.send_waiting()
    assert (told.sent, told.failed) == (0, 1)
    assert 'notification_failed title="Orders: success"' in caplog.text
    assert "notification_url_refused kind=nonsense" in caplog.text
    assert "hunter2" not in caplog.text


def test_a_channel_that_breaks_stops_no_other_message(ended, monkeypatch):
    told = Notifications(lambda: settings_of("json://127.0.0.1:9/"), lambda: None)

    def breaks(message):
        raise RuntimeError("no")

    monkeypatch.setattr(told, "_send", breaks)
    for name in ("one", "two"):
        told.announce(*ended(name))
    told.send_waiting()
    assert told.failed == 2


SECRETS = ("T0KEN-one", "T0KEN-two", "hunter2", "someone", "s3cret")


@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize(
    "url",
    [
        "json://{}/T0KEN-one/T0KEN-two",
        "json://someone:hunter2@{}/T0KEN-one",
        "xml://{}/T0KEN-one",
        "form://{}/x/T0KEN-one?+X-Key=s3cret",
        "form://{}/x/T0KEN%2Done",
        "apprise://{}/T0KEN-one",
        "jsons://{}/T0KEN-one",  # nobody speaks TLS there: the error has the address in it
    ],
)
def test_no_level_of_the_log_shows_what_opens_a_channel(channel, ended, caplog, url, status):
    """At `debug` urllib3 wrote the path of each request: of a webhook that is all that opens it."""
    channel.status = status
    address = f"127.0.0.1:{channel.server_port}"
    told = Notifications(lambda: settings_of(url.format(address)), lambda: None)
    with caplog.at_level(logging.DEBUG):
        told.announce(*ended())
        told.send_waiting()
        logging.getLogger("urllib3.connectionpool").debug("afterwards it speaks again")
    assert told.sent + told.failed == 1
    assert not [secret for secret in SECRETS if secret in caplog.text]
    assert "afterwards it speaks again" in caplog.text


def test_others_keep_their_lines_while_a_message_is_sent(caplog):
    logging.getLogger("of_an_application")  # it has been there before
    with caplog.at_level(logging.DEBUG), messaging.unspoken(["json://host/T0KEN-one"]):
        logging.getLogger("of_an_application").debug("somebody else's")
        logging.getLogger("of_an_application").error("asked for /T0KEN-one")
        logging.getLogger("urllib3").debug("the sender's own")
        logging.getLogger("urllib3").warning("Retrying: /T0KEN%2Done")
        logging.getLogger("urllib3").warning("the channel is gone")
    assert [record.getMessage() for record in caplog.records] == ["somebody else's", "the channel is gone"]


def test_a_slow_channel_fills_no_memory(ended, monkeypatch, caplog):
    monkeypatch.setattr(notifications, "MOST_WAITING", 2)
    told = Notifications(lambda: settings_of("json://127.0.0.1:9/"), lambda: None)
    for name in ("one", "two", "three"):
        told.announce(*ended(name))
    assert len(told._waiting) == 2
    assert told.failed == 1
    assert 'notification_failed title="three: success" reason="2 others wait"' in caplog.text


def test_a_sender_that_is_told_to_stop_leaves_the_rest_to_the_next(channel, ended):
    calls = []
    told = Notifications(lambda: settings_of(channel.url), lambda: calls.append(1))
    for name in ("one", "two"):
        told.announce(*ended(name))
    told.send_waiting(lambda: not channel.received)
    assert len(channel.received) == len(calls) == 1
    told.announce(*ended("three"))
    told.send_waiting()
    assert len(channel.received) == 3
    assert len(calls) == 2
