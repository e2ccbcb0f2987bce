"""Delivery to real receivers: in order, again until it is taken, once in the cluster, many as one."""

import re
import socket
from collections.abc import Iterator

import pytest
from plugbay_scheduled_query.core.alerting.model import DeliveryStatus
from plugbay_scheduled_query.repository.outbox import Outbox
from receivers import MailServer, Receiver, running
from scheduled_query.alerts.conftest import PUBLIC_URL, Watch

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Apprise's own affair


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with running(MailServer()) as server:
        yield server


def events_named(receiver: Receiver) -> list[int]:
    """The ids of the events that were told, in the order in which they came."""
    return [int(found) for m in receiver.received for found in re.findall(r"event (\d+)", m["message"])]


def test_fired_and_resolved_are_told_with_all_that_matters(watch: Watch, receiver: Receiver):
    watch.channel("ops", receiver.url)
    query = watch.add_query("Orders")
    alert = watch.alert(query, name="Too many", severity="critical", message="Call Ada.", with_rows=True)
    watch.record(query, 11)
    watch.deliver()
    watch.record(query, 3)
    watch.deliver()
    fired, resolved = receiver.received
    event = watch.told(alert)[0]
    assert (fired["title"], fired["type"]) == ("[critical] Orders: Too many", "failure")
    for word in ("Call Ada.", "Orders", "Too many", "Value: 11", f"event {event.id}", "n\n11"):
        assert word in fired["message"]
    assert f"{PUBLIC_URL}/scheduled_query/query/{query.id}" in fired["message"]
    assert (resolved["title"], resolved["type"]) == ("Resolved: Orders: Too many", "success")
    assert "Call Ada." not in resolved["message"]
    found = watch.alerts.get(alert.id)
    assert found
    assert found.last_notified == watch.clock.now()
    assert [event.deliveries[0].status for event in watch.told(alert)] == ["sent", "sent"]


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("severity", "kind"), [("critical", "failure"), ("warning", "warning"), ("info", "info")]
)
def test_each_severity_has_apprises_type_and_rows_are_told_only_if_asked(
    watch: Watch, receiver: Receiver, severity: str, kind: str
):
    watch.channel("ops", receiver.url)
    query = watch.add_query()
    watch.alert(query, severity=severity)
    watch.record(query, 4711)
    watch.deliver()
    assert receiver.received[0]["type"] == kind
    assert "n\n4711" not in receiver.received[0]["message"]


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_mail_arrives(watch: Watch, mail: MailServer):
    watch.channel("post", mail.url)
    query = watch.add_query("Orders")
    watch.alert(query, name="Too many")
    watch.record(query, 11)
    watch.deliver()
    (message,) = mail.received
    assert message["Subject"] == "[warning] Orders: Too many"
    body = message.get_body(("plain", "html"))
    assert body
    assert "Too many" in body.get_content()


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_what_an_alert_names_is_told_there_and_not_to_the_default(watch: Watch, receiver: Receiver):
    watch.channel("usual", receiver.url)
    with running(Receiver()) as other:
        watch.channel("on-call", other.url, is_default=False)
        query = watch.add_query()
        watch.alert(query, name="A", channels=["on-call"])
        watch.alert(query, name="B")
        watch.record(query, 11)
        watch.deliver()
        assert other.titles == ["[warning] Orders: A"]
    assert receiver.titles == ["[warning] Orders: B"]


def test_a_channel_that_is_down_for_an_hour_gets_everything_in_order(watch: Watch, receiver: Receiver):
    watch.channel("ops", receiver.url)
    query = watch.add_query()
    alert = watch.alert(query)
    receiver.status = 503
    watch.record(query, 11)
    watch.deliver()
    attempts = []
    for minute in range(120):
        if minute == 20:
            watch.record(query, 3)  # resolved: it must not overtake
        if minute == 60:
            receiver.status = 200
        watch.minutes(1)
        attempts.append(watch.told(alert)[0].deliveries[0].attempts)
    fired, resolved = watch.told(alert)
    assert events_named(receiver) == [fired.id, resolved.id]
    assert attempts[0:3] + attempts[6:8] == [2, 2, 3, 4, 4]  # after 1, 2, 4 … minutes
    assert fired.deliveries[0].error is None
    assert {event.deliveries[0].status for event in (fired, resolved)} == {DeliveryStatus.SENT}


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_after_a_day_it_is_given_up_and_the_next_one_is_told(watch: Watch, receiver: Receiver):
    watch.channel("ops", receiver.url)
    query = watch.add_query()
    alert = watch.alert(query)
    receiver.status = 500
    watch.record(query, 11)
    watch.deliver()
    for _ in range(25):
        watch.clock.advance(3600)
        watch.node.run()
        watch.node.wait()
    delivery = watch.told(alert)[0].deliveries[0]
    assert delivery.status == "failed"
    assert delivery.error
    assert "500" in delivery.error
    assert watch.node.counts["failed"] == 1
    receiver.status = 200
    watch.record(query, 3)
    watch.deliver()
    assert receiver.titles == ["Resolved: Orders: the value is above 10"]


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_no_error_tells_what_opens_the_channel(watch: Watch, receiver: Receiver, caplog):
    watch.channel("ops", receiver.url)
    query = watch.add_query()
    alert = watch.alert(query)
    receiver.status = 404
    with caplog.at_level("DEBUG"):
        watch.record(query, 11)
        watch.deliver()
    error = watch.told(alert)[0].deliveries[0].error
    assert error
    for secret in ("hunter2", "T0KEN", "someone"):
        assert secret not in error
        assert secret not in caplog.text


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_dead_channel_holds_up_no_other(watch: Watch, receiver: Receiver):
    """Nobody answers there, not even with a refusal: the other channel is told meanwhile."""
    with socket.create_server(("127.0.0.1", 0)) as silent:  # who calls is never answered
        watch.channel("dead", f"json://127.0.0.1:{silent.getsockname()[1]}/?rto=1")
        watch.channel("ops", receiver.url)
        query = watch.add_query()
        alert = watch.alert(query)
        watch.record(query, 11)
        watch.deliver()
    assert len(receiver.received) == 1
    assert [d.status for d in watch.told(alert)[0].deliveries] == ["waiting", "sent"]


