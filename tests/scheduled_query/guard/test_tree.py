from collections import Counter

import pytest
from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.core.guard.parsing import PlainText
from plugbay_scheduled_query.core.guard.tree import reject_tree
from plugbay_scheduled_query.dialects import language_named

from .cutting import tokens


def rejection(sql: str, dialect: str = "postgresql", unknown: Counter[str] | None = None) -> Rejection | None:
    """What the tree alone says, without the rules on words that stand before it."""
    named = language_named(dialect)
    plain = PlainText(tokens(sql, dialect), named.functions, frozenset(), named.quote)
    outcome = reject_tree(
        plain, named.parser, named.functions.harmless, unknown or Counter(), named.table_rule
    )
    return outcome if isinstance(outcome, Rejection) else None


def rule(sql: str, dialect: str = "postgresql") -> str | None:
    refused = rejection(sql, dialect)
    return refused.rule if refused else None


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t VALUES (1)",
        "UPDATE t SET a = 1",
        "DELETE FROM t",
        "CREATE TABLE t (a int)",
        "DROP TABLE t",
        "ALTER TABLE t ADD COLUMN a int",
        "SET x = 1",
        "COMMIT",
        "GRANT SELECT ON t TO u",
        "COPY t TO 'x'",
        "1 + 1",
        "a",
    ],
)
def test_the_root_must_be_a_query(sql: str) -> None:
    assert rule(sql) in ("not_a_query", "parse", "node")


@pytest.mark.parametrize(
    "sql",
    [
        "WITH x AS (DELETE FROM t RETURNING a) SELECT * FROM x",
        "WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT * FROM x",
        "WITH x AS (UPDATE t SET a = 1 RETURNING a) SELECT * FROM x",
        "SELECT * FROM t FOR UPDATE",
        "SELECT * FROM (SELECT * FROM t FOR SHARE) x",
        "SELECT a INTO b FROM t",
    ],
)
def test_the_tree_alone_stops_writes_locks_and_into(sql: str) -> None:
    assert rule(sql) in ("node", "not_a_query", "parse")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "((SELECT 1))",
        "SELECT a FROM t UNION SELECT b FROM u EXCEPT SELECT 1",
        "WITH x AS (SELECT 1) SELECT * FROM x",
        "SELECT CASE WHEN a THEN b END, a BETWEEN 1 AND 2, a IS NULL, NOT a, -a, a || b FROM t",
        "SELECT sum(a) OVER (PARTITION BY b ORDER BY c) FROM t GROUP BY ROLLUP (a) HAVING a > 1 LIMIT 5",
        "SELECT * FROM a JOIN b USING (c) CROSS JOIN LATERAL (SELECT 1) d",
    ],
)
def test_queries_are_made_of_what_is_allowed(sql: str) -> None:
    assert rule(sql) is None


def test_a_refused_node_has_a_name_for_people() -> None:
    refused = rejection("SELECT * FROM (SELECT * FROM t FOR UPDATE) x")
    assert refused is not None
    assert refused.reason == "A query may not hold a lock on rows; only what reads is allowed."


def test_an_alias_with_columns_accounts_for_one_bracket() -> None:
    sql = "WITH f (a) AS (SELECT 1) SELECT * FROM f"
    assert rejection(sql, unknown=Counter({"f": 1})) is None
    refused = rejection(sql, unknown=Counter({"f": 2}))
    assert refused is not None
    assert refused.rule == "function"
    assert "allowed_functions" in refused.reason


@pytest.mark.parametrize("name", ["percent", "filter", "minus", "key", "index", "nested", "zone"])
def test_a_word_of_the_language_that_is_called_is_an_unknown_function(name: str) -> None:
    refused = rejection(f"SELECT {name}(1)")
    assert refused is not None
    assert refused.rule in ("function", "parse")


def test_an_alias_may_be_quoted() -> None:
    assert rejection('SELECT * FROM t AS "F" (a)', unknown=Counter({"f": 1})) is None


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("postgresql", "SELECT * FROM pg_authid"),
        ("postgresql", 'SELECT * FROM pg_catalog."pg_shadow" s'),
        ("postgresql", "SELECT (SELECT 1 FROM pg_authid)"),
        ("postgresql", "TABLE pg_authid"),
        ("mysql", "SELECT * FROM mysql.user"),
        ("mysql", "SELECT * FROM `mysql`.`global_priv`"),
        ("mysql", "SELECT 1 FROM t JOIN MySQL.Servers"),
        ("sqlite", "SELECT * FROM sqlite_dbpage"),
        ("sqlite", "SELECT * FROM main.[sqlite_dbpage]"),
        ("sqlite", "SELECT 1 WHERE 1 IN sqlite_dbpage"),
        ("sqlite", "SELECT * FROM pragma_journal_mode"),
        ("duckdb", "FROM 'a.csv'"),
        ("duckdb", 'FROM "a.csv"'),
        ("duckdb", "FROM a.csv"),
        ("duckdb", "FROM a.b.parquet"),
        ("duckdb", 'FROM "s3://a/b"'),
        ("duckdb", 'FROM "a*"'),
        ("duckdb", "FROM t JOIN `x/y` ON true"),
        ("duckdb", "SELECT * FROM histogram('a', b)"),
    ],
)
def test_some_tables_may_not_be_read(dialect: str, sql: str) -> None:
    assert rule(sql, dialect) == "table"


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("postgresql", "SELECT * FROM pg_class, pg_stat_activity, information_schema.tables"),
        ("mysql", "SELECT * FROM mysql.time_zone_name JOIN information_schema.tables JOIN user"),
        ("sqlite", "SELECT * FROM sqlite_master, pragma_table_info('t'), dbstat"),
        ("sqlite", "SELECT 1 WHERE 1 IN t"),
        ("duckdb", 'FROM main.t, "My Table", "größen-tabelle", csv, memory.main.json_data'),
        ("duckdb", "SELECT t.csv, histogram(a) FROM t"),
    ],
)
def test_all_other_tables_may(dialect: str, sql: str) -> None:
    assert rule(sql, dialect) is None


def test_lateral_needs_a_query_or_a_function() -> None:
    assert rule("SELECT * FROM t, LATERAL pg_catalog.unnest(t.a) u") is None
    assert rule("SELECT * FROM LATERAL pg_shadow") == "parse"
