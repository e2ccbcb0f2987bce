from datetime import timedelta

import pytest
from fakes import FakeClock
from plugbay_task_worker import pages


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "every second"),
        (30, "every 30 s"),
        (60, "every minute"),
        (90, "every 90 s"),
        (300, "every 5 min"),
        (3600, "every hour"),
        (7200, "every 2 h"),
        (86_400, "every day"),
        (604_800, "every 7 d"),
    ],
)
def test_how_often(seconds: int, words: str) -> None:
    assert pages.period_words(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0.0 ms"),
        (0.0004, "0.4 ms"),
        (0.318, "318 ms"),
        (1.24, "1.2 s"),
        (59.9, "59.9 s"),
        (200, "3 min 20 s"),
    ],
)
def test_how_long(seconds: float, words: str) -> None:
    assert pages.duration_words(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "now"),
        (-0.9, "now"),
        (-12, "12 s ago"),
        (59.9, "in 59 s"),
        (-60, "1 min ago"),
        (7200, "in 2 h"),
        (-90_000, "1 d ago"),
    ],
)
def test_how_far_away(clock: FakeClock, seconds: float, words: str) -> None:
    assert pages.distance_words(clock.now() + timedelta(seconds=seconds), clock.now()) == words


def test_a_payload_is_one_short_line() -> None:
    assert pages.payload_words({"runs": [1, 2], "who": "Ünal"}) == '{"runs": [1, 2], "who": "Ünal"}'
    assert len(pages.payload_words({"runs": list(range(1000))})) == 120
