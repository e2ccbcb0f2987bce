from dataclasses import replace

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.core.draft import draft_of
from plugbay_scheduled_query.core.model import MetricConfig
from plugbay_scheduled_query.repository.definitions import Listing, VersionConflict


def test_what_is_stored_comes_back_whole(add_query, definitions, clock):
    metric = MetricConfig("orders", {"shop": "größe"})
    fields = {"metrics": (metric,), "tags": ("night", "ünïcode"), "description": "d", "timeout": 7}
    query = add_query("Näme", timezone="Europe/Berlin", **fields)
    found = definitions.get(query.id)
    assert found == query
    assert (found.monitor_metric_config, found.tags, found.timezone) == (
        metric,
        ("night", "ünïcode"),
        "Europe/Berlin",
    )
    assert (found.created_by, found.updated_by, found.version, found.data_source) == ("ada", "ada", 1, "shop")
    assert found.next_run_at > clock.now()


def test_a_disabled_query_has_no_next_run(add_query):
    assert add_query(enabled=False).next_run_at is None


def test_an_edit_counts_the_version_up_and_keeps_the_schedule(add_query, definitions, source_id):
    query = add_query()
    after = definitions.update(query.id, replace(draft_of(query), name="New"), source_id, "bob", "UTC", 1)
    assert (after.version, after.name, after.updated_by, after.created_by) == (2, "New", "bob", "ada")
    assert after.next_run_at == query.next_run_at


def test_an_edit_of_an_old_version_is_refused_with_the_newer_one(add_query, definitions, source_id):
    query = add_query()
    definitions.update(query.id, replace(draft_of(query), name="New"), source_id, "bob", "UTC", None)
    with pytest.raises(VersionConflict, match="bob saved this query meanwhile") as conflict:
        definitions.update(query.id, draft_of(query), source_id, "eve", "UTC", 1)
    assert conflict.value.current.name == "New"


def test_switching_off_and_on_does_not_make_up_for_the_time_between(add_query, definitions, source_id, clock):
    query = add_query()
    off = definitions.update(query.id, replace(draft_of(query), enabled=False), source_id, "a", "UTC", None)
    assert off.next_run_at is None
    clock.advance(7200)
    on = definitions.update(query.id, draft_of(query), source_id, "a", "UTC", None)
    assert on.next_run_at > clock.now()


def test_another_schedule_counts_from_now_and_after_what_was_claimed(
    add_query, definitions, source_id, claims, make_due, clock
):
    query = add_query()
    due_at = make_due(query)
    claims.claim_batch(1, "UTC")
    clock.jump(-3600)
    edited = replace(draft_of(query), cron_schedule="*/5 * * * *")
    after = definitions.update(query.id, edited, source_id, "a", "UTC", None)
    assert after.next_run_at > due_at


def test_an_edit_of_an_unknown_query_is_nothing(add_query, definitions, source_id):
    assert definitions.update(999, draft_of(add_query()), source_id, "a", "UTC", None) is None


def test_a_deleted_query_is_gone_at_once(add_query, definitions):
    query = add_query(metrics=(MetricConfig("m", {}),))
    assert definitions.delete(query.id)
    assert not definitions.delete(query.id)
    assert definitions.get(query.id) is None
    assert definitions.page(Listing(), 0, 10) == ([], 0)
    assert definitions.metric_clash(MetricConfig("m")) is None


def test_the_id_of_a_deleted_query_never_comes_back(store, add_query, definitions):
    first = add_query()
    definitions.delete(first.id)
    assert add_query().id > first.id


def test_a_series_has_one_owner_and_labels_in_any_order_are_the_same(add_query, definitions):
    query = add_query(metrics=(MetricConfig("m", {"a": "1", "b": "2"}),))
    same = MetricConfig("m", {"b": "2", "a": "1"})
    assert (
        definitions.metric_clash(same)
        == "the query “Orders” already publishes this metric with the same labels"
    )
    assert definitions.metric_clash(same, other_than=query.id) is None
    assert definitions.metric_clash(MetricConfig("m", {"a": "2"})) is None


@pytest.fixture
def zoo(add_query, add_source):
    add_query("Alpha", tags=("night",), description="about Ärger")
    add_query("beta", enabled=False, query="SELECT 100 AS percent")
    add_query("Gamma", add_source("other"), tags=("night", "day"))


@pytest.mark.parametrize(
    ("listing", "names"),
    [
        (Listing(), ["Alpha", "beta", "Gamma"]),
        (Listing(descending=True), ["Gamma", "beta", "Alpha"]),
        (Listing(search="ALPHA"), ["Alpha"]),
        (Listing(search="ärger"), ["Alpha"]),
        (Listing(search="select percent"), ["beta"]),
        (Listing(search="100%"), []),
        (Listing(search="_"), []),
        (Listing(only="enabled"), ["Alpha", "Gamma"]),
        (Listing(only="disabled"), ["beta"]),
        (Listing(only="failing"), []),
        (Listing(only="running"), []),
        (Listing(data_source="other"), ["Gamma"]),
        (Listing(tag="night"), ["Alpha", "Gamma"]),
        (Listing(tag="nigh"), []),
        (Listing(tag="day", search="gam"), ["Gamma"]),
        (Listing(sort="id", descending=True), ["Gamma", "beta", "Alpha"]),
        (Listing(sort="next_run_at"), ["Alpha", "Gamma", "beta"]),
    ],
)
def test_lists_are_searched_filtered_and_sorted(zoo, definitions, listing: Listing, names: list[str]):
    found, total = definitions.page(listing, 0, 10)
    assert [query.name for query in found] == names
    assert total == len(names)


def test_a_page_is_a_part_with_the_total_of_all(zoo, definitions):
    found, total = definitions.page(Listing(), 1, 1)
    assert [query.name for query in found] == ["beta"]
    assert total == 3


def test_counts_and_loads(zoo, definitions):
    assert definitions.counts() == {"all": 3, "enabled": 2, "failing": 0}
    loads = definitions.loads("UTC")
    assert {name: of_source.total() for name, of_source in loads.items()} == {"shop": 1, "other": 1}


def test_all_are_read_in_steps(zoo, definitions, monkeypatch):
    monkeypatch.setattr("plugbay_scheduled_query.repository.definitions.EXPORT_STEP", 2)
    assert [query.name for query in definitions.all()] == ["Alpha", "beta", "Gamma"]
    assert [query.tags for query in definitions.all()][-1] == ("night", "day")


def test_of_who_switched_a_query_only_the_latest_are_kept(store, definitions, add_query, source_id):
    query = add_query()
    draft = draft_of(query)
    for n in range(1, 206):
        edited = replace(draft, enabled=n % 2 == 0)
        assert definitions.update(query.id, edited, source_id, f"user {n}", "UTC", None)
    select = sa.select(tables.switches.c.by).where(tables.switches.c.query_id == query.id)
    with store.connect() as connection:
        kept = connection.scalars(select.order_by(tables.switches.c.id)).all()
    assert (len(kept), kept[0], kept[-1]) == (200, "user 6", "user 205")
