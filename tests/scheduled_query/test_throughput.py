import pytest
from fakes import FakeClock
from plugbay_scheduled_query.runs.claiming import Throughput


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_nothing_done_is_no_pace(clock):
    assert Throughput(clock).per_second == 0


def test_a_burst_counts_at_once(clock):
    throughput = Throughput(clock)
    throughput.add(16)
    throughput.add(30)
    assert throughput.per_second == 46


def test_after_a_second_the_last_one_counts_until_this_one_is_faster(clock):
    throughput = Throughput(clock)
    throughput.add(50)
    clock.advance(1)
    throughput.add(3)
    assert throughput.per_second == 50
    throughput.add(60)
    assert throughput.per_second == 63


def test_a_long_rest_is_a_slow_pace(clock):
    throughput = Throughput(clock)
    throughput.add(60)
    clock.advance(60)
    throughput.add(1)
    assert throughput.per_second == 1


def test_a_burst_of_a_minute_ago_is_forgotten_before_anything_else_is_done(clock):
    throughput = Throughput(clock)
    throughput.add(60)
    clock.advance(1)
    assert throughput.per_second == 60
    clock.advance(60)
    assert throughput.per_second == 0
