"""Times in which the schedule starts nothing: kept, looked up, and brought about by an admin."""

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.core.capacity import Pace
from plugbay_scheduled_query.core.draft import draft_of
from plugbay_scheduled_query.core.standstill import StandstillKind
from plugbay_scheduled_query.repository.evidence import Evidence
from plugbay_scheduled_query.repository.pauses import Pauses, StuckSession
from plugbay_scheduled_query.repository.pruning import Housekeeping, Keeping
from plugbay_scheduled_query.repository.standstills import ALIVE, STOPPED, Standstills
from plugbay_scheduled_query.runs.hold import Hold
from plugbay_scheduled_query.settings import Settings
from service_world import FOREVER, executions, until


@pytest.fixture
def standstills(store, clock) -> Standstills:
    return Standstills(store, clock)


@pytest.fixture
def evidence(store, clock) -> Evidence:
    return Evidence(store, clock)


def kept(store) -> list[tuple[str, timedelta | None]]:
    with store.connect() as connection:
        rows = connection.execute(sa.select(tables.standstills).order_by(tables.standstills.c.id)).all()
    return [(row.kind, row.until and row.until - row.since) for row in rows]


def set_alive(store, at) -> None:
    with store.begin() as connection:
        connection.execute(sa.update(tables.marks).where(tables.marks.c.name == ALIVE).values(at=at))


def test_a_time_without_a_server_is_kept(standstills, store, clock):
    standstills.note_alive()
    standstills.note_alive()
    assert kept(store) == []
    set_alive(store, clock.now() - timedelta(minutes=10))
    standstills.note_alive()
    standstills.note_alive()
    [(kind, length)] = kept(store)
    assert kind == "down"
    assert timedelta(minutes=9) < length < timedelta(minutes=12)  # PostgreSQL's clock goes on


def test_a_stop_and_the_next_start_tell_an_outage_to_the_second(standstills, store, clock):
    standstills.note_alive()
    standstills.note_stop()
    with store.begin() as connection:
        stopped = tables.marks.c.name == STOPPED
        at = clock.now() - timedelta(seconds=40)
        connection.execute(sa.update(tables.marks).where(stopped).values(at=at))
    standstills.note_alive(is_start=True)
    [(kind, length)] = kept(store)
    assert kind == "down"
    assert timedelta(seconds=40) <= length < timedelta(seconds=70)  # PostgreSQL's clock goes on


def test_a_restart_and_a_stop_beside_another_server_are_no_outage(standstills, store):
    for _ in range(2):
        standstills.note_stop()
        standstills.note_alive(is_start=True)
    standstills.note_stop()
    standstills.note_alive()  # the tick of another
    standstills.note_alive(is_start=True)
    assert kept(store) == []


@pytest.mark.parametrize("ahead", [timedelta(minutes=-1), timedelta(hours=1)])
def test_a_tick_too_late_or_a_clock_that_was_set_back_is_no_outage(standstills, store, clock, ahead):
    standstills.note_alive()
    set_alive(store, clock.now() + ahead)
    standstills.note_alive()
    assert kept(store) == []


def test_outages_of_long_ago_are_forgotten(standstills, store, clock):
    standstills.note_alive()
    long_ago = clock.now() - timedelta(days=500)
    old = {"kind": "down", "since": long_ago, "until": long_ago}
    with store.begin() as connection:
        connection.execute(sa.insert(tables.standstills).values(old))
    set_alive(store, clock.now() - timedelta(minutes=10))
    standstills.note_alive()
    assert len(kept(store)) == 1


def test_who_paused_all_is_known_until_somebody_resumes(standstills, store):
    assert standstills.hold() is None
    assert standstills.pause_all("ada")
    assert not standstills.pause_all("bob")
    hold = standstills.hold()
    assert (hold.kind, hold.by, hold.until) == (StandstillKind.ALL, "ada", None)
    assert standstills.resume_all("bob")
    assert not standstills.resume_all("bob")
    assert standstills.hold() is None
    assert [kind for kind, _ in kept(store)] == ["all"]


def test_while_all_are_paused_nothing_is_claimed_and_afterwards_once_for_all(
    standstills, claims, add_query, make_due
):
    make_due(add_query(cron_schedule="* * * * *"), seconds_ago=300)
    standstills.pause_all("ada")
    assert claims.due_sources() == []
    assert claims.claim_paced("UTC", 30) == []
    assert claims.claim_batch(10, "UTC") == []
    assert claims.claim_batch(10, "UTC", {1: 8}, only_these=True) == []
    assert claims.rest_s(30) is None
    standstills.resume_all("ada")
    [claimed] = claims.claim_batch(10, "UTC")
    assert claimed.missed in (4, 5)
    assert claims.claim_batch(10, "UTC") == []


