"""EXPLAIN, SHOW, DESCRIBE and PRAGMA: what only looks is allowed, word by word."""

import pytest
from plugbay_scheduled_query.core.guard import Allowed, Rejection
from plugbay_scheduled_query.dialects import check


def verdict(sql: str, dialect: str) -> str:
    outcome = check(sql, dialect)
    return outcome.kind if isinstance(outcome, Allowed) else outcome.rule


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("sqlite", "EXPLAIN {}"),
        ("sqlite", "EXPLAIN QUERY PLAN {}"),
        ("postgresql", "EXPLAIN {}"),
        ("postgresql", "EXPLAIN ANALYZE VERBOSE {}"),
        ("postgresql", "EXPLAIN (ANALYZE, BUFFERS OFF, FORMAT JSON) {}"),
        ("mysql", "EXPLAIN {}"),
        ("mysql", "DESCRIBE {}"),
        ("mysql", "EXPLAIN FORMAT=JSON {}"),
        ("mysql", "ANALYZE {}"),
        ("duckdb", "EXPLAIN {}"),
        ("duckdb", "EXPLAIN ANALYZE {}"),
        ("duckdb", "EXPLAIN (FORMAT json) {}"),
    ],
)
def test_the_plan_of_a_query_may_be_seen_if_the_query_may_be_run(dialect: str, sql: str) -> None:
    assert verdict(sql.replace("{}", "SELECT a FROM t"), dialect) == "explain"
    assert verdict(sql.replace("{}", "WITH x AS (SELECT 1) SELECT * FROM x"), dialect) == "explain"
    for hostile in (
        "UPDATE t SET a = 1",
        "SELECT load_extension(1), lo_create(1), sleep(1), glob(1)",
        "CREATE TABLE x (a)",
    ):
        assert isinstance(check(sql.replace("{}", hostile), dialect), Rejection)


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("postgresql", "EXPLAIN (ANALYZE, EVIL) SELECT 1"),
        ("postgresql", "EXPLAIN (ANALYZE"),
        ("postgresql", "EXPLAIN (ANALYZE)"),
        ("postgresql", "EXPLAIN EXECUTE x"),
        ("mysql", "EXPLAIN FOR CONNECTION 5"),
        ("mysql", "ANALYZE TABLE t"),
        ("mysql", "ANALYZE NO_WRITE_TO_BINLOG TABLE t"),
        ("mysql", "EXPLAIN FORMAT=JSON"),
        ("duckdb", "EXPLAIN COPY t TO 'x'"),
    ],
)
def test_an_explain_that_is_not_of_a_query_is_refused(dialect: str, sql: str) -> None:
    assert verdict(sql, dialect) in ("not_a_query", "write")


@pytest.mark.parametrize(
    "sql", ["SHOW x", "SHOW a.b", "SHOW ALL", "SHOW TIME ZONE", 'SHOW "x"', "show Search_Path;"]
)
def test_postgresql_shows_its_settings(sql: str) -> None:
    assert verdict(sql, "postgresql") == "show"


@pytest.mark.parametrize("sql", ["SHOW", "SHOW a b", "SHOW 'x'", "SHOW x()", "SHOW a.", "SHOW ALL x"])
def test_postgresql_shows_nothing_else(sql: str) -> None:
    assert verdict(sql, "postgresql") == "not_a_query"


@pytest.mark.parametrize(
    "sql",
    [
        "SHOW TABLES",
        "SHOW FULL TABLES FROM a LIKE 'x%'",
        "SHOW COLUMNS FROM t FROM a",
        "SHOW INDEX IN t IN a",
        "SHOW CREATE TABLE a.t",
        "SHOW GLOBAL STATUS LIKE 'x'",
        "SHOW GLOBAL STATUS WHERE Variable_name IN ('x', 'y') AND Value > 1",
        "SHOW TABLES FROM a WHERE lower(b) = (SELECT max(c) FROM d)",
        "SHOW ENGINE INNODB STATUS",
        "SHOW ALL SLAVES STATUS",
        "DESC t",
        "DESCRIBE a.t c",
        "DESCRIBE t 'c%'",
        "EXPLAIN t",
    ],
)
def test_mysql_shows_schema_and_state(sql: str) -> None:
    assert verdict(sql, "mysql") == "show"


