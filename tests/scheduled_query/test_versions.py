"""Versions in the store: every save keeps what it writes over, on both databases."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from fakes import FakeClock
from plugbay import Store
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.core.draft import draft_of
from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.repository import versions as stored
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.pruning import REMEMBERED, Housekeeping
from plugbay_scheduled_query.repository.versions import Versions


@pytest.fixture
def versions(store: Store) -> Versions:
    return Versions(store)


@pytest.fixture
def save(definitions: Definitions, source_id: int) -> Callable[..., Query]:
    def edit(current: Query, by: str = "bob", **fields: Any) -> Query:
        draft = replace(draft_of(current), **fields)
        saved = definitions.update(current.id, draft, source_id, by, "UTC", current.version)
        assert saved
        return saved

    return edit


def rows(store: Store) -> int:
    with store.connect() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(tables.versions)) or 0


def test_a_query_that_was_never_edited_has_one_version_and_no_row(add_query, versions, store):
    query = add_query()
    [only], total = versions.page(query, 0, 50)
    assert (only.version, only.at, only.by, only.changed, total) == (1, query.created_at, "ada", (), 1)
    assert only.definition == draft_of(query).as_json()
    assert rows(store) == 0


def test_each_save_is_kept_with_who_when_and_what_changed(add_query, save, versions, clock: FakeClock):
    first = add_query()
    clock.advance(60)
    second = save(first, query="SELECT 2", tags=("x",))
    clock.advance(60)
    third = save(second, by="eve", enabled=False)
    found, total = versions.page(third, 0, 50)
    assert [(one.version, one.by, one.changed) for one in found] == [
        (3, "eve", ("enabled",)),
        (2, "bob", ("query", "tags")),
        (1, "ada", ()),
    ]
    assert [one.at for one in found] == [third.updated_at, second.updated_at, first.updated_at]
    assert [one.definition["query"] for one in found] == ["SELECT 2", "SELECT 2", "SELECT 1"]
    assert total == 3


def test_pages_meet_without_a_gap(add_query, save, versions):
    query = add_query()
    for n in range(6):
        query = save(query, description=f"{n}")
    whole, _ = versions.page(query, 0, 50)
    pages = [versions.page(query, offset, 2)[0] for offset in (0, 2, 4, 6, 8)]
    assert [one for page in pages for one in page] == whole
    assert [len(page) for page in pages] == [2, 2, 2, 1, 0]


def test_one_version_is_found_by_its_number(add_query, save, versions):
    query = save(add_query(), name="Sales")
    assert versions.get(query, 1).definition["name"] == "Orders"
    assert versions.get(query, 2).definition["name"] == "Sales"
    assert versions.get(query, 3) is None
    assert versions.get(add_query("Another"), 2) is None


def test_a_save_that_comes_while_one_reads_shows_no_version_twice(add_query, save, versions):
    query = add_query()
    save(query, name="Sales")
    found, total = versions.page(query, 0, 50)  # as it was read before
    assert ([one.version for one in found], total) == ([1], 1)


def test_the_oldest_go_once_there_are_too_many(add_query, save, versions, store, monkeypatch):
    monkeypatch.setattr(stored, "KEPT", 3)
    query = add_query()
    for n in range(5):
        query = save(query, description=f"{n}")
    found, total = versions.page(query, 0, 50)
    assert ([one.version for one in found], total, rows(store)) == ([6, 5, 4], 3, 2)
    assert found[-1].changed == ()


def test_a_source_that_was_renamed_is_the_same_source(add_query, save, versions, store):
    query = save(add_query(), name="Sales")
    with store.begin() as connection:
        connection.execute(sa.update(tables.data_sources).values(name="warehouse"))
    assert versions.get(query, 1).definition["data_source"] == "warehouse"
    with store.begin() as connection:
        connection.execute(sa.delete(tables.data_sources))
    assert versions.get(query, 1).definition["data_source"] == "shop"


def test_versions_go_with_their_query(add_query, save, store, definitions, clock: FakeClock):
    query, other = save(add_query(), name="Sales"), save(add_query("Other"), name="Others")
    definitions.delete(query.id)
    clock.advance((REMEMBERED + timedelta(minutes=1)).total_seconds())
    housekeeping = Housekeeping(store, clock)
    while housekeeping.purge_step():
        pass
    with store.connect() as connection:
        assert connection.scalars(sa.select(tables.versions.c.query_id)).all() == [other.id]
