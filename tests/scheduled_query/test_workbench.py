"""The workbench: what form, API and command line share."""

import logging

import pytest
from cryptography.fernet import Fernet
from plugbay import EventBus, Secrets
from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.metric import series_of
from plugbay_scheduled_query.core.model import MetricConfig
from plugbay_scheduled_query.core.source import Source
from plugbay_scheduled_query.queries.editing import Saved, UnknownQuery, Workbench
from plugbay_scheduled_query.repository.definitions import Definitions, VersionConflict
from plugbay_scheduled_query.repository.sources import SourceRepository
from plugbay_scheduled_query.settings import Settings

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
def workbench(definitions, sources, settings, events, clock, cancelled):
    return Workbench(
        definitions,
        sources,
        lambda: settings,
        events,
        clock,
        lambda query_id, by: cancelled.append((query_id, by)),
    )


@pytest.fixture
def query(workbench):
    return saved(workbench.create(GIVEN, "ada")).query


def saved(outcome):
    assert isinstance(outcome, Saved), outcome
    return outcome


def errors(outcome):
    assert isinstance(outcome, Refused), outcome
    return outcome.errors


# create


def test_a_definition_is_stored_with_its_author(workbench, definitions, told):
    made = saved(workbench.create(GIVEN, "ada"))
    assert definitions.get(made.query.id) == made.query
    assert (made.query.created_by, made.query.updated_by, made.query.version) == ("ada", "ada", 1)
    [event] = told
    assert (event.name, event.data["name"], event.data["by"]) == ("scheduled_query.saved", "Orders", "ada")


def test_a_bad_definition_is_refused_by_field_and_nobody_is_told(workbench, definitions, told):
    found = errors(workbench.create({"name": "", "cron_schedule": "sometimes"}, "ada"))
    assert found.keys() == {"name", "query", "cron_schedule"}
    assert (list(definitions.all()), told) == ([], [])


def test_without_a_source_the_only_one_is_taken_then_the_settings_then_none(workbench, sources, settings):
    bare = {name: value for name, value in GIVEN.items() if name != "data_source"}
    assert saved(workbench.create(bare, "ada")).query.data_source == "shop"
    sources.add(Source("lake", "duckdb:////lake.duckdb"), "duckdb")
    assert "lake, shop" in errors(workbench.create(bare, "ada"))["data_source"]
    settings.default_data_source = "lake"
    assert saved(workbench.create(bare, "ada")).query.data_source == "lake"


def test_sql_is_judged_in_the_words_of_its_source(workbench, sources):
    sources.add(Source("pg", "postgresql://h/d"), "postgresql")
    only_postgresql = {**GIVEN, "query": "SELECT DISTINCT ON (a) a FROM generate_series(1, 3) AS t(a)"}
    assert saved(workbench.create({**only_postgresql, "data_source": "pg"}, "ada"))


def test_a_rejection_is_logged_told_and_shown(workbench, told, caplog):
    with caplog.at_level(logging.WARNING):
        found = errors(workbench.create({**GIVEN, "query": "SELECT 1 /* truncate */"}, "ada"))
    assert "truncate" in found["query"]
    assert "rejected query=Orders rule=keyword keyword=truncate" in caplog.text
    [event] = told
    assert (event.name, event.data["rule"], event.data["name"]) == (
        "scheduled_query.rejected",
        "keyword",
        "Orders",
    )


def test_other_forbidden_words_are_those_of_the_setting(workbench, settings):
    settings.forbidden_keywords = " secret , ,, "
    assert errors(workbench.create({**GIVEN, "query": "SELECT Secret FROM t"}, "ada")).keys() == {"query"}
    assert saved(workbench.create({**GIVEN, "query": "SELECT 'drop'"}, "ada"))


def test_a_series_belongs_to_one_query(workbench):
    gauge = {"metric_name": "orders", "labels": {"a": "b"}}
    saved(workbench.create({**GIVEN, "monitor_metric_config": gauge}, "ada"))
    found = errors(workbench.create({**GIVEN, "monitor_metric_config": gauge}, "ada"))
    assert "“Orders” already publishes" in found["monitor_metric_config"]
    other = {**gauge, "labels": {"a": "c"}}
    assert saved(workbench.create({**GIVEN, "monitor_metric_config": other}, "ada"))