@pytest.mark.parametrize(
    "sql",
    [
        "SHOW",
        "SHOW EVIL",
        "SHOW BINLOG EVENTS",
        "SHOW CREATE USER x",
        "SHOW WHERE 1",
        "SHOW TABLES LIKE sleep(1)",
        "SHOW TABLES FROM (SELECT 1)",
        "SHOW CREATE TABLE t u",
        "SHOW COLUMNS t",
        "DESCRIBE t c d",
        "DESCRIBE 't'",
        "DESC sleep(1)",
    ],
)
def test_mysql_shows_nothing_else(sql: str) -> None:
    assert verdict(sql, "mysql") == "not_a_query"


@pytest.mark.parametrize(
    "sql",
    [
        "PRAGMA table_info(t)",
        "PRAGMA main.table_info('t')",
        "pragma user_version",
        "PRAGMA [table_list]",
        "PRAGMA integrity_check(5)",
    ],
)
def test_sqlite_tells_by_pragma(sql: str) -> None:
    assert verdict(sql, "sqlite") == "show"


@pytest.mark.parametrize(
    "sql",
    [
        "PRAGMA",
        "PRAGMA user_version = 5",
        "PRAGMA user_version(5)",
        "PRAGMA table_info = t",
        "PRAGMA table_info(t, u)",
        "PRAGMA table_info('t''; DROP')",
        "PRAGMA table_info(load_extension('x'))",
        "PRAGMA writable_schema",
        "PRAGMA optimize",
        "PRAGMA 5",
        "PRAGMA a b",
    ],
)
def test_sqlite_changes_nothing_by_pragma(sql: str) -> None:
    assert verdict(sql.replace("DROP", "x"), "sqlite") == "not_a_query"


@pytest.mark.parametrize(
    "sql",
    [
        "DESCRIBE",
        "DESCRIBE t",
        "SHOW a.t",
        "SUMMARIZE SELECT 1",
        "DESCRIBE TABLE t",
        "SUMMARIZE FROM t",
        "SHOW ALL TABLES",
        "PRAGMA table_info('t')",
        "PRAGMA version",
    ],
)
def test_duckdb_describes_and_summarizes(sql: str) -> None:
    assert verdict(sql, "duckdb") == "show"


@pytest.mark.parametrize(
    "sql",
    [
        "DESCRIBE 'a.csv'",
        "DESCRIBE a.csv",
        "SUMMARIZE 'a.csv'",
        "SUMMARIZE FROM a.csv",
        "DESCRIBE t u",
        "SHOW 5",
        "PRAGMA enable_profiling",
        "PRAGMA threads = 5",
        "PRAGMA table_info('t', 5)",
        "PRAGMA",
        "DESCRIBE INSERT INTO t VALUES (1)",
    ],
)
def test_duckdb_describes_no_files_and_changes_nothing(sql: str) -> None:
    assert verdict(sql, "duckdb") in ("not_a_query", "table", "parse")


def test_a_second_statement_behind_a_look_is_refused() -> None:
    for dialect, sql in (
        ("mysql", "SHOW TABLES"),
        ("sqlite", "PRAGMA user_version"),
        ("duckdb", "DESCRIBE t"),
    ):
        assert verdict(f"{sql}; SELECT 1", dialect) == "statements"


def test_databases_that_are_not_known_show_nothing() -> None:
    assert verdict("SHOW TABLES", "oracle") == "not_a_query"
    assert verdict("EXPLAIN SELECT 1", "mssql") == "not_a_query"


@pytest.mark.parametrize(
    ("condition", "rule"),
    [
        ("sleep(1)", "function"),
        ("evil(1)", "function"),
        ("a = (SELECT 1 INTO OUTFILE 'x')", "into"),
        ("a = (SELECT authentication_string FROM mysql.user)", "table"),
        ("a = (SELECT b FROM c FOR UPDATE)", "lock"),
        ("@a := 1", "variable"),
    ],
)
def test_the_condition_of_a_show_is_judged_like_that_of_a_query(condition: str, rule: str) -> None:
    assert verdict(f"SHOW TABLES WHERE {condition}", "mysql") == rule
