"""Each legitimate statement passes the guard and the read-only session behind it, in a real runner."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from plugbay_scheduled_query.core.guard import Allowed
from plugbay_scheduled_query.dialects import check
from plugbay_scheduled_query.executor import Executor
from runner_kit import Asker, target

from .banks import BANKS
from .worlds.duckdb import DuckdbWorld
from .worlds.sqlite import SqliteWorld
from .worlds.world import World


@pytest.fixture(scope="module")
def asker() -> Iterator[Asker]:
    """One small pool for all dialects."""
    executor = Executor(2)
    yield Asker(executor)
    executor.close()


@pytest.fixture
def url(request: pytest.FixtureRequest, dialect: str, world: World, tmp_path: Path) -> str:
    """Where the world can be asked; a DuckDB file has room for one process only, so a copy is asked."""
    match world:
        case SqliteWorld():
            return f"sqlite:///{world.path}"
        case DuckdbWorld():
            copy = tmp_path / "copy.duckdb"
            copy.write_bytes((world.folder / "shop.db").read_bytes())
            return f"duckdb:///{copy}"
    return str(
        request.getfixturevalue("shared_postgres_url" if dialect == "postgresql" else "shared_mariadb_url")
    )


@pytest.mark.parametrize("dialect", BANKS)
def test_every_legitimate_statement_returns_rows(dialect: str, world: World, url: str, asker: Asker) -> None:
    place = target(url)
    failures = {}
    for sql in map(world.fill, BANKS[dialect].LEGITIMATE):
        assert isinstance(check(sql, place.language), Allowed)
        outcome = asker.ask(place, sql)
        if outcome.status != "success" or not outcome.row_count:
            failures[sql] = outcome.error or "no rows"
    assert failures == {}
