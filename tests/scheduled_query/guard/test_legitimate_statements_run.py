"""Each legitimate statement of the banks runs on a real database, as it stands, and returns rows."""

import pytest

from .banks import BANKS
from .worlds.world import World


@pytest.mark.parametrize("dialect", BANKS)
def test_every_legitimate_statement_returns_rows(dialect: str, world: World) -> None:
    outcomes = {sql: world.run(world.fill(sql)) for sql in BANKS[dialect].LEGITIMATE}
    assert {sql: outcome.error for sql, outcome in outcomes.items() if not outcome.rows} == {}