def test_who_comes_second_to_a_series_by_a_hair_is_refused_too(workbench, definitions, monkeypatch):
    gauge = {"metric_name": "orders", "labels": {}}
    saved(workbench.create({**GIVEN, "monitor_metric_config": gauge}, "ada"))
    monkeypatch.setattr(Definitions, "series_owner", lambda *args, **kwargs: None)  # as it was a moment ago
    found = errors(workbench.create({**GIVEN, "monitor_metric_config": gauge}, "ada"))
    assert found.keys() == {"monitor_metric_config"}
    assert definitions.series_owner(series_of(MetricConfig("orders"))) is None


def test_a_source_that_is_deleted_meanwhile_is_told_at_its_field(workbench, sources, monkeypatch):
    found = sources.all()
    monkeypatch.setattr(SourceRepository, "all", lambda self: found)  # as they were a moment ago
    sources.delete(found[0].id)
    assert errors(workbench.create(GIVEN, "ada")).keys() == {"data_source"}


# capacity


def test_a_source_that_cannot_keep_up_is_told_at_save(workbench):
    every_minute = {**GIVEN, "cron_schedule": "* * * * *"}
    assert workbench.warnings(saved(workbench.create(every_minute, "ada"))) == []
    assert workbench.warnings(saved(workbench.create(every_minute, "ada"))) == []
    [warning] = workbench.warnings(saved(workbench.create(every_minute, "ada")))
    assert "“shop” cannot keep up" in warning
    assert workbench.warnings(saved(workbench.create({**every_minute, "enabled": False}, "ada"))) == []


def test_an_edit_that_does_not_touch_the_schedule_warns_of_nothing(workbench):
    last = [saved(workbench.create({**GIVEN, "cron_schedule": "* * * * *"}, "ada")) for _ in range(3)][-1]
    assert workbench.warnings(last)
    renamed = saved(workbench.edit(last.query.id, {"name": "Other"}, "ada"))
    assert workbench.warnings(renamed) == []
    slower = saved(workbench.edit(last.query.id, {"cron_schedule": "*/2 * * * *"}, "ada"))
    assert workbench.warnings(slower)


def test_the_capacity_of_every_source(workbench, sources):
    sources.add(Source("lake", "duckdb:////lake.duckdb"), "duckdb")
    saved(workbench.create({**GIVEN, "cron_schedule": "*/2 * * * *"}, "ada"))
    found = workbench.capacity()
    assert found["shop"].fill == pytest.approx(30 / 120)
    assert found["lake"].needed == 0


# edit


def test_an_edit_changes_what_is_sent(workbench, query, told):
    changed = saved(workbench.edit(query.id, {"name": "Sales", "tags": "a, b"}, "bob"))
    assert (changed.query.name, changed.query.tags, changed.changed) == (
        "Sales",
        ("a", "b"),
        ("name", "tags"),
    )
    assert (changed.query.version, changed.query.created_by, changed.query.updated_by) == (2, "ada", "bob")
    assert told[-1].data["changed"] == ("name", "tags")


def test_an_edit_that_changes_nothing_is_no_edit(workbench, told, query):
    again = saved(workbench.edit(query.id, {"name": "Orders", "colour": "red"}, "bob"))
    assert (again.query.version, again.changed, len(told)) == (1, (), 1)


def test_an_older_version_is_refused_and_the_newest_is_shown(workbench, query):
    saved(workbench.edit(query.id, {"name": "Sales"}, "bob", version=1))
    with pytest.raises(VersionConflict, match="bob saved this query meanwhile") as conflict:
        workbench.edit(query.id, {"name": "Late"}, "ada", version=1)
    assert conflict.value.current.name == "Sales"


