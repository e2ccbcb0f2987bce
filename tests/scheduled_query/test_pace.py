import pytest
from fakes import FakeClock
from plugbay_scheduled_query.pace import Pace


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_nothing_done_is_no_pace(clock):
    assert Pace(clock).per_second == 0


def test_a_burst_counts_at_once(clock):
    pace = Pace(clock)
    pace.add(16)
    pace.add(30)
    assert pace.per_second == 46


def test_after_a_second_the_last_one_counts_until_this_one_is_faster(clock):
    pace = Pace(clock)
    pace.add(50)
    clock.advance(1)
    pace.add(3)
    assert pace.per_second == 50
    pace.add(60)
    assert pace.per_second == 63


def test_a_long_rest_is_a_slow_pace(clock):
    pace = Pace(clock)
    pace.add(60)
    clock.advance(60)
    pace.add(1)
    assert pace.per_second == 1
