"""What holds for all four databases alike."""

import json
from pathlib import Path

import duckdb
import pytest
import silent_server
from plugbay_scheduled_query.core.errors import SourceUnavailableError
from plugbay_scheduled_query.core.source import Target
from plugbay_scheduled_query.runner.protocol import Caps
from runner_kit import Asker, eventually, target

DIALECTS = ["sqlite", "postgresql", "mysql", "duckdb"]


@pytest.fixture(params=DIALECTS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    """A database with nothing in it, once of each kind."""
    match request.param:
        case "sqlite":
            (tmp_path / "x.db").touch()
            return target(f"sqlite:///{tmp_path}/x.db")
        case "duckdb":
            duckdb.connect(str(tmp_path / "x.duckdb")).close()
            return target(f"duckdb:///{tmp_path}/x.duckdb")
        case "postgresql":
            return target(request.getfixturevalue("postgres_server"))
        case _:
            return target(request.getfixturevalue("mariadb_url"))


def numbers(place: Target, count: int) -> str:
    """A derived table `c` with the column `x` from 1 to count."""
    counted = f"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT {count})"
    return {
        "sqlite": f"({counted} SELECT x FROM n)",
        "postgresql": f"(SELECT generate_series(1, {count}) AS x)",
        "mysql": f"(SELECT seq AS x FROM seq_1_to_{count})",
        "duckdb": f"(SELECT range + 1 AS x FROM range({count}))",
    }[place.dialect] + " AS c"


def repeat(place: Target, size: int) -> str:
    """A text of so many characters."""
    return f"hex(zeroblob({size // 2}))" if place.dialect == "sqlite" else f"repeat('x', {size})"


def test_a_result_is_rows_in_the_order_of_its_columns(asker: Asker, place: Target):
    outcome = asker.ask(place, f"SELECT x AS b, 'é' AS a, x + 1 AS b FROM {numbers(place, 3)} ORDER BY 1")
    assert outcome.status == "success", outcome
    assert outcome.columns == ("b", "a", "b")
    assert outcome.result_json == '[[1,"é",2],[2,"é",3],[3,"é",4]]'
    assert (outcome.row_count, outcome.truncated, outcome.error) == (3, False, None)
    assert outcome.duration_ms >= 0


@pytest.mark.parametrize("count", [9_999, 10_000])
def test_as_many_rows_as_allowed_are_kept(asker: Asker, place: Target, count: int):
    outcome = asker.ask(place, f"SELECT x FROM {numbers(place, count)}")
    assert (outcome.row_count, outcome.truncated) == (count, False)
    assert outcome.result_json is not None
    assert sorted(row[0] for row in json.loads(outcome.result_json)) == list(range(1, count + 1))


def test_more_rows_than_allowed_are_cut(asker: Asker, place: Target):
    outcome = asker.ask(place, f"SELECT x FROM {numbers(place, 10_001)}")
    assert (outcome.status, outcome.row_count, outcome.truncated) == ("success", 10_000, True)


def test_more_columns_than_allowed_are_cut(asker: Asker, place: Target):
    outcome = asker.ask(place, "SELECT " + ", ".join(f"{n} AS c{n}" for n in range(1_200)))
    assert (outcome.status, outcome.truncated) == ("success", True), outcome.error
    assert outcome.columns == tuple(f"c{n}" for n in range(1_000))
    assert outcome.result_json is not None
    assert json.loads(outcome.result_json) == [list(range(1_000))]


def test_a_longer_cell_than_allowed_is_cut(asker: Asker, place: Target):
    outcome = asker.ask(place, f"SELECT {repeat(place, 65_536)}, {repeat(place, 65_538)}, 1")
    assert (outcome.status, outcome.truncated) == ("success", True)
    assert outcome.result_json is not None
    [[whole, cut, one]] = json.loads(outcome.result_json)
    assert len(whole) == 65_536
    assert len(cut.encode()) == 65_536
    assert cut.endswith("…")
    assert one == 1


def test_a_larger_result_than_allowed_is_cut(asker: Asker, place: Target):
    outcome = asker.ask(place, f"SELECT x, {repeat(place, 50_000)} FROM {numbers(place, 400)}")
    assert (outcome.status, outcome.truncated) == ("success", True)
    assert outcome.result_json is not None
    assert 9_900_000 < len(outcome.result_json.encode()) <= Caps().result_bytes
    assert len(json.loads(outcome.result_json)) == outcome.row_count == 199


def test_a_nul_does_not_hide_the_rest_of_a_statement(asker: Asker, place: Target):
    assert asker.ask(place, "SELECT 1\0, 2").error == "the statement contains a NUL character"


def test_text_that_is_no_unicode_is_refused_and_the_next_query_runs(asker: Asker, place: Target):
    assert asker.ask(place, "SELECT '\ud800'").status == "failed"
    assert asker.value(place, "SELECT 1") == 1


def test_a_long_statement_is_only_long(asker: Asker, place: Target):
    assert asker.value(place, f"SELECT 1 -- {'x' * 500_000}") == 1


def test_a_statement_that_breaks_a_parser_fails_and_the_next_one_runs(asker: Asker, place: Target):
    depth = 200_000
    outcome = asker.ask(place, f"SELECT {'(' * depth}1{')' * depth}", timeout_s=60)
    assert outcome.status in ("failed", "timeout")
    assert outcome.error
    assert asker.value(place, "SELECT 1") == 1


def test_a_broken_statement_fails_with_a_reason(asker: Asker, place: Target):
    outcome = asker.ask(place, "SELEKT 1")
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "SELEKT" in outcome.error
    assert outcome.columns == ()
    assert outcome.result_json is None


def test_a_broken_statement_is_unreadable_to_nobody(asker: Asker, place: Target):
    outcome = asker.ask(place, "SELECT no_such_column_é")
    assert outcome.error is not None
    assert "no_such_column_é" in outcome.error


def test_many_runs_of_one_source_leave_it_as_it_was(asker: Asker, place: Target):
    for number in range(30):
        assert asker.value(place, f"SELECT {number}") == number
        assert asker.ask(place, "SELECT * FROM nothing_here").status == "failed"


def test_a_source_that_hangs_does_not_hold_up_the_others(asker: Asker, place: Target):
    with silent_server.silent() as port:
        hung = asker.start(f"postgresql://127.0.0.1:{port}/x", "SELECT 1", connect_s=3)
        eventually(lambda: any(runner.is_busy for runner in asker.executor.runners()))
        assert asker.value(place, "SELECT 1") == 1
        assert hung.outcome().status == "failed"


def test_the_self_test_names_the_server(asker: Asker, place: Target):
    assert asker.executor.self_test(place).server.split()[0] in ("SQLite", "PostgreSQL", "MariaDB", "DuckDB")


def test_an_empty_database_has_no_tables(asker: Asker, place: Target):
    assert asker.executor.tables(place) == []


@pytest.mark.parametrize("dialect", ["postgresql", "mysql"])
def test_a_server_that_is_gone_has_no_tables_to_list(asker: Asker, dialect: str):
    with silent_server.unused_port() as port:
        place = target(f"{dialect}://ann:hunter2@127.0.0.1:{port}/x")
        for look in (asker.executor.tables, asker.executor.self_test):
            with pytest.raises(SourceUnavailableError) as failure:
                look(place)
            assert "hunter2" not in str(failure.value)
