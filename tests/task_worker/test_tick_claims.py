from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from plugbay import Store
from plugbay_task_worker.tick_claims import (
    KEEP_TICKS,
    MemoryTickClaims,
    StoreTickClaims,
    Tick,
    TickClaims,
    metadata,
    ticks,
)

NOON = 1_794_744_000


class ClaimsConformance:
    """What claims must do, wherever they are kept."""

    def test_a_tick_is_claimed_once(self, claims: TickClaims) -> None:
        assert claims.claim([minute(0)]) == {minute(0)}
        assert claims.claim([minute(0)]) == set()

    def test_of_many_ticks_those_are_won_that_nobody_had(self, claims: TickClaims) -> None:
        claims.claim([minute(0), minute(1, "shop.other")])

        won = claims.claim([minute(0), minute(1), minute(0, "shop.other")])

        assert won == {minute(1), minute(0, "shop.other")}

    def test_no_tick_at_all_is_no_trouble(self, claims: TickClaims) -> None:
        assert claims.claim([]) == set()

    def test_a_thousand_tasks_are_claimed_at_once(self, claims: TickClaims) -> None:
        many = [minute(0, f"shop.task_{n}") for n in range(1000)]

        assert claims.claim(many[:600]) == set(many[:600])
        assert claims.claim(many) == set(many[600:])

    def test_of_many_who_claim_at_the_same_time_one_wins(self, claims: TickClaims) -> None:
        many = [minute(0, f"shop.task_{n}") for n in range(20)]
        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(lambda n: claims.claim(many[n:] + many[:n]), range(8)))

        assert sum(map(len, won)) == 20
        assert set.union(*won) == set(many)

    def test_many_who_forget_old_claims_at_the_same_time_do_not_wait_for_each_other(
        self, claims: TickClaims
    ) -> None:
        tasks = [f"shop.task_{n}" for n in range(100)]
        claims.claim([minute(0, task) for task in tasks])
        later = [[minute(KEEP_TICKS + n, task) for task in tasks[:: (-1) ** n]] for n in range(1, 9)]
        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(claims.claim, later))

        assert list(map(len, won)) == [100] * 8

    def test_claims_are_kept_for_a_while_and_no_longer(
        self, claims: TickClaims, count: Callable[[], int]
    ) -> None:
        for n in range(KEEP_TICKS + 50):
            claims.claim([minute(n)])

        assert count() == KEEP_TICKS + 1
        assert claims.claim([minute(50)]) == set()

    def test_the_claims_of_a_slow_task_are_kept_for_longer(
        self, claims: TickClaims, count: Callable[[], int]
    ) -> None:
        days = [Tick("shop.daily", NOON + 86_400 * n, 86_400) for n in range(10)]
        for day in days:
            claims.claim([day, Tick("shop.fast", day.at, 1)])

        assert count() == 11

    def test_claims_of_tasks_long_gone_can_be_forgotten(
        self, claims: TickClaims, count: Callable[[], int]
    ) -> None:
        claims.claim([minute(0), minute(1), minute(5, "shop.other")])
        claims.forget_before(NOON + 60)

        assert count() == 2


class TestInMemory(ClaimsConformance):
    @pytest.fixture
    def claims(self) -> MemoryTickClaims:
        return MemoryTickClaims()

    @pytest.fixture
    def count(self, claims: MemoryTickClaims) -> Callable[[], int]:
        return lambda: len(claims)


class TestInTheStore(ClaimsConformance):
    @pytest.fixture
    def claims(self, store: Store) -> StoreTickClaims:
        return StoreTickClaims(store)

    @pytest.fixture
    def count(self, store: Store) -> Callable[[], int]:
        def count() -> int:
            with store.connect() as connection:
                return connection.scalar(sa.select(sa.func.count()).select_from(ticks)) or 0

        return count

    def test_the_migration_makes_the_table_that_the_code_expects(self, store: Store) -> None:
        inspector = sa.inspect(store.engine)

        assert "task_worker_ticks" in inspector.get_table_names()
        (table,) = metadata.sorted_tables
        expected = {(column.name, column.nullable) for column in table.columns}
        assert {(c["name"], c["nullable"]) for c in inspector.get_columns(table.name)} == expected
        assert inspector.get_pk_constraint(table.name)["constrained_columns"] == ["task", "tick"]


def minute(n: int, task: str = "shop.task") -> Tick:
    return Tick(task, NOON + 60 * n, 60)
