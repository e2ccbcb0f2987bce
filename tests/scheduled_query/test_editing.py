"""Editing queries: what form, API and command line share."""

import logging

import pytest
import sqlalchemy as sa
from cryptography.fernet import Fernet
from plugbay import EventBus, Secrets
from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.source import Source
from plugbay_scheduled_query.queries.capacity import FRESH_S, Capacities
from plugbay_scheduled_query.queries.editing import BUSY, QueryEditing, Saved, UnknownQuery
from plugbay_scheduled_query.repository.definitions import Definitions, VersionConflict
from plugbay_scheduled_query.repository.sources import SourceRepository
from plugbay_scheduled_query.settings import Settings
from plugbay_scheduled_query.tables import queries

GIVEN = {"name": "Orders", "query": "SELECT 1", "cron_schedule": "@daily", "data_source": "shop"}


@pytest.fixture
def settings():
    return Settings()


@pytest.fixture
def sources(store, clock):
    found = SourceRepository(store, Secrets([Fernet.generate_key()]), clock)
    found.add(Source("shop", "sqlite:////shop.db"), "sqlite")
    return found


@pytest.fixture
def told(events):
    found = []
    for name in ("saved", "deleted", "rejected"):
        events.on(f"scheduled_query.{name}", found.append)
    return found


@pytest.fixture
def events():
    return EventBus()


@pytest.fixture
def cancelled():
    return []


@pytest.fixture
def capacities(definitions, sources, settings, clock):
    return Capacities(definitions, sources, lambda: settings, clock)


@pytest.fixture
def editing(definitions, sources, settings, events, capacities, cancelled):
    return QueryEditing(
        definitions,
        sources,
        lambda: settings,
        events,
        capacities,
        lambda query_id, by: cancelled.append((query_id, by)),
    )


@pytest.fixture
def query(editing):
    return saved(editing.create(GIVEN, "ada")).query


def saved(outcome):
    assert isinstance(outcome, Saved), outcome
    return outcome


def errors(outcome):
    assert isinstance(outcome, Refused), outcome
    return outcome.errors


# create


def test_a_definition_is_stored_with_its_author(editing, definitions, told):
    made = saved(editing.create(GIVEN, "ada"))
    assert definitions.get(made.query.id) == made.query
    assert (made.query.created_by, made.query.updated_by, made.query.version) == ("ada", "ada", 1)
    [event] = told
    assert (event.name, event.data["name"], event.data["by"]) == ("scheduled_query.saved", "Orders", "ada")


def test_a_bad_definition_is_refused_by_field_and_nobody_is_told(editing, definitions, told):
    found = errors(editing.create({"name": "", "cron_schedule": "sometimes"}, "ada"))
    assert found.keys() == {"name", "query", "cron_schedule"}
    assert (list(definitions.all()), told) == ([], [])


def test_without_a_source_the_only_one_is_taken_then_the_settings_then_none(editing, sources, settings):
    bare = {name: value for name, value in GIVEN.items() if name != "data_source"}
    assert saved(editing.create(bare, "ada")).query.data_source == "shop"
    sources.add(Source("lake", "duckdb:////lake.duckdb"), "duckdb")
    assert "lake, shop" in errors(editing.create(bare, "ada"))["data_source"]
    settings.default_data_source = "lake"
    assert saved(editing.create(bare, "ada")).query.data_source == "lake"


def test_sql_is_judged_in_the_words_of_its_source(editing, sources):
    sources.add(Source("pg", "postgresql://h/d"), "postgresql")
    only_postgresql = {**GIVEN, "query": "SELECT DISTINCT ON (a) a FROM generate_series(1, 3) AS t(a)"}
    assert saved(editing.create({**only_postgresql, "data_source": "pg"}, "ada"))


