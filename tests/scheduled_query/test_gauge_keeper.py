"""The board of gauges as a scrape finds it, whatever was done to the queries since the last one."""

from dataclasses import replace

import pytest
from plugbay_scheduled_query.core.draft import draft_of
from plugbay_scheduled_query.core.model import MetricConfig
from plugbay_scheduled_query.metrics.gauges import GaugeKeeper
from plugbay_scheduled_query.repository.gauges import StoredGauges
from plugbay_scheduled_query.repository.pruning import Housekeeping, Keeping
from plugbay_scheduled_query.repository.recording import Recording


def text(keeper: GaugeKeeper) -> str:
    return keeper.text().decode()


@pytest.fixture
def keeper(store, clock) -> GaugeKeeper:
    return GaugeKeeper(StoredGauges(store), clock)


@pytest.fixture
def publish(claims, recording, finished, clock, add_query):
    """A query with a gauge that has a value."""

    def make(name: str = "Orders", metric: str = "orders", value: float = 1.0):
        query = add_query(name, metrics=(MetricConfig(metric, {"shop": name}),))
        feed(query, value)
        return query

    def feed(query, value: float, by=recording):
        claimed, _ = claims.start_now(query.id, "ada")
        (execution,) = by.record([finished(claimed, value=value)], clock.now(), Keeping())
        return execution.feed

    make.feed = feed
    return make


@pytest.fixture
def edit(definitions, source_id):
    def change(query, **fields):
        draft = replace(draft_of(query), **fields)
        return definitions.update(query.id, draft, source_id, "ada", "UTC", None)

    return change


def test_a_scrape_shows_what_other_nodes_recorded_since(keeper, publish, clock):
    query = publish(value=1.0)
    assert 'orders{shop="Orders"} 1.0' in text(keeper)
    clock.advance(15)
    publish.feed(query, 2.0)
    assert 'orders{shop="Orders"} 2.0' in text(keeper)


@pytest.mark.parametrize("change", [{"enabled": False}, {"metrics": ()}])
def test_a_gauge_that_is_switched_off_is_gone_at_the_next_scrape(keeper, publish, edit, clock, change):
    query = publish()
    keeper.text()
    clock.advance(15)
    edit(query, **change)
    assert keeper.text() == b""


def test_another_name_or_label_waits_for_a_value_of_its_own(keeper, publish, edit, clock):
    query = publish()
    keeper.text()
    edit(query, metrics=(MetricConfig("sales", {"shop": "Orders"}),))
    shown = text(keeper)
    assert "orders{" not in shown
    assert "sales{" not in shown
    publish.feed(query, 3.0)
    assert 'sales{shop="Orders"} 3.0' in text(keeper)


def test_a_deleted_query_shows_nothing_though_its_rows_went_before_the_next_scrape(
    store, keeper, publish, definitions, clock
):
    query, other = publish(), publish("Visitors", "visitors")
    keeper.text()
    definitions.delete(query.id)
    for minutes in (1, 120):
        clock.advance(60 * minutes)
        while Housekeeping(store, clock).purge_step():
            pass
        shown = text(keeper)
        assert "orders{" not in shown
        assert "visitors{" in shown
    assert definitions.get(other.id)


def test_a_node_that_was_not_scraped_for_long_shows_nothing_that_is_gone(
    store, keeper, publish, definitions, clock
):
    query = publish()
    keeper.text()
    definitions.delete(query.id)
    clock.advance(7200)
    while Housekeeping(store, clock).purge_step():
        pass
    assert keeper.text() == b""


def test_a_clock_that_was_set_back_hides_no_change(keeper, publish, edit, clock):
    query = publish()
    keeper.text()
    clock.jump(-3600)
    edit(query, enabled=False)
    assert keeper.text() == b""


def test_queries_may_share_a_name_and_one_that_leaves_takes_only_its_own_line(
    keeper, publish, definitions, clock
):
    first, _ = publish("a", "orders"), publish("b", "orders")
    assert text(keeper).count("# TYPE orders gauge") == 1
    definitions.delete(first.id)
    shown = text(keeper)
    assert 'orders{shop="a"}' not in shown
    assert 'orders{shop="b"} 1.0' in shown