@pytest.mark.parametrize("count", [5, 6, 1000])
def test_more_than_five_go_as_one_message(watch: Watch, receiver: Receiver, count: int):
    watch.channel("ops", receiver.url)
    query = watch.add_query()
    watch.copy(watch.alert(query, name="Alert 0", severity="info"), count - 1)
    watch.record(query, 11)
    watch.deliver()
    assert len(receiver.received) == (count if count <= 5 else 1)
    assert len(events_named(receiver)) == count
    if count > 5:
        assert receiver.received[0]["type"] == "info"
        assert f"Alert {count - 1}" in receiver.received[0]["message"]
    assert watch.node.counts["sent"] == count


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_digest_has_the_type_of_the_worst_and_names_what_is_over(watch: Watch, receiver: Receiver):
    watch.channel("ops", receiver.url)
    query = watch.add_query()
    for number in range(6):
        watch.alert(query, name=f"Alert {number}", severity="critical" if number == 3 else "info")
    watch.record(query, 11)
    watch.deliver()
    watch.record(query, 1)
    watch.deliver()
    assert [message["type"] for message in receiver.received] == ["failure", "success"]
    assert receiver.titles == ["6 alert events: 6 fired", "6 alert events: 6 resolved"]


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_what_may_not_be_complete_yet_waits_a_moment(watch: Watch, receiver: Receiver):
    watch.channel("ops", receiver.url)
    query = watch.add_query()
    watch.alert(query)
    watch.record(query, 11)
    watch.node.run()
    watch.node.wait()
    assert receiver.received == []
    assert [(at - watch.clock.now()).total_seconds() for at in watch.calls_at] == [1.0]


def test_two_nodes_tell_everything_once(watch: Watch, receiver: Receiver):
    watch.channel("ops", receiver.url)
    query, other = watch.add_query("A"), watch.add_query("B")
    made = [watch.alert(query), watch.alert(other)]
    nodes = [watch.node, watch.new_node()]
    for value in (11, 1, 12, 2, 13, 3):
        watch.record(query, value)
        watch.record(other, value)
        watch.deliver(*nodes)
    watch.deliver(*nodes)
    ids = [event.id for alert in made for event in watch.told(alert)]
    assert len(ids) == 12
    assert sorted(events_named(receiver)) == sorted(ids)
    assert sum(node.counts["sent"] for node in nodes) == 12


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_channel_that_another_one_serves_is_left_to_it(watch: Watch, receiver: Receiver):
    channel = watch.channel("ops", receiver.url)
    query = watch.add_query()
    watch.alert(query)
    watch.record(query, 11)
    dead = Outbox(watch.store, watch.clock)
    assert dead.claim(channel.id)  # and then it is killed
    watch.deliver()
    assert receiver.received == []
    watch.minutes(2)
    assert len(receiver.received) == 1


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_test_message_says_whether_it_was_taken(watch: Watch, receiver: Receiver):
    channel = watch.channel("ops", receiver.url)
    assert watch.node.test(channel) is None
    assert receiver.titles == ["Plugbay: a test"]
    receiver.status = 500
    assert "500" in str(watch.node.test(channel))


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_deleted_channel_gets_nothing_more(watch: Watch, receiver: Receiver):
    channel = watch.channel("ops", receiver.url)
    query = watch.add_query()
    alert = watch.alert(query)
    watch.record(query, 11)
    watch.channels.delete(channel.id)
    watch.deliver()
    assert receiver.received == []
    (delivery,) = watch.told(alert)[0].deliveries
    assert (delivery.status, delivery.error) == ("failed", "the channel was deleted")