def test_a_rejection_is_logged_told_and_shown(editing, told, caplog):
    with caplog.at_level(logging.WARNING):
        found = errors(editing.create({**GIVEN, "query": "SELECT 1 /* truncate */"}, "ada"))
    assert "truncate" in found["query"]
    assert "rejected query=Orders rule=keyword keyword=truncate" in caplog.text
    [event] = told
    assert (event.name, event.data["rule"], event.data["name"]) == (
        "scheduled_query.rejected",
        "keyword",
        "Orders",
    )


def test_other_forbidden_words_are_those_of_the_setting(editing, settings):
    settings.forbidden_keywords = " secret , ,, "
    assert errors(editing.create({**GIVEN, "query": "SELECT Secret FROM t"}, "ada")).keys() == {"query"}
    assert saved(editing.create({**GIVEN, "query": "SELECT 'drop'"}, "ada"))


def test_a_series_belongs_to_one_query(editing):
    gauge = {"metric_name": "orders", "labels": {"a": "b"}}
    saved(editing.create({**GIVEN, "monitor_metric_config": gauge}, "ada"))
    found = errors(editing.create({**GIVEN, "monitor_metric_config": gauge}, "ada"))
    assert "“Orders” already publishes" in found["monitor_metric_config"]
    other = {**gauge, "labels": {"a": "c"}}
    assert saved(editing.create({**GIVEN, "monitor_metric_config": other}, "ada"))


def test_who_comes_second_to_a_series_by_a_hair_is_refused_too(editing, definitions, monkeypatch):
    gauge = {"metric_name": "orders", "labels": {}}
    saved(editing.create({**GIVEN, "monitor_metric_config": gauge}, "ada"))
    monkeypatch.setattr(Definitions, "metric_clash", lambda *args, **kwargs: None)  # as it was a moment ago
    found = errors(editing.create({**GIVEN, "monitor_metric_config": gauge}, "ada"))
    assert found.keys() == {"monitor_metric_config"}
    assert len(list(definitions.all())) == 1


def test_a_source_that_is_deleted_meanwhile_is_told_at_its_field(editing, sources, monkeypatch):
    found = sources.all()
    monkeypatch.setattr(SourceRepository, "all", lambda self: found)  # as they were a moment ago
    sources.delete(found[0].id)
    assert errors(editing.create(GIVEN, "ada")).keys() == {"data_source"}


# capacity


def test_a_source_that_cannot_keep_up_is_told_at_save(editing):
    every_minute = {**GIVEN, "cron_schedule": "* * * * *"}
    assert editing.warnings(saved(editing.create(every_minute, "ada"))) == []
    assert editing.warnings(saved(editing.create(every_minute, "ada"))) == []
    [warning] = editing.warnings(saved(editing.create(every_minute, "ada")))
    assert "“shop” cannot keep up" in warning
    assert editing.warnings(saved(editing.create({**every_minute, "enabled": False}, "ada"))) == []


def test_an_edit_that_does_not_touch_the_schedule_warns_of_nothing(editing):
    last = [saved(editing.create({**GIVEN, "cron_schedule": "* * * * *"}, "ada")) for _ in range(3)][-1]
    assert editing.warnings(last)
    renamed = saved(editing.edit(last.query.id, {"name": "Other"}, "ada"))
    assert editing.warnings(renamed) == []
    slower = saved(editing.edit(last.query.id, {"cron_schedule": "*/2 * * * *"}, "ada"))
    assert editing.warnings(slower)


def test_the_capacity_of_every_source(editing, capacities, sources):
    sources.add(Source("lake", "duckdb:////lake.duckdb"), "duckdb")
    saved(editing.create({**GIVEN, "cron_schedule": "*/2 * * * *"}, "ada"))
    found = capacities.measured()
    assert found["shop"].fill == pytest.approx(30 / 120)
    assert found["lake"].needed == 0


