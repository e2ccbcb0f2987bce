"""Series on real stores: replaced as one, written in parts, the same on every node and after a restart."""

import json
import random
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import postgres
import pytest
import sqlalchemy as sa
from plugbay import UTCDateTime
from plugbay.store import open_store
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.core.draft import draft_of
from plugbay_scheduled_query.core.model import MetricConfig, OnFailure, Outcome, Query, Status
from plugbay_scheduled_query.metrics.gauges import GaugeKeeper
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.gauges import StoredGauges
from plugbay_scheduled_query.repository.metric_names import SeriesTaken
from plugbay_scheduled_query.repository.pruning import Housekeeping, Keeping
from plugbay_scheduled_query.repository.recording import Recording
from plugbay_scheduled_query.runs.executing import with_value

ORDERS = MetricConfig("orders", {"shop": "a"}, ("country",))
THOUSAND = {f"country {n}": n for n in range(1000)}


@pytest.fixture
def keeper(store, clock) -> GaugeKeeper:
    return GaugeKeeper(StoredGauges(store, "node-1"), clock)


@pytest.fixture
def run(store, claims, clock) -> Callable[..., Any]:
    """Runs a query on a node, with these rows as its result, or with a failure."""
    nodes = {name: Recording(store, name) for name in ("node-1", "node-2")}

    def once(query: Query, rows: dict[str, float] | None, node: str = "node-2", columns=("country", "n")):
        claimed, _ = claims.start_now(query.id, "ada")
        outcome = Outcome(Status.FAILED, error="it broke", executed_at=clock.now())
        if rows is not None:
            text = json.dumps(list(rows.items()))
            outcome = Outcome(Status.SUCCESS, columns, text, len(rows), executed_at=clock.now())
        clock.advance(1)
        sampled = with_value(outcome, claimed, 100_000)
        (execution,) = nodes[node].record([(claimed, sampled)], clock.now(), Keeping())
        return execution

    return once


@pytest.fixture
def edit(definitions, source_id):
    def change(query: Query, **fields: Any) -> Query:
        draft = replace(draft_of(definitions.get(query.id)), **fields)
        return definitions.update(query.id, draft, source_id, "ada", "UTC", None)

    return change


def shown(keeper: GaugeKeeper, name: str = "orders") -> list[str]:
    return [line for line in keeper.text().decode().splitlines() if line.startswith(name + "{")]


def line(country: str, value: float, name: str = "orders") -> str:
    return f'{name}{{shop="a",country="{country}"}} {float(value)}'


def parts(store) -> set[str]:
    with store.connect() as connection:
        return set(connection.scalars(sa.select(tables.series.c.digest)))


def test_the_series_of_a_success_take_the_place_of_those_before(keeper, run, add_query):
    query = add_query(metrics=(ORDERS,))
    run(query, {"de": 7, "fr": 5})
    assert shown(keeper) == [line("de", 7), line("fr", 5)]
    run(query, {"de": 7, "es": 1})
    assert shown(keeper) == [line("de", 7), line("es", 1)]
    run(query, {})
    assert shown(keeper) == []


def test_what_another_node_recorded_is_the_next_scrape(store, keeper, run, add_query, clock):
    query = add_query(metrics=(ORDERS,))
    other = GaugeKeeper(StoredGauges(store, "node-2"), clock)
    keeper.text(), other.text()
    for rows in ({"de": 7, "fr": 5}, {"de": 8}):
        keeper.feed(run(query, rows, "node-1").feed)
        assert shown(keeper) == shown(other) == [line(*row) for row in rows.items()]
        other.feed(run(query, {"es": 1}, "node-2").feed)
        assert shown(keeper) == shown(other) == [line("es", 1)]


def test_they_survive_a_restart(store, run, add_query, clock):
    query = add_query(metrics=(ORDERS, MetricConfig("plain")))
    run(query, THOUSAND)
    started = GaugeKeeper(StoredGauges(store, "node-3"), clock)
    assert sorted(shown(started)) == sorted(line(*row) for row in THOUSAND.items())
    assert b"\nplain 0.0\n" in started.text()
    assert b'plugbay_query_samples{query_id="1",name="Orders"} 1001.0\n' in started.text()


def test_a_few_changed_values_write_a_few_parts(store, run, add_query):
    query = add_query(metrics=(ORDERS,))
    run(query, THOUSAND)
    before = parts(store)
    assert len(before) > 10
    run(query, THOUSAND | {"country 3": -1, "country 500": -1, "country 998": -1})
    assert 0 < len(parts(store) - before) <= 3
    before = parts(store)
    rows = list((THOUSAND | {"country 3": -1, "country 500": -1, "country 998": -1}).items())
    random.Random(7).shuffle(rows)
    run(query, dict(rows))
    assert parts(store) == before


def test_a_failure_keeps_or_drops_and_a_missing_column_leaves_what_is_there(keeper, run, add_query):
    dropped = replace(ORDERS, metric_name="dropped", on_failure=OnFailure.DROP)
    query = add_query(metrics=(ORDERS, dropped))
    run(query, {"de": 7})
    run(query, None)
    assert (shown(keeper), shown(keeper, "dropped")) == ([line("de", 7)], [])
    run(query, {"fr": 5}, columns=("land", "n"))
    assert (shown(keeper), shown(keeper, "dropped")) == ([line("de", 7)], [])
    run(query, {"fr": 5})
    assert (shown(keeper), shown(keeper, "dropped")) == ([line("fr", 5)], [line("fr", 5, "dropped")])


