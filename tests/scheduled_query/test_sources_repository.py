"""Data sources in the store, on both databases."""

import threading
from contextlib import suppress

import pytest
import sqlalchemy as sa
from cryptography.fernet import Fernet
from plugbay import Secrets, SecretUnreadable
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.catalogue import adopt_setting
from plugbay_scheduled_query.catalogue.targets import dialect_of_url
from plugbay_scheduled_query.core.source import Source
from plugbay_scheduled_query.repository.definitions import Listing, SourceGone
from plugbay_scheduled_query.repository.sources import NameTaken, Origin, SourceInUse, SourceRepository

URL = "postgresql://reader:s3cret@db/shop"


@pytest.fixture
def secrets():
    return Secrets([Fernet.generate_key()])


@pytest.fixture
def sources(store, secrets, clock):
    return SourceRepository(store, secrets, clock)


@pytest.fixture
def shop(sources):
    return sources.add(Source("shop", URL), "postgresql")


@pytest.fixture
def add_query(definitions):
    from plugbay_scheduled_query.core.draft import Draft

    def add(source, name="Orders"):
        draft = Draft(name=name, query="SELECT 1", cron_schedule="@daily", data_source=source.name)
        return definitions.create(draft, source.id, "ada", "UTC")

    return add


def lanes(store):
    with store.connect() as connection:
        return list(connection.scalars(sa.select(tables.lanes.c.source_id)))


def test_a_source_is_found_by_id_and_by_name_and_has_a_lane(store, sources, shop):
    assert sources.get(shop.id) == sources.by_name("shop") == shop
    assert (shop.dialect, shop.origin, shop.is_locked, shop.accepts_unguarded) == (
        "postgresql",
        Origin.ADMIN,
        False,
        False,
    )
    assert lanes(store) == [shop.id]
    assert sources.get(99) is sources.by_name("none") is None


def test_sources_are_listed_by_name(sources):
    for name in ("b", "a", "c"):
        sources.add(Source(name, URL), "postgresql")
    assert [source.name for source in sources.all()] == ["a", "b", "c"]


def test_the_url_is_encrypted_at_rest(store, sources, shop):
    assert sources.url_of(shop) == URL
    with store.connect() as connection:
        row = connection.execute(sa.select(tables.data_sources)).one()
    assert "s3cret" not in str(row)
    assert "s3cret" not in repr(shop)


def test_another_key_cannot_read_it(store, shop, clock):
    other = SourceRepository(store, Secrets([Fernet.generate_key()]), clock)
    with pytest.raises(SecretUnreadable):
        other.url_of(shop)


def test_a_name_is_taken_once(sources, shop):
    with pytest.raises(NameTaken):
        sources.add(Source("shop", URL), "postgresql")
    other = sources.add(Source("other", URL), "postgresql")
    with pytest.raises(NameTaken):
        sources.rename(other.id, "shop")
    with pytest.raises(NameTaken):
        sources.update(other.id, Source("shop", URL), "postgresql", Origin.ADMIN)
    assert [source.name for source in sources.all()] == ["other", "shop"]


def test_of_many_who_add_one_name_at_the_same_time_one_does(store, sources):
    taken = []

    def add():
        try:
            sources.add(Source("shop", URL), "postgresql")
        except NameTaken:
            taken.append(1)

    threads = [threading.Thread(target=add) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(taken), len(sources.all()), len(lanes(store))) == (4, 1, 1)


def test_an_edit_changes_the_time_that_other_processes_go_by_even_if_the_clock_stands_or_goes_back(
    sources, shop, clock
):
    first = sources.update(shop.id, Source("shop", "mysql://u@h/d"), "mysql", Origin.ADMIN)
    clock.jump(-3600)
    second = sources.rename(shop.id, "store")
    assert shop.updated_at < first.updated_at < second.updated_at
    assert (second.name, second.dialect, sources.url_of(second)) == ("store", "mysql", "mysql://u@h/d")
    assert second.created_at == shop.created_at


def test_what_is_not_there_cannot_be_changed(sources):
    assert sources.update(99, Source("x", URL), "postgresql", Origin.ADMIN) is None
    assert sources.rename(99, "x") is None
    assert sources.delete(99) is False


def test_queries_stay_with_a_renamed_source_and_are_found_by_its_new_name(
    sources, shop, add_query, definitions
):
    query = add_query(shop)
    sources.rename(shop.id, "Warehouse")
    assert definitions.get(query.id).data_source == "Warehouse"
    assert [found.id for found in definitions.page(Listing(search="warehouse"), 0, 10)[0]] == [query.id]
    assert definitions.page(Listing(search="shop"), 0, 10)[1] == 0