def test_pages_remember_capacities_until_something_that_counts_changes(
    editing, capacities, sources, settings, clock, monkeypatch
):
    made = saved(editing.create({**GIVEN, "cron_schedule": "*/2 * * * *"}, "ada")).query
    seen = [capacities.by_source()]
    assert capacities.by_source() is seen[-1]

    def is_new() -> bool:
        seen.append(capacities.by_source())
        return seen[-1] is not seen[-2]

    saved(editing.toggle(made.id, "ada"))
    assert is_new()
    editing.delete(made.id, "ada")
    assert is_new()
    sources.add(Source("lake", "duckdb:////lake.duckdb"), "duckdb")
    assert is_new()
    monkeypatch.setattr(settings, "interval", 60)
    assert is_new()
    monkeypatch.setattr(settings, "timezone", "Asia/Kolkata")
    assert is_new()
    assert not is_new()
    clock.advance(FRESH_S)  # what other processes did
    assert is_new()


# edit


def test_an_edit_changes_what_is_sent(editing, query, told):
    changed = saved(editing.edit(query.id, {"name": "Sales", "tags": "a, b"}, "bob"))
    assert (changed.query.name, changed.query.tags, changed.changed) == (
        "Sales",
        ("a", "b"),
        ("name", "tags"),
    )
    assert (changed.query.version, changed.query.created_by, changed.query.updated_by) == (2, "ada", "bob")
    assert told[-1].data["changed"] == ("name", "tags")


def test_an_edit_that_changes_nothing_is_no_edit(editing, told, query):
    again = saved(editing.edit(query.id, {"name": "Orders", "colour": "red"}, "bob"))
    assert (again.query.version, again.changed, len(told)) == (1, (), 1)


def test_an_older_version_is_refused_and_the_newest_is_shown(editing, query):
    saved(editing.edit(query.id, {"name": "Sales"}, "bob", version=1))
    with pytest.raises(VersionConflict, match="bob saved this query meanwhile") as conflict:
        editing.edit(query.id, {"name": "Late"}, "ada", version=1)
    assert conflict.value.current.name == "Sales"


def test_an_edit_without_a_version_is_made_of_the_newest(editing, query, definitions, monkeypatch):
    update = Definitions.update
    interruptions = iter(["one", "two"])

    def interrupted(self, query_id, draft, source_id, by, timezone, version):
        if word := next(interruptions, None):
            monkeypatch.setattr(Definitions, "update", update)
            saved(editing.edit(query.id, {"description": word}, "bob"))
            monkeypatch.setattr(Definitions, "update", interrupted)
        return update(self, query_id, draft, source_id, by, timezone, version)

    monkeypatch.setattr(Definitions, "update", interrupted)
    changed = saved(editing.edit(query.id, {"name": "Sales"}, "ada"))
    assert (changed.query.name, changed.query.description, changed.query.version) == ("Sales", "two", 4)


def test_a_query_keeps_its_own_series(editing):
    gauge = {"metric_name": "orders", "labels": {}}
    query = saved(editing.create({**GIVEN, "monitor_metric_config": gauge}, "ada")).query
    again = {"monitor_metric_config": {"metric_name": "orders", "labels": {}}, "name": "Sales"}
    assert saved(editing.edit(query.id, again, "ada")).changed == ("name",)


def test_what_was_allowed_once_may_be_sent_back(editing, query, settings):
    saved(editing.edit(query.id, {"timeout": 250}, "ada"))
    settings.query_timeout_max = 100
    assert saved(editing.edit(query.id, {"timeout": 250, "name": "Sales"}, "ada")).changed == ("name",)
    assert errors(editing.edit(query.id, {"timeout": 251}, "ada")).keys() == {"timeout"}


def test_sql_that_became_forbidden_is_not_saved_again_but_its_query_can_be_renamed(editing, query, settings):
    settings.forbidden_keywords = "select"
    assert errors(editing.edit(query.id, {"query": "SELECT 1"}, "ada")).keys() == {"query"}
    assert saved(editing.edit(query.id, {"name": "Sales"}, "ada"))


