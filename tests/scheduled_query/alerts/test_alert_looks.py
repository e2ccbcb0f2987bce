"""What time alone changes: stale alerts, repeats and the ends of mutes; and that what rests costs nothing."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query.core.alerting.model import UNTIL_RESOLVED, AlertEvent
from plugbay_scheduled_query.core.draft import draft_of
from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.tables import alerts
from receivers import Receiver
from scheduled_query.alerts.conftest import Watch

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Apprise's own affair

STALE = {"kind": "stale", "minutes": 5}


def kinds(events: list[AlertEvent]) -> list[str]:
    return [event.kind.value for event in events]


def test_a_query_that_never_succeeded_is_stale_from_the_alerts_making_on(watch: Watch):
    query = watch.add_query()
    alert = watch.alert(query, condition=STALE)
    watch.record(query, None)
    watch.minutes(4)
    assert watch.state(alert) == "unknown"
    watch.minutes(1)
    assert watch.state(alert) == "firing"
    (event,) = watch.told(alert)
    assert (event.value, event.execution_id) == (5, None)
    watch.minutes(10)
    assert len(watch.told(alert)) == 1


def test_a_success_resolves_what_was_stale_and_the_time_counts_anew(watch: Watch):
    query = watch.add_query()
    alert = watch.alert(query, condition=STALE)
    watch.minutes(5)
    watch.record(query, 1)
    assert watch.state(alert) == "ok"
    watch.minutes(4)
    assert watch.state(alert) == "ok"
    watch.minutes(1)
    assert kinds(watch.told(alert)) == ["fired", "resolved", "fired"]


def test_a_success_before_the_alert_was_made_counts(watch: Watch):
    query = watch.add_query()
    watch.record(query, 1)
    watch.clock.advance(3600)
    alert = watch.alert(query, condition=STALE)
    watch.minutes(1)
    assert watch.state(alert) == "firing"


def test_stale_waits_for_as_many_looks_as_it_was_told_to(watch: Watch):
    alert = watch.alert(watch.add_query(), condition=STALE, for_runs=3)
    states = []
    for _ in range(7):
        watch.minutes(1)
        states.append(watch.state(alert))
    assert states == ["unknown"] * 4 + ["pending"] * 2 + ["firing"]


def test_a_disabled_query_is_not_looked_at_and_counts_from_its_enabling_on(
    watch: Watch, definitions: Definitions
):
    from dataclasses import replace

    query = watch.add_query()
    alert = watch.alert(query, condition=STALE)

    def switch(query: Query, enabled: bool) -> Query:
        draft = replace(draft_of(query), enabled=enabled)
        with watch.store.connect() as connection:
            source = connection.scalar(sa.text("SELECT source_id FROM scheduled_queries"))
        switched = definitions.update(query.id, draft, int(source or 0), "ada", "UTC", None)
        assert switched
        return switched

    query = switch(query, False)
    watch.minutes(10)
    assert watch.state(alert) == "unknown"
    switch(query, True)
    watch.minutes(4)
    assert watch.state(alert) == "unknown"
    watch.minutes(1)
    assert watch.state(alert) == "firing"


def test_a_firing_alert_is_told_again_as_often_as_asked(watch: Watch, receiver: Receiver):
    watch.channel("ops", receiver.url)
    query = watch.add_query()
    alert = watch.alert(query, repeat_minutes=10)
    watch.record(query, 11)
    watch.minutes(25)
    assert kinds(watch.told(alert)) == ["fired", "repeated", "repeated"]
    assert receiver.titles[1] == "[still firing, warning] Orders: the value is above 10"
    watch.record(query, 1)
    watch.minutes(15)
    assert kinds(watch.told(alert))[3:] == ["resolved"]


def test_without_a_channel_nothing_is_repeated(watch: Watch):
    query = watch.add_query()
    alert = watch.alert(query, repeat_minutes=1)
    watch.record(query, 11)
    watch.minutes(5)
    assert kinds(watch.told(alert)) == ["fired"]


def test_a_mute_that_ends_while_it_fires_is_one_message(watch: Watch, receiver: Receiver):
    watch.channel("ops", receiver.url)
    query = watch.add_query()
    alert = watch.alert(query)
    watch.alerts.mute(alert.id, 30)
    watch.record(query, 11)
    watch.minutes(29)
    assert receiver.received == []
    watch.minutes(20)
    assert receiver.titles == ["[still firing, warning] Orders: the value is above 10"]
    assert [len(event.deliveries) for event in watch.told(alert)] == [0, 1]


@pytest.mark.parametrize("brought", [{}, {"result_json": "[[null]]"}])
def test_an_execution_between_the_end_of_a_mute_and_the_next_look_does_not_hide_it(
    watch: Watch, receiver: Receiver, brought: dict[str, str]
):
    watch.channel("ops", receiver.url)
    query = watch.add_query()
    alert = watch.alert(query)
    watch.alerts.mute(alert.id, 30)
    watch.record(query, 11)
    watch.clock.advance(30 * 60 + 1)
    watch.record(query, 12, **brought)
    watch.minutes(2)
    assert receiver.titles == ["[still firing, warning] Orders: the value is above 10"]


def test_a_mute_that_ends_when_all_is_well_again_says_nothing(watch: Watch, receiver: Receiver):
    watch.channel("ops", receiver.url)
    query = watch.add_query()
    alert = watch.alert(query)
    watch.record(query, 11)
    watch.deliver()
    watch.alerts.mute(alert.id, 30)
    watch.record(query, 1)
    watch.minutes(40)
    assert len(receiver.received) == 1
    assert kinds(watch.told(alert)) == ["fired", "resolved"]


@pytest.mark.parametrize(
    "end", [lambda watch, alert, query: watch.record(query, 1), lambda watch, alert, query: None]
)
def test_a_mute_until_it_is_resolved_lasts_so_long(
    watch: Watch, receiver: Receiver, end: Callable[..., object]
):
    watch.channel("ops", receiver.url)
    query = watch.add_query()
    alert = watch.alert(query)
    watch.alerts.mute(alert.id, None)
    watch.record(query, 11)
    end(watch, alert, query)
    watch.minutes(3)
    found = watch.alerts.get(alert.id)
    assert found
    assert receiver.received == []
    assert found.muted_until == (None if found.state == "ok" else UNTIL_RESOLVED)


def test_what_rests_is_never_looked_at(watch: Watch):
    query = watch.add_query()
    watch.alert(query)
    watch.alert(query, repeat_minutes=5)
    watch.record(query, 1)
    with watch.store.connect() as connection:
        assert list(connection.scalars(sa.select(alerts.c.look_at))) == [None, None]
