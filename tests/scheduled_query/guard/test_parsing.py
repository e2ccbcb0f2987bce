"""The parser within its bounds: depth, steps, and no trouble whatever it is given."""

import sys
import threading
import time
from itertools import cycle

import pytest
from plugbay_scheduled_query.core.guard import Allowed, Rejection, Rules
from plugbay_scheduled_query.core.guard.parsing import parse_one
from plugbay_scheduled_query.dialects import check
from sqlglot import exp

PARSERS = ["sqlite", "postgres", "mysql", "duckdb", ""]


def rule(sql: str, parser: str) -> str | None:
    outcome = parse_one(sql, parser)
    return outcome.rule if isinstance(outcome, Rejection) else None


@pytest.mark.parametrize("parser", PARSERS)
def test_a_query_becomes_a_tree(parser: str) -> None:
    assert isinstance(parse_one("SELECT a FROM b", parser), exp.Select)


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("sql", ["SELECT FROM WHERE", "SELECT (", "SELEC 1 FROM", ") (", "SELECT 1 1 1", "'"])
def test_what_is_no_sql_is_refused(parser: str, sql: str) -> None:
    assert rule(sql, parser) == "parse"


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("sql", ["", "SELECT 1; SELECT 2", ";"])
def test_exactly_one_statement_is_a_tree(parser: str, sql: str) -> None:
    assert rule(sql, parser) == "statements"


NESTED = {
    "brackets": lambda n: "SELECT " + "(" * n + "1" + ")" * n,
    "functions": lambda n: "SELECT " + "abs(" * n + "1" + ")" * n,
    "queries": lambda n: "SELECT " + "(SELECT " * n + "1" + ")" * n,
    "cases": lambda n: "SELECT " + "CASE WHEN 1 = 1 THEN " * n + "1" + " END" * n,
    "arrays": lambda n: "SELECT " + "ARRAY[" * n + "1" + "]" * n,
    "structs": lambda n: "SELECT " + "struct(" * n + "1" + ")" * n,
    "decimals": lambda n: "SELECT " + "decimal(" * n + "1" + ")" * n,
    "nots": lambda n: "SELECT " + "NOT " * n + "1",
}


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("shape", NESTED)
def test_a_gentle_depth_is_parsed(parser: str, shape: str) -> None:
    if shape != "arrays" or parser in ("postgres", "duckdb"):
        assert not isinstance(parse_one(NESTED[shape](6), parser), Rejection)


@pytest.mark.parametrize("parser", ["mysql", "duckdb"])
@pytest.mark.parametrize("shape", NESTED)
def test_a_great_depth_is_refused_within_seconds_and_without_harm(parser: str, shape: str) -> None:
    started = time.process_time()
    assert rule(NESTED[shape](3000), parser) in ("depth", "parse")
    assert time.process_time() - started < 30  # far above what it takes, far below what doubling would


def test_thirty_nested_functions_are_no_great_depth() -> None:
    for dialect in ("sqlite", "postgresql", "mysql", "duckdb"):
        sql = "SELECT " + "replace(" * 30 + "a" + ", 'x', 'y')" * 30 + " FROM t"
        assert check(sql, dialect) == Allowed()


def test_how_deep_a_query_may_be_does_not_depend_on_how_deep_its_caller_is() -> None:
    sql = NESTED["functions"](30)

    def deep(levels: int) -> object:
        return deep(levels - 1) if levels else parse_one(sql, "mysql")

    assert not isinstance(deep(sys.getrecursionlimit() - 200), Rejection)


def test_no_thread_is_left_behind() -> None:
    before = threading.active_count()
    for _ in range(5):
        parse_one("SELECT 1", "sqlite")
    assert threading.active_count() == before


LONG = {
    "a list": "SELECT a FROM t WHERE a IN (" + ", ".join(map(str, range(15_000))) + ")",
    "a sum": "SELECT " + " + ".join(["1"] * 24_000),
    "a text": "SELECT '" + "x" * 99_900 + "'",
    "a comment": "SELECT 1 /* " + "x" * 99_900 + " */",
    "many columns": "SELECT " + ", ".join(f"c{n}" for n in range(13_000)),
    "many names": "SELECT " + ", ".join(f'"c{n}"' for n in range(10_000)),
    "many queries": " UNION ALL ".join(["SELECT a, b FROM t"] * 3_400),
    "and upon and": "SELECT 1 WHERE " + " AND ".join(["a = 1"] * 9_000),
    "quotes": "SELECT " + "''" * 49_000,
    "dollars": "SELECT $" + "a" * 99_000,
    "opened comments": "SELECT " + "/*" * 49_000,
    "brackets": "SELECT " + "(" * 99_000,
    "semicolons": "SELECT 1" + ";" * 99_000,
    "dots": "SELECT a" + ".a" * 49_000,
    "commas": "SELECT 1" + "," * 99_000,
    "operators": "SELECT 1" + "-+" * 49_000 + "1",
}


DIALECTS = cycle(["sqlite", "postgresql", "mysql", "duckdb"])


@pytest.mark.parametrize(("shape", "dialect"), [(shape, next(DIALECTS)) for shape in LONG])
def test_the_longest_text_is_judged_in_bounded_time(shape: str, dialect: str) -> None:
    assert len(LONG[shape]) <= 100_000
    started = time.process_time()
    check(LONG[shape], dialect, Rules())
    assert time.process_time() - started < 30
