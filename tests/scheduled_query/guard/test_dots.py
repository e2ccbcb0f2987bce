"""PostgreSQL calls functions by a dot; columns behind a dot must still be readable."""

import pytest
from plugbay_scheduled_query.core.guard import Allowed, Rejection
from plugbay_scheduled_query.dialects import check


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT (1::oid).lo_create",
        'SELECT (a)."lo_create" FROM t',
        "SELECT (a).b.pg_sleep FROM t",
        "SELECT ((ARRAY[1])[1]).lo_create",
        "SELECT a[1].lo_create FROM t",
        "SELECT (x).dblink_connect FROM t",
        "SELECT t.lo_create FROM t",
        "SELECT g.pg_sleep FROM unnest(ARRAY[1.0]) AS g",
        "SELECT g.my_function FROM unnest(ARRAY[1.0]) AS g (a)",
        "SELECT unnest.my_function FROM unnest(ARRAY[1.0])",
        "SELECT g.my_function FROM t CROSS JOIN LATERAL unnest(t.a) g",
        "SELECT g.my_function FROM t LEFT JOIN LATERAL public.rows_of(t.a) g ON true",
        "SELECT x.my_function FROM t, LATERAL (SELECT 1) AS x, unnest(ARRAY[1]) AS x",
        "SELECT g.my_function FROM ROWS FROM (unnest(ARRAY[1])) g",
        "SELECT c.my_function FROM cast('1' AS int) c",
        "SELECT u.my_function FROM current_user u",
        'SELECT "G".my_function FROM unnest(ARRAY[1]) "G"',
        "SELECT 1 FROM unnest(ARRAY[1]) g ORDER BY g.my_function",
    ],
)
def test_a_dot_does_not_call(sql: str) -> None:
    verdict = check(sql, "postgresql")
    assert isinstance(verdict, Rejection)
    assert verdict.rule == "function"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT o.net_amount, o.http_status, o.invoke, o.exec FROM orders o",
        "SELECT (ship).city, (o.ship).street FROM orders o",
        "SELECT e.key, e.value FROM t, jsonb_each(t.a) e",
        "SELECT g.n FROM generate_series(1, 3) AS g (n)",
        "SELECT g.g, g.* FROM generate_series(1, 3) g",
        "SELECT generate_series.generate_series FROM generate_series(1, 3)",
        'SELECT x."naïve" FROM json_to_record(a) AS x ("naïve" int)',
        "SELECT x.n FROM t LEFT JOIN LATERAL (SELECT count(*) AS n FROM u WHERE u.id = t.id) x ON true",
        "SELECT x.n FROM t, LATERAL (SELECT max(a) AS n FROM u WHERE u.id = t.id) AS x",
        "SELECT j.a FROM t, json_table(t.a, '$[*]' COLUMNS (a text PATH '$.a')) AS j",
        "SELECT pg_catalog.lower(a) FROM pg_catalog.pg_class c WHERE c.relname = 'x'",
    ],
)
def test_columns_behind_a_dot_are_read(sql: str) -> None:
    assert check(sql, "postgresql") == Allowed()


def test_the_reason_says_how_to_write_it() -> None:
    verdict = check("SELECT g.total FROM my_rows() g", "postgresql")
    assert isinstance(verdict, Rejection)
    verdict = check("SELECT g.total FROM json_each(a) g", "postgresql")
    assert isinstance(verdict, Rejection)
    assert verdict.reason.endswith("give its columns names, AS g (a, b), or leave “g.” out.")


def test_other_databases_have_no_such_calls() -> None:
    assert check("SELECT t.sleep, t.load_file FROM t", "mysql") == Allowed()
    assert check("SELECT t.load_extension FROM t", "sqlite") == Allowed()
