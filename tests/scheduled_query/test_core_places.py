"""Where errors are: messages as SQLite, PostgreSQL, MariaDB and DuckDB write them, and the guard's own."""

import pytest
from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.core.places import Place, excerpt, failed_at, rejected_at, with_excerpt
from plugbay_scheduled_query.dialects import check

TWO_LINES = "SELECT region\nFORM orders"
MARIADB = "You have an error in your SQL syntax; check the manual … to use near '{}' at line {} (1064)"


@pytest.mark.parametrize(
    ("sql", "message", "expected"),
    [
        (TWO_LINES, 'near "orders": syntax error', Place(2, 6)),
        ("SELECT a,, b,", 'near ",": syntax error', None),  # three of them: nobody knows which
        ("SELECT 'orders' FORM orders", 'near "orders": syntax error', Place(1, 22)),
        ("SELECT id,\n  statuss\nFROM t", "no such column: statuss", Place(2, 3)),
        ("SELECT -- t.x\n t.x FROM t", "no such column: t.x", Place(2, 2)),
        ('SELECT "my col" FROM t', "no such column: my col", None),
        ("SELECT 1 FROM main.nothing", "no such table: main.nothing", Place(1, 15)),
        ("SELECT foo(1)", "no such function: foo", Place(1, 8)),
        ("SELECT id FROM a, b", "ambiguous column name: id", Place(1, 8)),
        (TWO_LINES, MARIADB.format("orders", 2), Place(2, 6)),
        ("SELECT 1\nFROM a\nWHER b", MARIADB.format("b", 3), Place(3, 6)),
        ("SELECT o.statuss FROM orders o", "Unknown column 'o.statuss' in 'SELECT' (1054)", Place(1, 8)),
        ("SELECT 1 FROM nothing", "Table 'shop.nothing' doesn't exist (1146)", Place(1, 15)),
        ("SELECT 1 FROM `nothing`", "Table 'shop.nothing' doesn't exist (1146)", Place(1, 15)),
        (
            "SELECT 1,\n\tstatuss",
            'column "statuss" does not exist\nLINE 2:  statuss\n         ^',
            Place(2, 2),
        ),
        (
            "SELECT " + "1, " * 40 + "statuss" + ", 1" * 40,
            'column "statuss" does not exist\nLINE 1: ...1, 1, statuss, 1, 1...\n                 ^',
            Place(1, 128),
        ),
        (
            "SELECT statuss FROM t",
            "Binder Error: not found!\n\nLINE 1: SELECT statuss FROM t\n               ^",
            Place(1, 8),
        ),
        ("SELECT 1", "syntax error\nLINE 4: what is not there\n        ^", None),
        ("SELECT 1", "the time limit of 30 s was reached", None),
    ],
)
def test_a_database_tells_where_its_error_is(sql: str, message: str, expected: Place | None):
    assert failed_at(sql, message) == expected


@pytest.mark.parametrize(
    ("sql", "dialect", "expected"),
    [
        ("SELECT 1\nFROM log WHERE action = 'Delete'", "sqlite", Place(2, 26)),
        ("SELECT 1; SELECT 2", "sqlite", Place(1, 11)),
        ("UPDATE t SET a = 1", "sqlite", Place(1, 1)),
        ("SELECT 'pg_sleep', -- pg_sleep\n pg_sleep(1)", "postgresql", Place(2, 2)),
        ("SELECT a.b FROM t WHERE pg_catalog.pg_sleep(1)", "postgresql", Place(1, 25)),
        ("SELECT no_such_function(1)", "sqlite", Place(1, 8)),
        ("SELECT 1 INTO x FROM t", "postgresql", Place(1, 10)),
        ("SELECT ?", "sqlite", Place(1, 8)),
        ("SELECT 1 FROM t WHERE a = 'x", "sqlite", Place(1, 27)),
        ("SELECT '\u202e'", "sqlite", Place(1, 9)),
        ("SELECT region -- region\nFORM orders", "sqlite", Place(2, 6)),
        ("SELECT \"a b\", 'text' 'more',\n  (1 + \nFROM t", "postgresql", Place(3, 1)),
        ("SELECT a FROM t GROUP a", "mysql", Place(1, 23)),
        ("SELECT a FROM t WHERE", "duckdb", Place(1, 17)),
        ("", "sqlite", None),
    ],
)
def test_the_guard_tells_where_its_rule_is_broken(sql: str, dialect: str, expected: Place | None):
    verdict = check(sql, dialect)
    assert isinstance(verdict, Rejection)
    assert rejected_at(sql, verdict) == expected


def test_the_caret_stands_below_its_place():
    assert excerpt("SELECT 1,\n  oops", Place(2, 3)) == "2 |   oops\n  |   ^"


def test_the_caret_counts_tabs_and_wide_letters_as_they_are_shown():
    assert excerpt("\tSELECT '値', x", Place(1, 14)) == "1 |  SELECT '値', x\n  | " + " " * 14 + "^"


def test_a_long_line_is_cut_around_its_place():
    lines = excerpt("x" * 500 + "!" + "y" * 500, Place(1, 501)).split("\n")
    assert len(lines[0]) == len("1 | ") + 120
    assert lines[0][lines[1].index("^")] == "!"


def test_what_the_database_shows_is_not_shown_twice():
    shown = 'column "x" does not exist\nLINE 1: SELECT x\n               ^'
    assert with_excerpt("SELECT x", shown, Place(1, 8)) == shown
    assert with_excerpt("SELECT x", "no such column: x", Place(1, 8)).endswith("1 | SELECT x\n  |        ^")
    assert with_excerpt("SELECT x", "out of memory", None) == "out of memory"
