from collections.abc import Iterator

import mariadb
import postgres
import pytest

from .worlds.duckdb import DuckdbWorld
from .worlds.mysql import MysqlWorld
from .worlds.postgresql import PostgresqlWorld
from .worlds.sqlite import SqliteWorld
from .worlds.world import World


@pytest.fixture(scope="module")
def shared_postgres_url(postgres_server: str) -> Iterator[str]:
    """One database for all statements of a file; each world leaves it empty."""
    with postgres.database(postgres_server) as url:
        yield url


@pytest.fixture(scope="module")
def shared_mariadb_url(mariadb_server: str) -> Iterator[str]:
    """One database for all statements of a file; each world leaves it empty."""
    with mariadb.database(mariadb_server) as url:
        yield url


@pytest.fixture
def world(request: pytest.FixtureRequest, dialect: str) -> Iterator[World]:
    """A throw-away database of the dialect under test, with no guard before it."""
    world = _open(request, dialect)
    yield world
    world.close()


def _open(request: pytest.FixtureRequest, dialect: str) -> World:
    match dialect:
        case "sqlite":
            return SqliteWorld()
        case "duckdb":
            return DuckdbWorld()
        case "postgresql":
            return PostgresqlWorld(request.getfixturevalue("shared_postgres_url"))
        case _:
            return MysqlWorld(request.getfixturevalue("shared_mariadb_url"))
