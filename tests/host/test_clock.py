"""The clock of a database, by which all its processes go."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fakes import FakeClock
from plugbay.clock import READ_EVERY_S, SLOW_S, StoreClock, SystemClock
from plugbay.store import Store, clock_of

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


class Database:
    """Says the time, after a while."""

    def __init__(self, own: FakeClock) -> None:
        self.own = own
        self.ahead = timedelta(0)
        self.takes_s = 0.0
        self.asked = 0

    def __call__(self) -> datetime:
        self.asked += 1
        self.own.advance(self.takes_s / 2)
        now = NOON + timedelta(seconds=self.own.monotonic()) + self.ahead
        self.own.advance(self.takes_s / 2)
        return now


@pytest.fixture
def own() -> FakeClock:
    return FakeClock(NOON + timedelta(minutes=5))  # a machine whose clock is five minutes ahead


@pytest.fixture
def database(own: FakeClock) -> Database:
    return Database(own)


def now_s(clock: StoreClock) -> float:
    return (clock.now() - NOON).total_seconds()


def test_a_machine_whose_clock_is_wrong_goes_by_the_databases(own: FakeClock, database: Database) -> None:
    clock = StoreClock(database, own)
    began = own.monotonic()
    own.advance(90)
    own.jump(3600)

    assert now_s(clock) == pytest.approx(began + 90)
    assert database.asked == 1


def test_half_of_the_time_that_the_answer_took_has_passed_since(own: FakeClock, database: Database) -> None:
    database.takes_s = 0.2

    assert now_s(StoreClock(database, own)) == pytest.approx(own.monotonic())


def test_it_follows_a_database_whose_clock_is_set(own: FakeClock, database: Database) -> None:
    clock = StoreClock(database, own)
    database.ahead = timedelta(seconds=30)
    own.advance(READ_EVERY_S - 1)
    clock.follow()
    assert database.asked == 1
    own.advance(1)
    clock.follow()

    assert now_s(clock) == pytest.approx(own.monotonic() + 30)


def test_an_answer_that_took_long_is_believed_only_when_there_is_no_better_one_for_long(
    own: FakeClock, database: Database
) -> None:
    clock = StoreClock(database, own)
    began = own.monotonic()
    database.ahead, database.takes_s = timedelta(seconds=7), 2 * SLOW_S
    own.advance(READ_EVERY_S)
    clock.follow()
    assert now_s(clock) == pytest.approx(own.monotonic())
    own.advance(began + 6 * READ_EVERY_S - own.monotonic())
    clock.follow()

    assert now_s(clock) == pytest.approx(own.monotonic() + 7)


def test_a_database_that_is_away_leaves_the_clock_going(own: FakeClock) -> None:
    answers: list[Callable[[], datetime]] = [lambda: NOON]

    def ask() -> datetime:
        if not answers:
            raise OSError("the store is away")
        return answers.pop()()

    clock = StoreClock(ask, own)
    own.advance(READ_EVERY_S)
    with pytest.raises(OSError, match="away"):
        clock.follow()

    assert clock.now() == NOON + timedelta(seconds=READ_EVERY_S)


def test_on_postgresql_the_clock_is_the_databases_and_on_sqlite_the_machines(
    tmp_path: Path, postgres_url: str
) -> None:
    store = Store(postgres_url, tmp_path / "one")
    clock = clock_of(store)
    before = store.now()
    shown = clock.now()
    after = store.now()
    store.close()
    sqlite = Store("", tmp_path / "other")
    sqlite.close()

    assert isinstance(clock, StoreClock)
    assert before - timedelta(seconds=SLOW_S) <= shown <= after + timedelta(seconds=SLOW_S)
    assert isinstance(clock_of(sqlite), SystemClock)