def test_the_pause_of_a_source_is_kept_from_its_first_session_to_the_last(
    store, clock, add_query, add_source, source_id, evidence
):
    pauses, query = Pauses(store), add_query()
    elsewhere = add_query("elsewhere", source=add_source("other"))
    for mark in ("1", "2"):
        pauses.add(StuckSession(source_id, mark, "Orders", clock.now()))
    clock.advance(60)
    assert not pauses.remove(source_id, clock.now(), "1")
    clock.advance(60)
    assert pauses.remove(source_id, clock.now(), "2")
    assert kept(store) == [("source", timedelta(minutes=2))]
    then = clock.now() - timedelta(minutes=1)
    assert [one.kind for one in evidence.around(query.id, then).standstills] == ["source"]
    assert evidence.around(elsewhere.id, then).standstills == []


def test_a_query_remembers_who_switched_it(definitions, add_query, source_id, evidence, clock, store):
    query = add_query()
    for enabled, by in ((False, "ada"), (False, "eve"), (True, "bob")):
        clock.advance(60)
        draft = replace(draft_of(query), enabled=enabled)
        definitions.update(query.id, draft, source_id, by, "UTC", None)
    found = evidence.around(query.id, clock.now()).switches
    assert [(switch.enabled, switch.by) for switch in found] == [(False, "ada"), (True, "bob")]
    definitions.delete(query.id)
    clock.advance(7200)
    house = Housekeeping(store, clock)
    while house.purge_step():
        pass
    assert evidence.around(query.id, clock.now()).switches == []


def test_what_was_due_and_what_was_before_is_found(
    claims, recording, add_query, make_due, finished, clock, evidence
):
    query = add_query()
    due = []
    for seconds_ago in (300, 200, 100):
        due.append(make_due(query, seconds_ago))
        [claimed] = claims.claim_batch(1, "UTC")
        recording.record([finished(claimed)], clock.now(), Keeping())
    found = evidence.around(query.id, due[2])
    assert [one.due_at for one in (found.due_then, found.before, found.earlier)] == due[::-1]
    assert found.run is None
    claims.start_now(query.id, "ada")
    assert evidence.around(query.id, due[0]).run.due_at is None
    assert evidence.latest(query.id).due_at == due[2]


def test_what_goes_on_at_a_source_is_told(claims, add_query, add_source, make_due, evidence):
    slow = add_source("slow", pace_s=60)
    make_due(add_query("Orders", source=slow))
    make_due(add_query("Others"))
    claims.claim_paced("UTC", 0)
    claims.claim_batch(1, "UTC")
    _, found = evidence.sources(["slow", "shop", "gone"], Pace(0, 4))
    assert found.keys() == {"slow", "shop"}
    assert (found["slow"].pace, found["slow"].runs_now) == (Pace(60, 4), "Orders")
    assert (found["shop"].pace, found["shop"].runs_now, found["shop"].under_way) == (Pace(0, 4), None, 1)


def test_the_store_is_asked_twice_a_second_and_each_time_while_a_pause_lasts(clock):
    answers = [False, True, True, False]
    hold = Hold(clock, lambda: answers.pop(0))
    assert [hold.is_on(), hold.is_on()] == [False, False]
    clock.advance(0.5)
    assert [hold.is_on(), hold.is_on(), hold.is_on(), hold.is_on()] == [True, True, False, False]
    assert not answers


def test_a_store_that_cannot_be_asked_changes_nothing(clock):
    def away() -> bool:
        raise OSError("the store is away")

    hold = Hold(clock, away)
    assert hold.is_on() is False
    hold.is_known = True
    assert hold.is_on() is True


def test_what_is_claimed_already_waits_for_the_end_of_a_pause_and_run_now_does_not(
    world, add_query, make_due, histories, clock, standstills
):
    here = world()
    here.settings = Settings(interval=0, max_parallel=1)
    long, waiting, by_hand = (
        add_query("long", query=FOREVER, timeout=300),
        add_query("waits"),
        add_query("hand"),
    )
    make_due(long, seconds_ago=20)
    make_due(waiting, seconds_ago=10)
    here.service.tick()
    until(lambda: here.service.waiting_queries() == {waiting.id})
    standstills.pause_all("ada")
    clock.advance(1)
    assert here.run_now(by_hand).status == "success"
    assert here.service.cancel(long.id, "ada")
    until(lambda: executions(histories, long))
    until(lambda: here.runs_at_work() == 0)
    assert executions(histories, waiting) == []
    standstills.resume_all("ada")  # on another node: this one looks again by itself
    clock.advance(1)
    here.engine.run_due()
    until(lambda: executions(histories, waiting))