def test_a_source_in_use_is_not_deleted_and_its_queries_are_named(store, sources, shop, add_query):
    for number in range(12):
        add_query(shop, f"Query {number:02d}")
    with pytest.raises(SourceInUse) as refused:
        sources.delete(shop.id)
    assert refused.value.names == [f"Query {number:02d}" for number in range(10)]
    assert str(refused.value).startswith("it is used by “Query 00”, “Query 01”")
    assert str(refused.value).endswith("“Query 09” and 2 more")
    assert sources.get(shop.id) == shop
    assert sources.query_counts() == {shop.id: 12}


def test_a_deleted_query_holds_no_source(store, sources, shop, add_query, definitions):
    query = add_query(shop)
    definitions.delete(query.id)
    assert sources.query_counts() == {}
    assert sources.delete(shop.id) is True
    assert (sources.all(), lanes(store)) == ([], [])


def test_no_query_is_made_on_a_source_that_is_gone(sources, shop, add_query, definitions):
    sources.delete(shop.id)
    with pytest.raises(SourceGone):
        add_query(shop)


def test_a_query_and_the_deletion_of_its_source_never_both_succeed(
    store, clock, sources, add_query, definitions
):
    for number in range(10):
        source = sources.add(Source(f"source {number}", URL), "postgresql")
        outcome = {}

        def make(source=source, outcome=outcome):
            with suppress(SourceGone):
                outcome["made"] = add_query(source)

        def delete(source=source, outcome=outcome):
            with suppress(SourceInUse):
                outcome["deleted"] = sources.delete(source.id)

        threads = [threading.Thread(target=make), threading.Thread(target=delete)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(outcome) == 1
        assert ("made" in outcome) == (sources.get(source.id) is not None)


# the setting


def adopt(sources, **urls):
    adopt_setting(
        sources,
        [Source(name, url) for name, url in urls.items()],
        lambda source: dialect_of_url(source.url) or "?",
    )


def test_the_setting_adds_changes_and_takes_away(store, sources):
    adopt(sources, a="sqlite:////a.db", b="sqlite:////b.db")
    assert [(source.name, source.origin) for source in sources.all()] == [
        ("a", Origin.SETTINGS),
        ("b", Origin.SETTINGS),
    ]
    adopt(sources, b="postgresql://u@h/d")
    [left] = sources.all()
    assert (left.name, left.dialect, sources.url_of(left)) == ("b", "postgresql", "postgresql://u@h/d")
    assert lanes(store) == [left.id]


def test_the_same_setting_twice_writes_nothing(sources, clock):
    adopt(sources, a="sqlite:////a.db")
    before = sources.all()
    clock.advance(60)
    adopt(sources, a="sqlite:////a.db")
    assert sources.all() == before


def test_a_source_that_left_the_setting_stays_without_its_url_while_queries_need_it(sources, add_query):
    adopt(sources, a=URL)
    source = sources.by_name("a")
    add_query(source)
    adopt(sources)
    left = sources.by_name("a")
    assert (left.id, left.origin, left.secret_url, left.is_locked) == (source.id, Origin.REMOVED, "", False)
    assert left.updated_at > source.updated_at
    adopt(sources, a=URL)
    again = sources.by_name("a")
    assert (again.id, again.origin, sources.url_of(again)) == (source.id, Origin.SETTINGS, URL)


def test_the_setting_takes_over_a_name_that_an_admin_used(sources, shop, add_query):
    add_query(shop)
    adopt(sources, shop="sqlite:////other.db")
    taken = sources.by_name("shop")
    assert (taken.id, taken.origin, sources.url_of(taken)) == (
        shop.id,
        Origin.SETTINGS,
        "sqlite:////other.db",
    )


def test_sources_of_admins_are_left_alone(sources, shop):
    adopt(sources)
    assert sources.by_name("shop") == shop


def test_a_setting_heals_a_secret_that_cannot_be_read(store, sources, clock):
    adopt(sources, a=URL)
    other = SourceRepository(store, Secrets([Fernet.generate_key()]), clock)
    adopt(other, a=URL)
    assert other.url_of(other.by_name("a")) == URL


def test_servers_that_start_together_make_each_source_once(store, sources):
    threads = [threading.Thread(target=adopt, args=(sources,), kwargs={"a": URL, "b": URL}) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [source.name for source in sources.all()] == ["a", "b"]
    assert len(lanes(store)) == 2
