import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugbay_scheduled_query.executor import Executor
from runner_kit import Asker, target

# a dialect that nobody has heard of, found by SQLAlchemy the way it finds a third party's
PACKAGE = """
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite


class PlaythingDialect(SQLiteDialect_pysqlite):
    name = "plaything"
    supports_statement_cache = True
"""
ENTRY_POINTS = "[sqlalchemy.dialects]\nplaything = plaything:PlaythingDialect\n"


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    """Runners that find the odd dialect on their import path."""
    place = tmp_path_factory.mktemp("site")
    (place / "plaything.py").write_text(PACKAGE)
    (place / "plaything-1.dist-info").mkdir()
    (place / "plaything-1.dist-info/entry_points.txt").write_text(ENTRY_POINTS)
    (place / "plaything-1.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: plaything\nVersion: 1\n"
    )
    sys.path.append(str(place))
    executor = Executor(2, ahead=1)
    yield Asker(executor)
    executor.close()
    sys.path.remove(str(place))


@pytest.fixture
def url(sqlite_url: str) -> str:
    return sqlite_url.replace("sqlite", "plaything", 1)


def test_another_dialect_of_sqlalchemy_can_be_asked(asker: Asker, url: str):
    outcome = asker.ask(target(url, accepts_unguarded=True), "SELECT id, item FROM orders WHERE ':x' <> '%'")
    assert outcome.columns == ("id", "item")
    assert outcome.result_json == '[[1,"tea"],[2,"milk"],[3,"drop"]]'


def test_what_it_writes_is_rolled_back(asker: Asker, url: str, sqlite_url: str):
    place = target(url, accepts_unguarded=True)
    assert asker.ask(place, "DELETE FROM orders").error == "the statement returns no rows"
    assert asker.value(place, "SELECT count(*) FROM orders") == 3


def test_it_keeps_the_time_limit(asker: Asker, url: str):
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    assert asker.ask(target(url, accepts_unguarded=True), endless, timeout_s=0.3).status == "timeout"


def test_its_self_test_warns(asker: Asker, url: str):
    report = asker.executor.self_test(target(url, accepts_unguarded=True))
    assert report.server == "plaything"
    assert "no guard" in report.warnings[0]


def test_its_tables_are_listed(asker: Asker, url: str):
    [table] = asker.executor.tables(target(url, accepts_unguarded=True))
    assert (table.name, table.columns[0]) == ("orders", ("id", "INTEGER"))


def test_a_dialect_that_is_not_installed_says_so(asker: Asker, tmp_path: Path):
    outcome = asker.ask(target("nonsense://db/x", accepts_unguarded=True), "SELECT 1")
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "nonsense" in outcome.error