def test_an_edit_takes_the_series_of_what_changed_and_a_late_result_does_not_bring_them_back(
    store, keeper, run, add_query, edit, claims, clock
):
    query = add_query(metrics=(ORDERS, replace(ORDERS, metric_name="stays")))
    run(query, {"de": 7})
    claimed, _ = claims.start_now(query.id, "ada")
    edit(
        query, metrics=(replace(ORDERS, metric_name="sales"), replace(ORDERS, metric_name="stays", help="x"))
    )
    assert [shown(keeper, name) for name in ("orders", "sales")] == [[], []]
    assert shown(keeper, "stays") == [line("de", 7, "stays")]
    outcome = Outcome(Status.SUCCESS, ("country", "n"), '[["fr", 5]]', 1, executed_at=clock.now())
    Recording(store).record([(claimed, with_value(outcome, claimed, 10))], clock.now(), Keeping())
    assert [shown(keeper, name) for name in ("orders", "sales")] == [[], []]
    assert shown(keeper, "stays") == [line("fr", 5, "stays")]


def test_a_deleted_query_leaves_nothing_behind(store, keeper, run, add_query, definitions, clock):
    query = add_query(metrics=(ORDERS,))
    run(query, THOUSAND)
    claimed = run(query, THOUSAND)
    definitions.delete(query.id)
    assert keeper.text() == b""
    keeper.feed(claimed.feed)
    assert keeper.text() == b""
    clock.advance(7200)
    while Housekeeping(store, clock).purge_step():
        pass
    with store.connect() as connection:
        for table in (tables.series, tables.metric_names):
            assert connection.scalar(sa.select(sa.func.count()).select_from(table)) == 0


def test_a_result_that_comes_after_its_query_was_deleted_writes_no_series(
    store, claims, add_query, definitions, clock
):
    query = add_query(metrics=(ORDERS,))
    claimed, _ = claims.start_now(query.id, "ada")
    definitions.delete(query.id)
    outcome = Outcome(Status.SUCCESS, ("country", "n"), '[["fr", 5]]', 1, executed_at=clock.now())
    Recording(store).record([(claimed, with_value(outcome, claimed, 10))], clock.now(), Keeping())
    assert parts(store) == set()


def test_ten_thousand_series_of_one_query_are_ten_thousand_lines(keeper, run, add_query):
    query = add_query(metrics=(ORDERS,))
    run(query, {f"c{n}": n for n in range(10_000)})
    assert len(shown(keeper)) == 10_000


@pytest.mark.parametrize("labels", [{"shop": "a"}, {"region": "eu"}, {}])
def test_who_comes_second_by_a_hair_is_refused_whatever_the_labels(add_query, edit, labels):
    add_query(metrics=(ORDERS,))
    other = add_query("Other")
    with pytest.raises(SeriesTaken, match="already publishes"):
        edit(other, metrics=(MetricConfig("free"), MetricConfig("orders", labels)))
    edit(other, metrics=(MetricConfig("free"), MetricConfig("orders", {"shop": "b"})))


def test_the_names_of_a_query_are_free_when_it_lets_go_of_them(add_query, edit, definitions):
    first = add_query(metrics=(ORDERS,))
    edit(first, metrics=())
    second = add_query("second", metrics=(ORDERS,))
    definitions.delete(second.id)
    assert add_query("third", metrics=(ORDERS,)).metrics == (ORDERS,)


NOW = sa.bindparam("now", type_=UTCDateTime)
MIGRATIONS = Path(tables.__file__).parent / "migrations"


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_metrics_of_before_go_on_unchanged(request, tmp_path, database, clock):
    url = "" if database == "sqlite" else request.getfixturevalue("bare_postgres_url")
    before = tmp_path / "before"
    shutil.copytree(MIGRATIONS, before)
    for script in (before / "versions").glob("0*.py"):
        if script.name >= "0003":
            script.unlink()
    with closing(open_store(url, tmp_path / "data")) as store:
        store.migrate("scheduled_query", before)
        with store.begin() as connection:
            for statement in OLD_ROWS:
                connection.execute(sa.text(statement).bindparams(NOW), {"now": clock.now()})
        store.migrate("scheduled_query", MIGRATIONS)
        keeper = GaugeKeeper(StoredGauges(store), clock)
        assert b'\norders{shop="a"} 7.5\n' in keeper.text()
        found = Definitions(store, clock)
        assert found.get(1).metrics == (MetricConfig("orders", {"shop": "a"}),)
        assert found.get(2).metrics == ()
        assert "“Old” already publishes" in found.metric_clash(MetricConfig("orders"))
        assert found.metric_clash(MetricConfig("orders", {"shop": "b"})) is None


@pytest.fixture
def bare_postgres_url(postgres_server):
    with postgres.database(postgres_server) as url:
        yield url


_QUERY = """INSERT INTO scheduled_queries
    (id, name, query, cron_schedule, enabled, render_type, metric_config, series_key, source_id, search_text,
     created_at, updated_at)
    VALUES (%s, '%s', 'SELECT 1', '@daily', true, 'auto', %s, %s, 1, '', :now, :now)"""
_CONFIG = """'{"metric_name": "orders", "labels": {"shop"\\: "a"}}'"""
OLD_ROWS = (
    """INSERT INTO scheduled_query_sources (id, name, dialect, secret_url, origin, created_at, updated_at)
       VALUES (1, 'shop', 'sqlite', 'x', 'admin', :now, :now)""",
    _QUERY % (1, "Old", _CONFIG, "'key'"),
    _QUERY % (2, "Plain", "NULL", "NULL"),
    *[
        f"""INSERT INTO scheduled_query_states
            (query_id, last_status, last_success_at, metric_value, changed_at)
            VALUES ({query_id}, 'success', :now, {value}, :now)"""
        for query_id, value in ((1, 7.5), (2, "NULL"))
    ],
)