def test_what_is_on_the_board_already_is_not_read_again(store, publish, clock):
    samples = ReadSamples(store)
    keeper = GaugeKeeper(samples, clock)
    first, second = publish("a"), publish("b")
    keeper.text()
    keeper.text()
    assert samples.read == []
    publish.feed(second, 2.0)
    keeper.text()
    assert samples.read == [second.id]
    publish.feed(first, 3.0)
    assert 'orders{shop="a"} 3.0' in text(keeper)
    assert samples.read == [second.id, first.id]


def test_what_this_node_records_is_shown_without_being_read_back(store, publish, clock):
    samples, here = ReadSamples(store, "node-1"), Recording(store, "node-1")
    keeper, query = GaugeKeeper(samples, clock), publish(value=1.0)
    keeper.text()
    keeper.feed(publish.feed(query, 2.0, here))
    assert 'orders{shop="Orders"} 2.0' in text(keeper)
    publish.feed(query, 3.0, Recording(store, "node-2"))
    assert 'orders{shop="Orders"} 3.0' in text(keeper)
    assert samples.read == [query.id]


def test_an_edit_that_the_next_run_hides_is_read_with_it(store, publish, edit, clock):
    samples, here = ReadSamples(store, "node-1"), Recording(store, "node-1")
    keeper, query = GaugeKeeper(samples, clock), publish(value=1.0)
    keeper.text()
    edit(query, name="Sales")
    keeper.feed(publish.feed(query, 2.0, here))
    assert 'plugbay_query_up{query_id="1",name="Sales"} 1.0' in text(keeper)
    edit(query, metrics=())
    keeper.feed(publish.feed(query, 3.0, here))
    assert keeper.text() == b""
    edit(query, metrics=(MetricConfig("sales"),))
    keeper.feed(publish.feed(query, 4.0, here))
    assert "sales 4.0" in text(keeper)


def test_a_query_that_is_deleted_before_its_run_is_recorded_is_gone(
    store, publish, definitions, claims, clock, finished
):
    keeper, query = GaugeKeeper(StoredGauges(store, "node-1"), clock), publish(value=1.0)
    keeper.text()
    claimed, _ = claims.start_now(query.id, "ada")
    definitions.delete(query.id)
    (execution,) = Recording(store, "node-1").record([finished(claimed, value=2.0)], clock.now(), Keeping())
    keeper.feed(execution.feed)
    assert keeper.text() == b""


def test_what_is_told_late_does_not_undo_what_is_newer(store, publish, edit, clock):
    keeper, query = GaugeKeeper(StoredGauges(store, "node-1"), clock), publish(value=1.0)
    keeper.text()
    late = publish.feed(query, 2.0, Recording(store, "node-1"))
    publish.feed(query, 3.0)
    assert 'orders{shop="Orders"} 3.0' in text(keeper)
    keeper.feed(late)
    assert 'orders{shop="Orders"} 3.0' in text(keeper)


def test_what_is_recorded_while_all_are_read_is_not_lost(store, publish, clock):
    samples, here = ReadSamples(store, "node-1"), Recording(store, "node-1")
    keeper, query = GaugeKeeper(samples, clock), publish(value=1.0)
    samples.meanwhile_all = lambda: keeper.feed(publish.feed(query, 2.0, here))
    assert 'orders{shop="Orders"} 2.0' in text(keeper)


def test_nothing_changed_is_the_same_object(keeper, publish):
    publish()
    assert keeper.text() is keeper.text()


@pytest.mark.parametrize("seconds", [-59, 0, 59])
def test_changes_by_clocks_that_differ_are_seen_one_by_one(keeper, publish, edit, clock, seconds):
    query = publish(value=1.0)
    keeper.text()
    for value in (2.0, 3.0):
        clock.jump(seconds)
        publish.feed(query, value)
        clock.jump(-seconds)
        assert f'orders{{shop="Orders"}} {value}' in text(keeper)
    clock.jump(seconds)
    edit(query, name="Sales")
    clock.jump(-seconds)
    assert 'plugbay_query_up{query_id="1",name="Sales"} 1.0' in text(keeper)


class ReadSamples(StoredGauges):
    """Remembers which gauges were read one by one, and lets something happen before they are handed over."""

    def __init__(self, store, node=None) -> None:
        super().__init__(store, node)
        self.read: list[int] = []
        self.meanwhile_all = lambda: None

    def all(self):
        readings = super().all()
        self.meanwhile_all()
        return readings

    def of(self, query_ids):
        self.read += query_ids
        return super().of(query_ids)
