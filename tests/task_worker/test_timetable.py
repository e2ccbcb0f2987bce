import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_task_worker.tick_claims import MemoryTickClaims, Tick
from plugbay_task_worker.timetable import Due, Timetable, last_tick, next_tick

NOON = 1_794_744_000  # a full hour


@pytest.fixture
def timetable() -> Timetable[str]:
    return Timetable()


@pytest.mark.parametrize(
    ("period", "now", "before", "after"),
    [
        (60, NOON, NOON, NOON + 60),
        (60, NOON + 0.001, NOON, NOON + 60),
        (60, NOON + 59.999, NOON, NOON + 60),
        (3600, NOON + 61, NOON, NOON + 3600),
        (7, 15, 14, 21),
    ],
)
def test_ticks_stand_at_the_multiples_of_their_period(
    period: int, now: float, before: int, after: int
) -> None:
    assert (last_tick(period, now), next_tick(period, now)) == (before, after)


def test_nothing_is_due_in_an_empty_timetable(timetable: Timetable[str]) -> None:
    assert timetable.first_at() is None
    assert timetable.take_due(NOON) == []


def test_a_repeated_entry_comes_up_at_each_tick(timetable: Timetable[str]) -> None:
    timetable.repeat("a", 60, NOON + 1)

    assert timetable.first_at() == timetable.next_at("a") == NOON + 60
    assert timetable.take_due(NOON + 59.9) == []
    assert timetable.take_due(NOON + 60) == [Due("a", NOON + 60)]
    assert timetable.take_due(NOON + 60) == []
    assert timetable.next_at("a") == NOON + 120


def test_an_entry_made_on_a_tick_waits_for_the_next_one(timetable: Timetable[str]) -> None:
    timetable.repeat("a", 60, NOON)
    assert timetable.take_due(NOON) == []


def test_ticks_passed_over_are_counted_and_the_latest_comes_up(timetable: Timetable[str]) -> None:
    timetable.repeat("a", 60, NOON)
    assert timetable.take_due(NOON + 300.5) == [Due("a", NOON + 300, missed=4)]


def test_an_entry_for_once_comes_up_once(timetable: Timetable[str]) -> None:
    timetable.once("a", NOON + 0.5)
    assert timetable.take_due(NOON + 0.49) == []
    assert timetable.take_due(NOON + 1) == [Due("a", NOON + 0.5)]
    assert timetable.first_at() is None
    assert "a" not in timetable


def test_entries_come_up_in_the_order_of_their_times(timetable: Timetable[str]) -> None:
    timetable.once("late", NOON + 3)
    timetable.repeat("middle", 2, NOON)
    timetable.once("early", NOON + 1)

    assert [due.key for due in timetable.take_due(NOON + 3)] == ["early", "middle", "late"]


@pytest.mark.parametrize("moved_to", [NOON + 1, NOON + 100])
def test_an_entry_that_was_moved_comes_up_at_its_new_time_only(
    timetable: Timetable[str], moved_to: int
) -> None:
    timetable.once("a", NOON + 10)
    timetable.once("a", moved_to)

    assert timetable.first_at() == moved_to
    assert timetable.take_due(NOON + 200) == [Due("a", moved_to)]


def test_an_entry_that_was_removed_does_not_come_up(timetable: Timetable[str]) -> None:
    timetable.repeat("a", 60, NOON)
    timetable.once("b", NOON)
    timetable.remove("a")
    timetable.remove("b")
    timetable.remove("never there")

    assert timetable.first_at() is None
    assert len(timetable) == 0


def test_a_clock_set_back_brings_repeated_entries_back_with_it(timetable: Timetable[str]) -> None:
    timetable.repeat("a", 60, NOON)
    timetable.once("b", NOON + 90)
    timetable.take_due(NOON + 60)
    timetable.take_due(NOON - 3600)

    assert timetable.next_at("a") == NOON - 3540
    assert timetable.next_at("b") == NOON + 90


def test_an_entry_can_come_up_again_before_its_next_tick(timetable: Timetable[str]) -> None:
    timetable.repeat("a", 60, NOON)
    timetable.take_due(NOON + 60)
    timetable.again("a", NOON + 65)

    assert timetable.take_due(NOON + 65) == [Due("a", NOON + 60)]
    assert timetable.next_at("a") == NOON + 120


def test_coming_up_again_is_never_later_than_the_next_tick(timetable: Timetable[str]) -> None:
    timetable.repeat("a", 2, NOON)
    timetable.again("a", NOON + 5)
    timetable.again("nobody", NOON)

    assert timetable.next_at("a") == NOON + 2


def test_a_timer_moved_a_thousand_times_does_not_fill_the_heap(timetable: Timetable[str]) -> None:
    for n in range(1000):
        timetable.once("a", NOON + 1000 - n)

    assert len(timetable._heap) < 100
    assert timetable.take_due(NOON + 2000) == [Due("a", NOON + 1)]


MOVES = st.lists(st.floats(-7000, 7000, allow_nan=False), max_size=40)


@given(period=st.integers(1, 600), moves=MOVES)
def test_however_the_clock_moves_no_tick_is_claimed_twice_or_before_its_time(
    period: int, moves: list[float]
) -> None:
    timetable, claims, now, fired = Timetable[str](), MemoryTickClaims(), float(NOON), []
    timetable.repeat("a", period, now)
    for move in moves:
        now += move
        for due in timetable.take_due(now):
            assert now - period < due.at <= now
            fired += [tick.at for tick in claims.claim([Tick("a", int(due.at), period)])]

    if max(moves, default=0) < 0 or period >= 60:  # below, 120 ticks are less than the clock was set back
        assert len(fired) == len(set(fired))


@given(period=st.integers(1, 600), steps=st.lists(st.floats(0.01, 600), max_size=40))
def test_while_time_only_passes_every_tick_fires_or_counts_as_missed(period: int, steps: list[float]) -> None:
    timetable, now, seen = Timetable[str](), float(NOON), 0
    timetable.repeat("a", period, now)
    for step in steps:
        now += step
        seen += sum(1 + due.missed for due in timetable.take_due(now))

    assert seen == now // period - NOON // period
