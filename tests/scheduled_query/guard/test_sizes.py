"""Values that a query makes by itself: their size can be read off, or they are only shown."""

import itertools
import time
from typing import Any

import psycopg
import pytest
from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.dialects import check

SERVERS = ["postgresql", "mysql"]
MAKERS = {
    "postgresql": [
        "repeat('a', {})",
        "lpad('a', {})",
        "rpad(name, {}, 'b')",
        "array_fill(1, ARRAY[{}])",
        "array_fill(1, ARRAY[2, {}])",
        "polygon({}, circle '((0,0),1)')",
        "\"repeat\"('a', {})",
        "pg_catalog.repeat('a', {})",
    ],
    "mysql": [
        "REPEAT('a', {})",
        "LPAD('a', {}, 'b')",
        "RPAD(name, {}, 'b')",
        "SPACE({})",
        "`repeat`('a', {})",
    ],
}
UNKNOWN = [
    "n",
    "t.n",
    "(SELECT n FROM t)",
    "(SELECT max(n) FROM t)",
    "n + 1",
    "2 * n",
    "length(name)",
    "CAST('150000' AS {int})",
    "abs(n)",
    "coalesce(n, 5)",
    "greatest(n, 5)",
    "CASE WHEN n > 5 THEN n ELSE 5 END",
    "(SELECT 150000 UNION SELECT 1)",
    "150000 / n",
    "150000 - n",
]
TOO_LARGE = [
    "150000",
    "(SELECT 150000)",
    "(SELECT 150000 AS size)",
    "((SELECT (150000)))",
    "15 * 10000",
    "149999 + 1",
    "coalesce(150000, 1)",
    "greatest(1, 150000)",
    "CASE WHEN n > 5 THEN 150000 ELSE 5 END",
    "least(n, 150000)",
    "n % 150000",
    "150000 / 1",
    "round(150000.4)",
    "-(-150000)",
]
SMALL = [
    "3",
    "(SELECT 3)",
    "2 * 3",
    "least(n, 100)",
    "n % 80",
    "mod(n, 80)",
    "coalesce(NULL, 5)",
    "CASE WHEN n > 5 THEN 6 ELSE 5 END",
    "100 / 2",
    "CAST(5 AS {int})",
    "least(length(name), 20)",
]
# where a value is more than shown
USES = {
    "postgresql": [
        "SELECT strpos(name, {}::text) FROM t",
        "SELECT name FROM t WHERE name LIKE '%' || {}::text",
        "SELECT x FROM (SELECT {} AS x, name FROM t) AS s",
        "WITH s AS (SELECT {} AS x, name FROM t) SELECT x FROM s",
        "SELECT CASE WHEN {}::text = 'a' THEN 1 END FROM t",
        "SELECT count(*) FROM t HAVING max(length({}::text)) > 5",
        "SELECT name FROM t ORDER BY length({}::text)",
        "SELECT 1 FROM t JOIN u ON u.a = {}::text",
    ],
    "mysql": [
        "SELECT LOCATE({}, name) FROM t",
        "SELECT name FROM t WHERE name LIKE CONCAT('%', {})",
        "SELECT x FROM (SELECT {} AS x, name FROM t) AS s",
        "SELECT {} AS x, n, name FROM t HAVING LOCATE(x, name) > 5",
        "SELECT {} AS X, n, name FROM t ORDER BY LOCATE(`x`, name)",
        "SELECT REPLACE(name, 'a', {}) FROM t",
    ],
}
SHOWN = [
    "SELECT {} AS bar, name FROM t",
    "SELECT concat(name, {}) FROM t ORDER BY 1",
    "SELECT CASE WHEN n > 0 THEN {} ELSE name END AS bar FROM t ORDER BY bar",
    "SELECT name FROM t UNION ALL SELECT {} FROM t",
]


def rule(sql: str, dialect: str) -> str | None:
    verdict = check(sql, dialect)
    return verdict.rule if isinstance(verdict, Rejection) else None


def sizes(kinds: list[str], dialect: str) -> list[str]:
    return [size.replace("{int}", "int" if dialect == "postgresql" else "SIGNED") for size in kinds]


