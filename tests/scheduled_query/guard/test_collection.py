"""What people ask of databases in dashboards and consoles: none of it is refused, and all of it is answered.

The statements stand in `collection/`, divided by blank lines: those of `everywhere.sql` for every database,
and a hundred more in the words of each.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pymysql
import pytest
import sqlalchemy as sa
from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.dialects import check
from plugbay_scheduled_query.executor import Executor
from runner_kit import Asker, target

FOLDER = Path(__file__).parent / "collection"
DIALECTS = ("postgresql", "mysql", "sqlite", "duckdb")
AT_LEAST = 200


def statements(dialect: str) -> list[str]:
    texts = [(FOLDER / f"{name}.sql").read_text() for name in ("everywhere", dialect)]
    own_quotes = [texts[0].replace('"', "`"), texts[1]] if dialect == "mysql" else texts
    return [part for text in own_quotes for part in re.split(r"\n\s*\n", text.strip())]


def schema(json: str) -> list[str]:
    return (FOLDER / "schema.sql").read_text().replace("{json}", json).strip().splitlines()


def in_postgresql(url: str) -> str:
    with closing(psycopg.connect(url.replace("+psycopg", ""), autocommit=True)) as connection:
        for line in schema("JSONB"):
            connection.execute(line)  # type: ignore[call-overload]
    return url


def in_mysql(url: str) -> str:
    place = sa.make_url(url)
    options: Any = {"user": place.username, "unix_socket": place.query["unix_socket"]}
    with closing(pymysql.connect(**options, database=place.database, autocommit=True)) as connection:
        for line in schema("JSON"):
            connection.cursor().execute(line)
    return url


def in_file(path: Path, connect: Callable[[str], Any], json: str) -> str:
    with closing(connect(str(path))) as connection:
        for line in schema(json):
            connection.execute(line)
        connection.commit()
    return str(path)


@pytest.fixture
def place(request: pytest.FixtureRequest, dialect: str, tmp_path: Path) -> str:
    """A shop, its staff and its machines, in the database of the dialect."""
    match dialect:
        case "postgresql":
            return in_postgresql(request.getfixturevalue("postgres_url"))
        case "mysql":
            return in_mysql(request.getfixturevalue("mariadb_url"))
        case "sqlite":
            return f"sqlite:///{in_file(tmp_path / 'shop.db', sqlite3.connect, 'TEXT')}"
    return f"duckdb:///{in_file(tmp_path / 'shop.duckdb', duckdb.connect, 'JSON')}"


@pytest.fixture(scope="module")
def asker() -> Iterator[Asker]:
    executor = Executor(1, ahead=0)
    yield Asker(executor)
    executor.close()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_that_people_ask_is_refused_and_all_of_it_is_answered(
    dialect: str, place: str, asker: Asker
) -> None:
    where, troubles = target(place), {}
    for sql in statements(dialect):
        verdict = check(sql, where.language)
        if isinstance(verdict, Rejection):
            troubles[sql] = f"refused: {verdict.reason}"
        elif (outcome := asker.ask(where, sql)).status != "success":
            troubles[sql] = outcome.error or "no reason"
    assert troubles == {}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_there_are_enough_of_them_and_none_twice(dialect: str) -> None:
    found = statements(dialect)
    assert len(found) >= AT_LEAST
    assert len(found) == len(set(found))
