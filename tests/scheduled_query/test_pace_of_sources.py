"""Each source has its own pace: what waits in one keeps nobody waiting in another."""

from collections import Counter
from datetime import timedelta

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.core.capacity import Pace
from plugbay_scheduled_query.repository.pruning import Keeping
from plugbay_scheduled_query.runs.places import Places, places
from plugbay_scheduled_query.settings import Settings
from service_world import FOREVER, executions, until


def names(runs) -> list[str]:
    return [run.query_name for run in runs]


@pytest.fixture
def set_pace(store):
    def set_to(source: int, **pace: int | None) -> None:
        of_source = tables.data_sources.c.id == source
        with store.begin() as connection:
            connection.execute(sa.update(tables.data_sources).where(of_source).values(pace))

    return set_to


@pytest.fixture
def ended(store, clock):
    """Says that the last run of a source ended so many seconds ago."""

    def end(source: int, seconds_ago: float) -> None:
        at = clock.now() - timedelta(seconds=seconds_ago)
        with store.begin() as connection:
            connection.execute(
                sa.update(tables.lanes).where(tables.lanes.c.source_id == source).values(ended_at=at)
            )

    return end


def test_the_pace_of_the_settings_leaves_a_source_alone_that_has_its_own(
    claims, add_query, add_source, make_due
):
    fast = add_source("fast", pace_s=0)
    make_due(add_query("paced"), 20)
    make_due(add_query("also paced"), 10)
    for n in range(3):
        make_due(add_query(f"fast {n}", source=fast), 5 - n)
    assert names(claims.claim_paced("UTC", 30)) == ["paced"]
    assert names(claims.claim_batch(10, "UTC", {fast: 8}, only_these=True)) == ["fast 0", "fast 1", "fast 2"]
    assert claims.claim_paced("UTC", 30) == []


def test_a_source_may_have_a_pace_where_the_settings_have_none(
    claims, recording, add_query, add_source, make_due, finished, clock
):
    slow = add_source("slow", pace_s=3600)
    make_due(add_query("first", source=slow), 10)
    make_due(add_query("second", source=slow), 5)
    make_due(add_query("free"))
    (first,) = claims.claim_paced("UTC", 0)
    assert first.query_name == "first"
    recording.record([finished(first)], clock.now(), Keeping())
    assert claims.claim_paced("UTC", 0) == []
    assert 3500 < claims.rest_s(0) <= 3600  # PostgreSQL's clock goes on


def test_a_pace_that_changed_counts_at_once(claims, add_query, source_id, make_due, set_pace, ended):
    make_due(add_query())
    ended(source_id, seconds_ago=60)
    set_pace(source_id, pace_s=3600)
    assert claims.claim_paced("UTC", 30) == []
    set_pace(source_id, pace_s=45)
    assert len(claims.claim_paced("UTC", 30)) == 1


def test_the_first_lane_to_have_rested_sets_the_timer(claims, add_query, add_source, make_due, ended):
    for name, pace_s in (("slow", 3600), ("slower", 7200)):
        source = add_source(name, pace_s=pace_s)
        make_due(add_query(name, source=source))
        ended(source, seconds_ago=0)
    assert 3500 < claims.rest_s(0) <= 3600


def test_of_sources_without_a_pace_the_oldest_go_first_and_none_is_left_out(
    claims, add_query, add_source, make_due
):
    one, two = add_source("one", pace_s=0), add_source("two", pace_s=0)
    for n in range(4):
        make_due(add_query(f"one {n}", source=one), 50 - n)
    make_due(add_query("two", source=two), 10)
    make_due(add_query("paced"), 90)
    both = {one: 2, two: 2}
    assert names(claims.claim_batch(3, "UTC", both, only_these=True)) == ["one 0", "one 1", "one 2", "two"]


