"""Deleted queries leave nothing behind, in small steps, and not before everybody heard of it."""

from datetime import timedelta
from itertools import cycle, islice

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.repository import pruning
from plugbay_scheduled_query.repository import pruning as housekeeping
from plugbay_scheduled_query.repository.history import HistoryFilter
from plugbay_scheduled_query.repository.pruning import Housekeeping, Keeping


@pytest.fixture
def keeping_house(store, clock) -> Housekeeping:
    return Housekeeping(store, clock)


@pytest.fixture
def ran(claims, recording, finished, clock, add_query):
    """A query with so many executions."""

    def make(times: int, name: str = "Orders", statuses: tuple[str, ...] = ("success",)):
        query = add_query(name)
        for status in islice(cycle(statuses), times):
            claimed, _ = claims.start_now(query.id, "ada")
            recording.record([finished(claimed, status)], clock.now(), Keeping())
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
    monkeypatch.setattr(housekeeping, "PURGE_STEP", 2)
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


def test_what_is_too_old_goes_although_its_query_runs_no_more(keeping_house, ran, store, histories, clock):
    query, young = ran(3), ran(1, "young")
    clock.advance(2 * 86_400)
    ran_again = ran(2, "again")
    with store.begin() as connection:
        recent = tables.history.c.query_id == young.id
        connection.execute(sa.update(tables.history).where(recent).values(executed_at=clock.now()))
        again = tables.history.c.query_id == ran_again.id
        connection.execute(sa.update(tables.history).where(again).values(executed_at=clock.now()))
    assert not keeping_house.prune_step(Keeping())
    assert keeping_house.prune_step(Keeping(history_days=1))
    assert not keeping_house.prune_step(Keeping(history_days=1))
    assert histories.page(query.id, HistoryFilter(), 1, 50) == ([], 0)
    assert histories.page(query.id, HistoryFilter("success"), 1, 50) == ([], 0)
    assert histories.page(ran_again.id, HistoryFilter(), 1, 50)[1] == 2
    assert rows(store)["query_results"] == 4, "the result that is shown stays"


def test_a_time_that_a_wrong_clock_left_out_of_reach_keeps_no_other_history(
    keeping_house, ran, store, histories, clock, monkeypatch
):
    monkeypatch.setattr(pruning, "PRUNE_STEP", 2)
    odd, query = ran(4, "odd"), ran(1)
    clock.advance(2 * 86_400)
    with store.begin() as connection:
        of_odd = sa.update(tables.history).where(tables.history.c.query_id == odd.id)
        connection.execute(of_odd.values(executed_at=clock.now()))
        last = of_odd.where(tables.history.c.number == 4)
        connection.execute(last.values(executed_at=clock.now() - timedelta(days=9)))
    assert keeping_house.prune_step(Keeping(history_days=1))
    assert not keeping_house.prune_step(Keeping(history_days=1))
    assert histories.page(query.id, HistoryFilter(), 1, 50)[1] == 0
    assert histories.page(odd.id, HistoryFilter(), 1, 50)[1] == 4


@pytest.mark.parametrize(("limit", "steps", "kept"), [(-1, 0, 5), (9, 0, 5), (5, 0, 5), (2, 2, 2), (0, 3, 0)])
def test_what_is_too_much_goes_in_steps_although_its_query_runs_no_more(
    keeping_house, ran, histories, definitions, monkeypatch, limit: int, steps: int, kept: int
):
    monkeypatch.setattr(pruning, "PRUNE_STEP", 2)
    query = ran(5, statuses=("success", "failed", "timeout"))
    taken = 0
    while keeping_house.prune_step(Keeping(limit_history=limit)):
        taken += 1
    assert taken == steps
    items, total = histories.page(query.id, HistoryFilter(), 1, 50)
    assert len(items) == total == kept
    for status in ("success", "failed", "timeout"):
        found, of_status = histories.page(query.id, HistoryFilter(status), 1, 50)
        assert len(found) == of_status == sum(item.status == status for item in items)
    assert definitions.get(query.id, with_result=True).last_result == "[[1]]"


def test_what_is_too_much_of_a_deleted_query_is_left_to_its_purge(keeping_house, ran, definitions, histories):
    query, other = ran(3), ran(3, "other")
    definitions.delete(query.id)
    assert keeping_house.purge_step()
    assert keeping_house.prune_step(Keeping(limit_history=1))
    assert histories.page(other.id, HistoryFilter(), 1, 50)[1] == 1
    assert not keeping_house.prune_step(Keeping(limit_history=1))


def test_the_old_and_the_too_many_go_one_after_the_other(keeping_house, ran, histories, clock, store):
    old = ran(3, "old")
    clock.advance(2 * 86_400)
    many = ran(3, "many")
    with store.begin() as connection:
        of_many = sa.update(tables.history).where(tables.history.c.query_id == many.id)
        connection.execute(of_many.values(executed_at=clock.now()))
    keeping = Keeping(limit_history=1, history_days=1)
    assert keeping_house.prune_step(keeping)
    assert keeping_house.prune_step(keeping)
    assert not keeping_house.prune_step(keeping)
    assert histories.page(old.id, HistoryFilter(), 1, 50)[1] == 0
    assert histories.page(many.id, HistoryFilter(), 1, 50)[1] == 1
