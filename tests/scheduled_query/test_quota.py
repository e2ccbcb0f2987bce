"""What is kept of results when they become too many bytes, and when the disk is nearly full."""

import pytest
import sqlalchemy as sa
from fakes import FakeClock
from plugbay_scheduled_query import tables
from plugbay_scheduled_query.repository.history import HistoryFilter
from plugbay_scheduled_query.repository.pruning import Housekeeping, Keeping
from plugbay_scheduled_query.runs.disk import DiskRoom
from plugbay_scheduled_query.settings import Settings

RESULT = '[["' + "é" * 498 + '"]]'  # 1,002 bytes
TEN_RESULTS = Keeping(history_bytes=10_100)


@pytest.fixture
def run(claims, recording, finished, clock):
    """Runs a query once from claim to record."""

    def once(query, status="success", keeping=TEN_RESULTS, result=RESULT):
        claimed, _ = claims.start_now(query.id, "ada")
        fields = {"result_json": result} if status == "success" else {}
        (recorded,) = recording.record([finished(claimed, status, **fields)], clock.now(), keeping)
        clock.advance(1)
        return recorded

    return once


@pytest.fixture
def kept_bytes(store):
    """What the state of a query says, checked against the rows themselves."""

    def measured(query) -> int:
        of_query = tables.history.c.query_id == query.id
        with store.connect() as connection:
            said = sa.select(tables.states.c.kept_bytes).where(tables.states.c.query_id == query.id)
            sums = sa.select(sa.func.sum(tables.history.c.result_bytes)).where(of_query)
            assert connection.scalar(said) == connection.scalar(sums)
            return connection.scalar(said)

    return measured


def total(histories, query) -> int:
    return histories.page(query.id, HistoryFilter(), 1, 200)[1]


def test_the_oldest_results_go_when_they_are_too_many_bytes(run, add_query, histories, kept_bytes, caplog):
    heavy, light = add_query("heavy"), add_query("light")
    run(light)
    for _ in range(15):
        run(heavy)
        run(heavy, "failed")
    assert kept_bytes(heavy) == 10 * 1002
    assert total(histories, heavy) == 21, "failures go with the results around them"
    assert total(histories, light) == 1
    assert histories.cut_at(heavy.id) is not None
    assert histories.cut_at(light.id) is None
    assert caplog.text.count("history_quota_reached") == 1


def test_the_newest_execution_stays_however_large_it_is(run, add_query, histories, definitions):
    query = add_query()
    for _ in range(3):
        run(query, keeping=Keeping(history_bytes=0))
    assert total(histories, query) == 1
    assert definitions.get(query.id, with_result=True).last_result == RESULT


def test_who_needs_less_again_is_no_longer_told(run, add_query, histories):
    query = add_query()
    for _ in range(12):
        run(query)
    assert histories.cut_at(query.id)
    run(query, keeping=Keeping(history_bytes=1_000_000))
    assert histories.cut_at(query.id) is None


def test_a_smaller_quota_counts_for_queries_that_run_no_more(
    run, add_query, store, clock, histories, kept_bytes
):
    query = add_query()
    for _ in range(12):
        run(query, keeping=Keeping())
    house = Housekeeping(store, clock)
    while house.prune_step(Keeping(history_bytes=3_010)):
        pass
    assert (total(histories, query), kept_bytes(query)) == (3, 3 * 1002)


def test_without_room_an_execution_is_recorded_and_its_result_is_not(
    run, add_query, histories, definitions, kept_bytes
):
    query = add_query()
    run(query)
    recorded = run(query, keeping=Keeping(keeps_results=False), result="[[2]]")
    assert recorded.result == "[[2]]", "who waits for it gets it"
    newest, oldest = histories.page(query.id, HistoryFilter(), 1, 50)[0]
    assert (newest.status, newest.result, newest.truncated) == ("success", None, True)
    assert oldest.result == RESULT
    after = definitions.get(query.id, with_result=True)
    assert (after.last_result, after.last_status) == (RESULT, "success")
    assert kept_bytes(query) == 1002


class Disk:
    """A disk whose room is in the test's hand."""

    def __init__(self, clock: FakeClock) -> None:
        self.free = 10_000_000_000
        self._clock = clock
        self.room = DiskRoom(clock, Settings, lambda: self.free)

    def has(self, free: int) -> str | None:
        self.free = free
        self._clock.advance(60)
        return self.room.problem()


def test_a_disk_that_is_nearly_full_is_told_once_and_results_are_kept_again_later(clock, caplog):
    caplog.set_level("INFO")
    disk = Disk(clock)
    assert disk.room.problem() is None
    assert "120 MB are free, fewer than 500 MB" in str(disk.has(120_000_000))
    assert disk.has(110_000_000)
    assert not disk.room.keeping().keeps_results
    assert disk.has(500_000_000) is None
    assert disk.room.keeping().keeps_results
    assert caplog.text.count("disk_nearly_full") == caplog.text.count("disk_has_room") == 1


def test_a_floor_of_zero_and_a_disk_that_nobody_can_see_are_never_full(clock):
    floorless = DiskRoom(clock, lambda: Settings(min_free_bytes=0), lambda: 0)
    assert floorless.problem() is None
    assert DiskRoom(clock, Settings, None).keeping().keeps_results
