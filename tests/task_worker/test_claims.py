import pytest
from plugbay_task_worker.claims import MemoryClaims, Tick, TickClaims

NOON = 1_794_744_000


@pytest.fixture
def claims() -> MemoryClaims:
    return MemoryClaims()


def minute(n: int, task: str = "shop.task") -> Tick:
    return Tick(task, NOON + 60 * n, 60)


def test_a_tick_is_claimed_once(claims: TickClaims) -> None:
    assert claims.claim([minute(0)]) == {minute(0)}
    assert claims.claim([minute(0)]) == set()


def test_of_many_ticks_those_are_won_that_nobody_had(claims: TickClaims) -> None:
    claims.claim([minute(0), minute(1, "shop.other")])

    assert claims.claim([minute(0), minute(1), minute(0, "shop.other")]) == {
        minute(1),
        minute(0, "shop.other"),
    }


def test_no_tick_at_all_is_no_trouble(claims: TickClaims) -> None:
    assert claims.claim([]) == set()