def test_sources_that_are_due_tell_their_pace(claims, add_query, add_source, make_due):
    make_due(add_query(source=add_source("own", pace_s=7, max_parallel=3)))
    add_source("idle", pace_s=9)
    (found,) = claims.due_sources()
    assert (found.pace_s, found.max_parallel) == (7, 3)


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)  # PostgreSQL brings a clock of its own
def test_beside_a_paced_source_another_runs_all_that_is_due(
    world, add_query, add_source, make_due, histories, clock
):
    here, free = world(), add_source("free", pace_s=0)
    here.settings = Settings(interval=30)
    paced = [add_query(f"paced {n}") for n in range(2)]
    quick = [add_query(f"quick {n}", source=free) for n in range(5)]
    for query in [*paced, *quick]:
        make_due(query)
    here.service.tick()
    here.settle()
    assert [len(executions(histories, query)) for query in quick] == [1] * 5
    assert sorted(len(executions(histories, query)) for query in paced) == [0, 1]
    make_due(quick[0], seconds_ago=0)
    clock.advance(30)
    here.engine.run_due()  # the timer of the lane
    until(lambda: all(executions(histories, query) for query in paced))
    until(lambda: len(executions(histories, quick[0])) == 2)


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_source_runs_no_more_at_a_time_than_it_says(world, add_query, add_source, make_due):
    here, narrow, wide = world(), add_source("narrow", max_parallel=1), add_source("wide", max_parallel=3)
    here.settings = Settings(interval=0, max_parallel=1)
    for source in (narrow, wide):
        for n in range(5):
            make_due(add_query(f"{source} hangs {n}", query=FOREVER, timeout=300, source=source))
    here.service.tick()
    until(lambda: here.runs_at_work() == 4)
    here.service.tick()
    assert here.runs_at_work() == 4


UNPACED, PACED = Pace(0, 4), Pace(30, 4)


@pytest.mark.parametrize(
    ("usual", "own", "expected"),
    [
        (UNPACED, {}, Places(4, 4, {})),
        (UNPACED, {1: (None, None)}, Places(4, 4, {})),
        (UNPACED, {1: (None, 2)}, Places(6, 4, {1: 2})),
        (UNPACED, {1: (60, None)}, Places(5, 4, {1: 1})),
        (PACED, {1: (None, None), 2: (5, None)}, Places(6, 6, {}, is_paced=True)),
        (PACED, {1: (0, None)}, Places(6, 6, {1: 4}, is_paced=True)),
        (PACED, {1: (0, 9)}, Places(6, 6, {1: 9}, is_paced=True)),
    ],
)
def test_who_has_a_number_of_its_own_has_places_of_its_own(usual, own, expected):
    assert places(8, usual, own) == expected


def test_what_is_due_again_while_it_runs_takes_nobodys_place(claims, add_query, add_source, make_due):
    hanging, quick = add_source("hanging", pace_s=0), add_source("quick", pace_s=0)
    stuck = [add_query(f"hanging {n}", source=hanging) for n in range(3)]
    for query in stuck:
        make_due(query, 60)
    assert len(claims.claim_batch(10, "UTC")) == 3
    for query in stuck:
        make_due(query, 30)
    make_due(add_query("quick", source=quick), 10)
    assert names(claims.claim_batch(3, "UTC", {hanging: 3, quick: 3}, {hanging: 3}, only_these=True)) == [
        "quick"
    ]


@pytest.mark.parametrize(
    ("pace_s", "interval_s", "taken"), [(60, 0, 0), (None, 30, 0), (0, 30, 1), (None, 0, 1)]
)
def test_a_batch_takes_nothing_of_a_source_that_has_a_pace_by_now(
    claims, add_query, add_source, make_due, pace_s, interval_s, taken
):
    source = add_source("other", pace_s=pace_s)
    make_due(add_query("one", source=source), 10)
    assert len(claims.claim_batch(10, "UTC", {source: 8}, interval_s=interval_s)) == taken


@pytest.mark.parametrize("usual", [Pace(30, 8), Pace(0, 8)])
def test_a_source_with_a_pace_has_one_place_whatever_was_claimed_before(usual: Pace):
    found = places(20, usual, {1: (3600, None)})
    assert found.is_one_left(1, Counter(), is_alone=True)
    assert not found.is_one_left(1, Counter({1: 1}), is_alone=True)