@pytest.mark.parametrize("verb", ["edit", "toggle", "duplicate", "delete"])
def test_nothing_can_be_done_to_an_unknown_query(editing, verb):
    arguments = [{}] if verb == "edit" else []
    with pytest.raises(UnknownQuery):
        getattr(editing, verb)(99, *arguments, "ada")


# toggle, duplicate, delete


def test_toggle_switches_off_and_on(editing, query):
    off = saved(editing.toggle(query.id, "ada")).query
    assert (off.enabled, off.next_run_at) == (False, None)
    on = saved(editing.toggle(query.id, "ada")).query
    assert (on.enabled, on.next_run_at) == (True, query.next_run_at)


def test_a_copy_rests_and_publishes_nothing(editing):
    gauge = {"metric_name": "orders", "labels": {}}
    original = {**GIVEN, "monitor_metric_config": gauge, "tags": ["a"], "timeout": 9}
    query = saved(editing.create(original, "ada")).query
    copy = saved(editing.duplicate(query.id, "bob")).query
    assert (copy.name, copy.enabled, copy.monitor_metric_config) == ("Orders (copy)", False, None)
    assert (copy.query, copy.tags, copy.timeout, copy.created_by) == (query.query, ("a",), 9, "bob")


def test_the_copy_of_the_longest_name_fits(editing):
    query = saved(editing.create({**GIVEN, "name": "x" * 200}, "ada")).query
    assert saved(editing.duplicate(query.id, "ada")).query.name == "x" * 193 + " (copy)"


def test_a_deleted_query_is_gone_and_told(editing, query, definitions, told, cancelled):
    editing.delete(query.id, "bob")
    assert definitions.get(query.id) is None
    assert told[-1].data == {"query_id": query.id, "name": "Orders", "by": "bob"}
    assert cancelled == []


def test_deleting_a_query_that_runs_stops_it(editing, query, claims, cancelled):
    claims.start_now(query.id, "ada")
    editing.delete(query.id, "bob")
    assert cancelled == [(query.id, "bob")]


def test_many_are_edited_in_one_transaction_and_one_that_cannot_start_is_refused_alone(
    editing, definitions, store, told
):
    first, second, lost = (saved(editing.create(GIVEN | {"enabled": False}, "ada")).query for _ in range(3))
    with store.begin() as connection:  # a zone that this machine no longer knows
        connection.execute(sa.update(queries).where(queries.c.id == lost.id).values(timezone="Moon/Base"))
    del told[:]
    many = editing.edit_many([first.id, second.id, lost.id], lambda query: {"enabled": True}, "bo")
    assert [query.id for query in many.done] == [first.id, second.id]
    assert list(many.refused) == [lost.id]
    assert "Moon/Base" in many.refused[lost.id]
    assert [event.data["query_id"] for event in told] == [first.id, second.id]
    tagged = editing.edit_many([lost.id], lambda query: {"tags": ["lost"]}, "bo")
    assert tagged.refused == {}


def test_many_are_edited_as_somebody_else_left_them_a_moment_ago(editing, definitions, query):
    def change(current):
        if current.version == 1:  # while ours is being made, another edit comes first
            editing.edit(query.id, {"description": "theirs"}, "bo")
        return {"tags": ["ours"]}

    assert editing.edit_many([query.id], change, "ada").refused == {}
    kept = definitions.get(query.id)
    assert (kept.description, kept.tags, kept.version) == ("theirs", ("ours",), 3)


def test_who_is_always_slower_is_told_to_try_again(editing, query):
    def change(current):
        editing.edit(query.id, {"description": f"version {current.version}"}, "bo")
        return {"tags": ["ours"]}

    assert editing.edit_many([query.id], change, "ada").refused == {query.id: BUSY}


def test_many_are_deleted_with_those_that_run_cancelled(editing, query, told):
    del told[:]
    many = editing.delete_many([query.id, 99], "bo")
    assert [one.id for one in many.done] == [query.id]
    assert many.refused == {99: "there is no such query"}
    assert [event.name for event in told] == ["scheduled_query.deleted"]