def test_an_edit_without_a_version_is_made_of_the_newest(workbench, query, definitions, monkeypatch):
    update = Definitions.update
    interruptions = iter(["one", "two"])

    def interrupted(self, query_id, draft, source_id, by, timezone, version):
        if word := next(interruptions, None):
            monkeypatch.setattr(Definitions, "update", update)
            saved(workbench.edit(query.id, {"description": word}, "bob"))
            monkeypatch.setattr(Definitions, "update", interrupted)
        return update(self, query_id, draft, source_id, by, timezone, version)

    monkeypatch.setattr(Definitions, "update", interrupted)
    changed = saved(workbench.edit(query.id, {"name": "Sales"}, "ada"))
    assert (changed.query.name, changed.query.description, changed.query.version) == ("Sales", "two", 4)


def test_a_query_keeps_its_own_series(workbench):
    gauge = {"metric_name": "orders", "labels": {}}
    query = saved(workbench.create({**GIVEN, "monitor_metric_config": gauge}, "ada")).query
    again = {"monitor_metric_config": {"metric_name": "orders", "labels": {}}, "name": "Sales"}
    assert saved(workbench.edit(query.id, again, "ada")).changed == ("name",)


def test_what_was_allowed_once_may_be_sent_back(workbench, query, settings):
    saved(workbench.edit(query.id, {"timeout": 250}, "ada"))
    settings.query_timeout_max = 100
    assert saved(workbench.edit(query.id, {"timeout": 250, "name": "Sales"}, "ada")).changed == ("name",)
    assert errors(workbench.edit(query.id, {"timeout": 251}, "ada")).keys() == {"timeout"}


def test_sql_that_became_forbidden_is_not_saved_again_but_its_query_can_be_renamed(
    workbench, query, settings
):
    settings.forbidden_keywords = "select"
    assert errors(workbench.edit(query.id, {"query": "SELECT 1"}, "ada")).keys() == {"query"}
    assert saved(workbench.edit(query.id, {"name": "Sales"}, "ada"))


@pytest.mark.parametrize("verb", ["edit", "toggle", "duplicate", "delete"])
def test_nothing_can_be_done_to_an_unknown_query(workbench, verb):
    arguments = [{}] if verb == "edit" else []
    with pytest.raises(UnknownQuery):
        getattr(workbench, verb)(99, *arguments, "ada")


# toggle, duplicate, delete


def test_toggle_switches_off_and_on(workbench, query):
    off = saved(workbench.toggle(query.id, "ada")).query
    assert (off.enabled, off.next_run_at) == (False, None)
    on = saved(workbench.toggle(query.id, "ada")).query
    assert (on.enabled, on.next_run_at) == (True, query.next_run_at)


def test_a_copy_rests_and_publishes_nothing(workbench):
    gauge = {"metric_name": "orders", "labels": {}}
    original = {**GIVEN, "monitor_metric_config": gauge, "tags": ["a"], "timeout": 9}
    query = saved(workbench.create(original, "ada")).query
    copy = saved(workbench.duplicate(query.id, "bob")).query
    assert (copy.name, copy.enabled, copy.monitor_metric_config) == ("Orders (copy)", False, None)
    assert (copy.query, copy.tags, copy.timeout, copy.created_by) == (query.query, ("a",), 9, "bob")


def test_the_copy_of_the_longest_name_fits(workbench):
    query = saved(workbench.create({**GIVEN, "name": "x" * 200}, "ada")).query
    assert saved(workbench.duplicate(query.id, "ada")).query.name == "x" * 193 + " (copy)"


def test_a_deleted_query_is_gone_and_told(workbench, query, definitions, told, cancelled):
    workbench.delete(query.id, "bob")
    assert definitions.get(query.id) is None
    assert told[-1].data == {"query_id": query.id, "name": "Orders", "by": "bob"}
    assert cancelled == []


def test_deleting_a_query_that_runs_stops_it(workbench, query, claims, cancelled):
    claims.start_now(query.id, "ada")
    workbench.delete(query.id, "bob")
    assert cancelled == [(query.id, "bob")]
