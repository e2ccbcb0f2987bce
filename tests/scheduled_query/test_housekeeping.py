"""Deleted queries leave nothing behind, in small steps, and not before everybody heard of it."""

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.repository import housekeeping
from plugbay_scheduled_query.repository.housekeeping import Housekeeping
from plugbay_scheduled_query.repository.recording import Keeping


@pytest.fixture
def keeping_house(store, clock) -> Housekeeping:
    return Housekeeping(store, clock)


@pytest.fixture
def ran(claims, recording, finished, clock, add_query):
    """A query with so many executions."""

    def make(times: int, name: str = "Orders"):
        query = add_query(name)
        for _ in range(times):
            claimed, _ = claims.start_now(query.id, "ada")
            recording.record([finished(claimed)], clock.now(), Keeping())
        return query

    return make


def rows(store) -> dict[str, int]:
    counted = (tables.history, tables.results, tables.states, tables.queries)
    with store.connect() as connection:
        return {
            table.name.removeprefix("scheduled_"): connection.scalar(
                sa.select(sa.func.count()).select_from(table)
            )
            for table in counted
        }


def test_there_is_nothing_to_do_while_nothing_is_deleted(keeping_house, ran, store):
    ran(2)
    assert not keeping_house.purge_step()
    assert rows(store)["query_history"] == 2


def test_history_goes_in_steps_and_the_query_itself_an_hour_later(
    keeping_house, ran, store, definitions, clock, monkeypatch
):
    monkeypatch.setattr(housekeeping, "STEP", 2)
    query, other = ran(5), ran(1, "other")
    definitions.delete(query.id)
    steps = 0
    while keeping_house.purge_step():
        steps += 1
    assert steps == 3
    assert rows(store) == {"query_history": 1, "query_results": 1, "query_states": 2, "queries": 2}
    clock.advance(3601)
    assert keeping_house.purge_step()
    assert not keeping_house.purge_step()
    assert rows(store) == {"query_history": 1, "query_results": 1, "query_states": 1, "queries": 1}
    assert definitions.get(other.id)


def test_what_still_runs_is_left_alone(keeping_house, ran, claims, definitions, clock):
    query = ran(1)
    claims.start_now(query.id, "ada")
    definitions.delete(query.id)
    clock.advance(7200)
    assert not keeping_house.purge_step()
