"""Each hostile statement of the banks is run on a real database without the guard, and does its harm."""

import pytest

from .banks import BANKS
from .harm import PROOFS
from .worlds.world import World

CASES = [
    pytest.param(dialect, harm, sql, id=f"{dialect}-{harm}-{number}")
    for dialect, bank in BANKS.items()
    for harm, statements in bank.HOSTILE.items()
    for number, sql in enumerate(statements)
]


@pytest.mark.parametrize(("dialect", "harm", "sql"), CASES)
def test_a_hostile_statement_does_harm_where_nothing_guards(
    dialect: str, harm: str, sql: str, world: World
) -> None:
    PROOFS[harm](world, world.fill(sql))