def fuzzed(dialect: str, kinds: list[str]) -> list[str]:
    """Every maker with every size, and these in turn in one use after the other: all meet in the end."""
    values = [
        maker.replace("{}", size) for maker, size in itertools.product(MAKERS[dialect], sizes(kinds, dialect))
    ]
    uses = itertools.cycle(USES[dialect])
    return [use.replace("{}", value) for value, use in zip(values * 2, uses, strict=False)]


@pytest.mark.parametrize("dialect", SERVERS)
def test_a_value_whose_size_cannot_be_read_off_is_refused_where_it_is_used(dialect: str) -> None:
    assert [sql for sql in fuzzed(dialect, UNKNOWN) if rule(sql, dialect) != "endless"] == []


@pytest.mark.parametrize("dialect", SERVERS)
def test_a_value_that_is_too_large_is_refused_everywhere(dialect: str) -> None:
    texts = [maker.replace("{}", size) for maker in MAKERS[dialect] for size in sizes(TOO_LARGE, dialect)]
    assert [text for text in texts if rule(f"SELECT {text} FROM t", dialect) != "endless"] == []


@pytest.mark.parametrize("dialect", SERVERS)
def test_a_value_whose_size_is_bounded_passes_everywhere(dialect: str) -> None:
    refused = {sql: rule(sql, dialect) for sql in fuzzed(dialect, SMALL)}
    assert {sql: found for sql, found in refused.items() if found} == {}


@pytest.mark.parametrize("dialect", SERVERS)
@pytest.mark.parametrize("shown", SHOWN)
def test_a_bar_of_any_length_may_be_shown(dialect: str, shown: str) -> None:
    for size in ("n", "length(name)", "round(100 * n / 7)"):
        assert rule(shown.replace("{}", f"repeat('#', {size})"), dialect) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT repeat(',1 1,0 3', 5000)",
        "SELECT repeat('abc', 0x1000)",
        "SELECT lpad('a', 9000) || lpad('b', 9000) || lpad('c', 9000)",
    ],
)
def test_texts_are_measured_as_a_whole(sql: str) -> None:
    assert rule(sql, "mysql" if "0x" in sql else "postgresql") == "endless"


def test_a_width_that_is_an_argument_may_only_be_shown() -> None:
    assert rule("SELECT format('%*s', n, name) FROM t", "postgresql") is None
    assert rule("SELECT strpos(format('%*s', n, name), 'a') FROM t", "postgresql") == "endless"
    assert rule("SELECT strpos(format('%s', name), 'a') FROM t", "postgresql") is None


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_what_ends_with_its_runner_needs_no_bound(dialect: str) -> None:
    value = "lpad('a', n)" if dialect == "duckdb" else "hex(zeroblob(n))"
    assert rule(f"SELECT length({value}) FROM t", dialect) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT xpath('//a', doc) FROM t",
        "SELECT xpath_exists('//a', doc) FROM t",
        "SELECT * FROM xmltable('//a' PASSING '<a/>' COLUMNS b text)",
        "SELECT xmlexists('//a' PASSING doc) FROM t",
        "SELECT \"xpath\"('//a', doc) FROM t",
        "SELECT pg_catalog.xpath('//a', doc) FROM t",
    ],
)
def test_paths_through_xml_are_refused_because_nothing_stops_them(sql: str) -> None:
    assert rule(sql, "postgresql") in ("function", "parse", "node")


def test_the_longest_texts_that_pass_are_done_with_soon(postgres_url: str) -> None:
    """On the bare server: with ten times their length, nothing stops this for minutes."""
    sql = "SELECT translate(repeat('a', 9999), repeat('b', 5000), repeat('c', 5000))"
    assert rule(sql, "postgresql") is None
    assert rule(sql.replace("9", "99999"), "postgresql") == "endless"
    connection: Any = psycopg.connect(postgres_url.replace("+psycopg", ""))
    with connection:
        started = time.monotonic()
        connection.execute(sql).fetchall()
    assert time.monotonic() - started < 30
