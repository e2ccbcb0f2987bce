from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
import silent_server
import sqlalchemy as sa
from plugbay_scheduled_query.core.errors import SourceRefusedError, SourceUnavailableError
from plugbay_scheduled_query.core.source import IDENTITY_SQL, OwnStore, StoreIdentity
from plugbay_scheduled_query.dialects.contract import Params
from plugbay_scheduled_query.dialects.postgresql.session import PostgresqlSession
from plugbay_scheduled_query.executor import time_limit
from plugbay_scheduled_query.runner.protocol import Caps
from runner_kit import NOWHERE, Asker, eventually, target


@pytest.fixture
def shop(postgres_url: str) -> Iterator[psycopg.Connection]:
    """The superuser's own connection to the database of the test, with a table of orders."""
    plain = sa.make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute("CREATE TABLE orders (id serial PRIMARY KEY, item text, deleted_at timestamptz)")
        connection.execute("INSERT INTO orders (item) VALUES ('tea'), ('milk')")
        yield connection


@pytest.fixture
def reader_url(shop: psycopg.Connection, postgres_url: str) -> Iterator[str]:
    """The URL of a role that can read the orders and do nothing else."""
    name = f"reader_{shop.info.backend_pid}"
    shop.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'hunter2'")
    shop.execute(f"GRANT SELECT ON orders TO {name}")
    yield (
        sa.make_url(postgres_url).set(username=name, password="hunter2").render_as_string(hide_password=False)
    )
    shop.execute(f"DROP OWNED BY {name}")
    shop.execute(f"DROP ROLE {name}")


def running(shop: psycopg.Connection, part: str) -> list[int]:
    """The sessions in which a statement with this in its text is at work."""
    found = shop.execute(
        "SELECT pid FROM pg_stat_activity"
        " WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE %s",
        (f"%{part}%",),
    )
    return [pid for (pid,) in found]


def test_a_query_returns_columns_and_rows(asker: Asker, shop: psycopg.Connection, postgres_url: str):
    outcome = asker.ask(postgres_url, "SELECT id, item AS id FROM orders WHERE deleted_at IS NULL ORDER BY 1")
    assert outcome.status == "success"
    assert (outcome.columns, outcome.result_json) == (("id", "id"), '[[1,"tea"],[2,"milk"]]')


def test_an_empty_result_has_its_columns(asker: Asker, shop: psycopg.Connection, postgres_url: str):
    outcome = asker.ask(postgres_url, "SELECT id, item FROM orders WHERE false")
    assert (outcome.columns, outcome.result_json, outcome.row_count) == (("id", "item"), "[]", 0)


VALUES = [
    ("NULL", "null"),
    ("true", "true"),
    ("9223372036854775807", "9223372036854775807"),
    ("1.10::numeric", "1.10"),
    ("12345678901234567890123456789.123456789012345678901234567890", None),
    ("repeat('9', 5000)::numeric", '"' + "9" * 5000 + '"'),
    ("'NaN'::numeric", '"NaN"'),
    ("'-Infinity'::numeric", '"-Infinity"'),
    ("0.1::float8", "0.1"),
    ("0.1::float4", "0.1"),
    ("'NaN'::float8", '"NaN"'),
    ("'Infinity'::float4", '"Infinity"'),
    ("'é☕'", '"é☕"'),
    ("E'a\\nb'", '"a\\nb"'),
    ("'x'::char(3)", '"x  "'),
    ("'\\x00ff'::bytea", '"00ff"'),
    ("'2026-11-15'::date", '"2026-11-15"'),
    ("'0044-03-15 BC'::date", '"0044-03-15 BC"'),
    ("'infinity'::date", '"infinity"'),
    ("'99999-01-01'::date", '"99999-01-01"'),
    ("'2026-11-15 12:00:00.5'::timestamp", '"2026-11-15T12:00:00.5"'),
    ("'-infinity'::timestamptz", '"-infinity"'),
    ("'4713-01-01 00:00:00 BC'::timestamp", '"4713-01-01 00:00:00 BC"'),
    ("'24:00'::time", '"24:00:00"'),
    ("'12:00+05:30'::timetz", '"12:00:00+05:30"'),
    ("'1 year 2 mons 3 days 04:05:06.7'::interval", '"1 year 2 mons 3 days 04:05:06.7"'),
    ("'6d3d2541-710b-4bde-b3af-4711738636bf'::uuid", '"6d3d2541-710b-4bde-b3af-4711738636bf"'),
    ("'{\"a\": [1.10, null]}'::json", '{"a": [1.10, null]}'),
    ('\'{"b": 1e3, "a": 12345678901234567890.5}\'::jsonb', '{"a": 12345678901234567890.5, "b": 1000}'),
    ("'\"\\u0000\"'::json", '"\\u0000"'),
    ("(repeat('[', 500) || repeat(']', 500))::json", '"' + "[" * 500 + "]" * 500 + '"'),
    ("ARRAY[1, NULL, 3]", "[1,null,3]"),
    ("ARRAY[[1.10, 2], [3, 4]]::numeric[]", "[[1.10,2],[3,4]]"),
    ("ARRAY['a,b', '\"', NULL]", '["a,b","\\"",null]'),
    ("ARRAY['NaN'::float8]", '["NaN"]'),
    ("ARRAY['infinity'::date, '0044-03-15 BC']", '["infinity","0044-03-15 BC"]'),
    ("ARRAY['{\"a\": 1}'::jsonb]", '[{"a": 1}]'),
    ("'[1,5)'::int4range", '"[1,5)"'),
    ("'empty'::tstzrange", '"empty"'),
    ("'{[1,3),[5,7)}'::int4multirange", '"{[1,3),[5,7)}"'),
    ("ARRAY['[1,5)'::numrange]", '["[1,5)"]'),
    ("'(1.5,2)'::point", '"(1.5,2)"'),
    ("'((0,0),(1,1))'::polygon", '"((0,0),(1,1))"'),
    ("'192.168.0.1/24'::inet", '"192.168.0.1/24"'),
    ("'192.168.0.0/24'::cidr", '"192.168.0.0/24"'),
    ("'08:00:2b:01:02:03'::macaddr", '"08:00:2b:01:02:03"'),
    ("B'0101'", '"0101"'),
    ("12.5::money", '"$12.50"'),
    ("ROW(1, 'x')", '["1","x"]'),
    ("to_tsvector('a cat')", "\"'cat':2\""),
    ("'pg_class'::regclass", '"pg_class"'),
    ("'1/0'::pg_lsn", '"1/0"'),
]


@pytest.mark.parametrize(("sql", "text"), VALUES)
def test_every_value_is_valid_json_without_loss(
    asker: Asker, postgres_server: str, sql: str, text: str | None
):
    assert asker.text(postgres_server, f"SELECT {sql}") == (text or sql)


def test_a_moment_carries_its_offset(asker: Asker, postgres_server: str):
    sql = "SELECT '2026-11-15 12:00:00+00'::timestamptz AT TIME ZONE 'UTC', now()"
    [[moment, now]] = asker.rows(postgres_server, sql)
    assert moment == "2026-11-15T12:00:00"
    assert now[10] == "T"
    assert now[-6] in "+-"


def test_text_of_a_database_without_encoding_is_kept(
    asker: Asker, shop: psycopg.Connection, postgres_server: str
):
    name = f"ascii_{shop.info.backend_pid}"
    shop.execute(
        f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    )
    url = sa.make_url(postgres_server).set(database=name).render_as_string(hide_password=False)
    assert asker.text(url, "SELECT convert_from('\\x61ff', 'SQL_ASCII')") == '"a\\udcff"'
    shop.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM orders",
        "INSERT INTO orders (item) VALUES ('x')",
        "UPDATE orders SET item = 'x'",
        "TRUNCATE orders",
        "DROP TABLE orders",
        "CREATE TABLE t (a int)",
        "CREATE TEMP TABLE t (a int)",
        "SELECT 1 AS a INTO t",
        "WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone",
        "SELECT nextval('orders_id_seq')",
        "SELECT setval('orders_id_seq', 1)",
        "SELECT * FROM orders FOR UPDATE",
        "COPY orders FROM PROGRAM 'true'",
        "COPY (SELECT 1) TO PROGRAM 'cat > /tmp/never-written'",
        "COPY (SELECT 1) TO '/tmp/never-written'",
        "DO $$ BEGIN EXECUTE $q$COPY (SELECT 1) TO '/tmp/never-written'$q$; END $$",
        "ALTER SYSTEM SET work_mem = '1GB'",
        "CHECKPOINT",
        "LOAD 'auto_explain'",
        "LOCK TABLE orders",
        "GRANT ALL ON orders TO public",
        "VACUUM",
        "DO $$ BEGIN DELETE FROM orders; END $$",
        "SET statement_timeout = 0",
        "COMMIT",
        "ROLLBACK",
        "NOTIFY x",
        "LISTEN x",
        "PREPARE p AS SELECT 1",
        "SELECT 1; DELETE FROM orders",
        "SELECT 1; COMMIT; DELETE FROM orders",
        "BEGIN READ WRITE",
        "REFRESH MATERIALIZED VIEW x",
    ],
)
def test_nothing_that_does_more_than_reading_gets_through(
    asker: Asker, shop: psycopg.Connection, postgres_url: str, sql: str
):
    assert asker.ask(postgres_url, sql).status == "failed"
    assert shop.execute("SELECT count(*) FROM orders").fetchone() == (2,)
    assert shop.execute("SELECT count(*) FROM pg_class WHERE relname = 't'").fetchone() == (0,)
    assert not Path("/tmp/never-written").exists()


@pytest.mark.parametrize(
    "sql",
    [
        "SHOW work_mem",
        "EXPLAIN SELECT * FROM orders",
        "EXPLAIN ANALYZE SELECT * FROM orders",
        "TABLE orders",
        "VALUES (1), (2)",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 3) SELECT x FROM c",
        "SELECT item, row_number() OVER (ORDER BY id) FROM orders",
        "SELECT 'DELETE' /* ; */ ; -- x",
    ],
)
def test_all_that_reads_works(asker: Asker, shop: psycopg.Connection, postgres_url: str, sql: str):
    assert asker.ask(postgres_url, sql).status == "success"


def test_a_copy_to_the_client_is_no_result_and_the_next_query_runs(
    asker: Asker, shop: psycopg.Connection, postgres_url: str
):
    assert asker.ask(postgres_url, "COPY orders TO STDOUT").error == "the statement returns no rows"
    assert asker.value(postgres_url, "SELECT count(*) FROM orders") == 2


@pytest.mark.parametrize(("sql", "error"), [("", "the statement returns no rows"), ("-- x", None)])
def test_no_statement_is_no_result(asker: Asker, postgres_server: str, sql: str, error: str | None):
    outcome = asker.ask(postgres_server, sql)
    assert outcome.status == "failed"


def test_a_nul_does_not_hide_the_rest_of_a_statement(asker: Asker, postgres_server: str):
    assert asker.ask(postgres_server, "SELECT 1\0, 2").error == "the statement contains a NUL character"


def test_text_that_is_no_unicode_is_refused(asker: Asker, postgres_server: str):
    outcome = asker.ask(postgres_server, "SELECT '\ud800'")
    assert outcome.error == "the statement contains characters that are not valid Unicode"


def test_a_parameter_mark_is_only_text(asker: Asker, postgres_server: str):
    assert asker.value(postgres_server, "SELECT '%s %(x)s :y ? $1'") == "%s %(x)s :y ? $1"


@pytest.mark.parametrize(
    ("poison", "probe", "clean"),
    [
        ("SELECT set_config('search_path', 'nowhere', false)", "SHOW search_path", '"$user", public'),
        ("SELECT set_config('statement_timeout', '0', false)", "SHOW statement_timeout", "30s"),
        (
            "SELECT set_config('default_transaction_read_only', 'off', false)",
            "SHOW transaction_read_only",
            "on",
        ),
        ("SELECT set_config('my.secret', 'seen', false)", "SELECT current_setting('my.secret', true)", ""),
        ("SELECT pg_advisory_lock(42)", "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", 0),
        ("SELECT pg_advisory_xact_lock(42)", "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", 0),
    ],
)
def test_a_query_leaves_nothing_behind_for_the_next(
    asker: Asker, postgres_url: str, poison: str, probe: str, clean: Any
):
    place = target(postgres_url)
    asker.rows(place, poison)
    for _ in range(3):
        assert asker.value(place, probe) in (clean, None)


def test_a_session_is_used_again_for_the_same_source(asker: Asker, postgres_url: str):
    place = target(postgres_url)
    sessions = {asker.value(place, "SELECT pg_backend_pid()") for _ in range(10)}
    assert len(sessions) == 1


def test_a_failed_query_does_not_cost_the_session(asker: Asker, postgres_url: str):
    place = target(postgres_url)
    before = asker.value(place, "SELECT pg_backend_pid()")
    assert asker.ask(place, "SELECT 1/0").error == "division by zero"
    assert asker.value(place, "SELECT pg_backend_pid()") == before


def test_the_server_ends_a_query_at_its_limit(
    asker: Asker, shop: psycopg.Connection, postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(time_limit, "CANCEL_AFTER_S", 300)  # nobody else does
    outcome = asker.ask(postgres_url, "SELECT 'limited', pg_sleep(600)", timeout_s=0.3)
    assert (outcome.status, outcome.error) == ("timeout", "the time limit of 0.3 s was reached")
    assert outcome.duration_ms < 60_000
    assert running(shop, "limited") == []


def test_a_query_that_escapes_the_servers_limit_is_cancelled_from_outside(
    asker: Asker, shop: psycopg.Connection, postgres_url: str
):
    slip = "SELECT 'slippery', set_config('statement_timeout', '0', true), pg_sleep(600)"
    outcome = asker.ask(postgres_url, slip, timeout_s=0.3)
    assert outcome.status == "timeout"
    eventually(lambda: running(shop, "slippery") == [], "the query is still there")


def test_a_cancelled_query_is_gone_from_the_server(asker: Asker, shop: psycopg.Connection, postgres_url: str):
    started = asker.start(postgres_url, "SELECT 'unwanted', pg_sleep(600)", timeout_s=600, run_id="long")
    eventually(lambda: running(shop, "unwanted"))
    assert asker.executor.cancel("long", "ann")
    assert started.outcome().error == "cancelled by ann"
    eventually(lambda: running(shop, "unwanted") == [], "the query is still there")
    assert asker.value(postgres_url, "SELECT 1") == 1


def test_at_the_row_limit_the_query_is_stopped_not_drained(
    asker: Asker, shop: psycopg.Connection, postgres_url: str
):
    endless = "SELECT generate_series(1, 1000000000), 'endless'"
    outcome = asker.ask(postgres_url, endless, caps=Caps(rows=100), timeout_s=300)
    assert (outcome.status, outcome.row_count, outcome.truncated) == ("success", 100, True)
    eventually(lambda: running(shop, "endless") == [], "the query is still there")
    assert asker.value(postgres_url, "SELECT 1") == 1


def test_many_rows_come_whole_and_in_order(asker: Asker, postgres_server: str):
    rows = asker.rows(postgres_server, "SELECT n, n / 2.0 FROM generate_series(1, 5000) AS n")
    assert [row[0] for row in rows] == list(range(1, 5001))


def test_a_cell_too_large_for_the_runner_fails_and_the_next_query_runs(asker: Asker, postgres_url: str):
    outcome = asker.ask(postgres_url, "SELECT repeat('x', 320000000)", timeout_s=60)
    assert outcome.status == "failed"
    assert outcome.error == "the query needs more than 300 MB of memory"
    assert asker.value(postgres_url, "SELECT 1") == 1


def test_rows_of_large_cells_are_cut_without_filling_the_memory(asker: Asker, postgres_url: str):
    sql = "SELECT repeat('x', 5000000) FROM generate_series(1, 60)"
    outcome = asker.ask(postgres_url, sql, timeout_s=120)
    assert (outcome.status, outcome.row_count, outcome.truncated) == ("success", 60, True)


def test_a_source_that_is_down_fails_with_a_reason(asker: Asker):
    with silent_server.unused_port() as port:
        outcome = asker.ask(f"postgresql://ann:hunter2@127.0.0.1:{port}/shop", "SELECT 1")
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "Connection refused" in outcome.error
    assert "hunter2" not in outcome.error


def test_a_source_that_never_answers_fails_within_the_connect_limit(asker: Asker):
    with silent_server.silent() as port:
        outcome = asker.ask(f"postgresql://127.0.0.1:{port}/shop", "SELECT 1", connect_s=2)
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "timeout" in outcome.error or "no connection" in outcome.error
    assert outcome.duration_ms < 60_000


def test_a_wrong_password_is_not_repeated(asker: Asker, shop: psycopg.Connection, postgres_url: str):
    url = sa.make_url(postgres_url).set(username="nobody_here", password="hunter2")
    outcome = asker.ask(url.render_as_string(hide_password=False), "SELECT 1")
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "nobody_here" in outcome.error
    assert "hunter2" not in outcome.error


def test_a_password_in_an_error_is_masked(asker: Asker, reader_url: str):
    outcome = asker.ask(reader_url, "SELECT * FROM hunter2")
    assert outcome.error is not None
    assert 'relation "***" does not exist' in outcome.error


def test_a_connection_that_drops_in_mid_result_fails_and_the_source_works_again(
    asker: Asker, shop: psycopg.Connection, postgres_url: str
):
    parts = sa.make_url(postgres_url)
    with silent_server.relay(f"{parts.query['host']}/.s.PGSQL.5432") as relay:
        place = target(f"postgresql://postgres@127.0.0.1:{relay.port}/{parts.database}?sslmode=disable")
        assert asker.value(place, "SELECT 1") == 1
        started = asker.start(
            place, "SELECT n, pg_sleep(0.01), 'dropped' FROM generate_series(1, 1000000) AS n"
        )
        eventually(lambda: running(shop, "dropped"))
        relay.drop()
        outcome = started.outcome()
        assert outcome.status == "failed"
        assert outcome.error is not None
        assert "closed" in outcome.error
        assert asker.value(place, "SELECT 2") == 2


def test_a_session_that_died_in_between_is_replaced_without_a_word(
    asker: Asker, shop: psycopg.Connection, postgres_url: str
):
    place = target(postgres_url)
    session = asker.value(place, "SELECT pg_backend_pid()")
    shop.execute("SELECT pg_terminate_backend(%s, 60000)", (session,))
    assert asker.value(place, "SELECT pg_backend_pid()") != session


def test_the_tables_that_an_account_can_read_are_listed(
    asker: Asker, shop: psycopg.Connection, reader_url: str
):
    shop.execute("CREATE TABLE private (a int)")
    shop.execute('CREATE VIEW "Cheap Ones" AS SELECT item FROM orders')
    shop.execute('GRANT SELECT ON "Cheap Ones" TO PUBLIC')
    found = {(table.schema, table.name): table.columns for table in asker.executor.tables(target(reader_url))}
    assert found == {
        ("public", "Cheap Ones"): [("item", "text")],
        ("public", "orders"): [
            ("id", "integer"),
            ("item", "text"),
            ("deleted_at", "timestamp with time zone"),
        ],
    }


def test_the_self_test_of_a_reader_has_nothing_to_warn_of(asker: Asker, reader_url: str):
    report = asker.executor.self_test(target(reader_url))
    assert report.server.startswith("PostgreSQL ")
    assert (report.warnings, report.statements) == ((), ())


@pytest.mark.parametrize(
    ("grant", "warning"),
    [
        ("GRANT INSERT ON orders TO {}", "can write (public.orders)"),
        ("GRANT UPDATE ON orders TO {}", "can write (public.orders)"),
        ("GRANT CREATE ON SCHEMA public TO {}", "can create objects in the schema public"),
        ("GRANT pg_write_server_files TO {}", "is a member of pg_write_server_files"),
        ("GRANT pg_execute_server_program TO {}", "is a member of pg_execute_server_program"),
        ("GRANT USAGE ON SEQUENCE orders_id_seq TO {}", "can move the sequence public.orders_id_seq"),
        ("ALTER ROLE {} SUPERUSER", "is a superuser"),
    ],
)
def test_the_self_test_says_what_an_account_can_do_and_how_to_make_a_better_one(
    asker: Asker, shop: psycopg.Connection, reader_url: str, grant: str, warning: str
):
    shop.execute(grant.format(sa.make_url(reader_url).username))
    report = asker.executor.self_test(target(reader_url))
    assert warning in report.warnings[0]
    assert "use a SELECT-only role" in report.warnings[0]
    shop.execute(f"ALTER ROLE {sa.make_url(reader_url).username} NOSUPERUSER")


def test_the_statements_of_the_self_test_make_a_role_without_warnings(
    asker: Asker, shop: psycopg.Connection, postgres_url: str
):
    report = asker.executor.self_test(target(postgres_url))
    for statement in report.statements:
        shop.execute(statement.replace("'…'", "'hunter2'"))  # type: ignore[arg-type]
    url = sa.make_url(postgres_url).set(username="plugbay_reader", password="hunter2")
    place = target(url.render_as_string(hide_password=False))
    assert asker.executor.self_test(place).warnings == ()
    assert asker.value(place, "SELECT count(*) FROM orders") == 2
    shop.execute("DROP OWNED BY plugbay_reader")
    shop.execute("DROP ROLE plugbay_reader")


@pytest.fixture
def own(shop: psycopg.Connection) -> OwnStore:
    """The product's own store is in the database of the test."""
    shop.execute("CREATE TABLE plugbay_users (name text)")
    identity = shop.execute(IDENTITY_SQL).fetchone()
    assert identity is not None
    store = StoreIdentity(identity[0], ["plugbay_users", "plugbay_sessions"])
    return OwnStore(Path("/nonexistent"), identity=store)


def test_a_role_that_can_read_the_products_own_tables_is_refused(
    asker: Asker, postgres_url: str, own: OwnStore
):
    place = target(postgres_url, own)
    outcome = asker.ask(place, "SELECT 1")
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "public.plugbay_users" in outcome.error
    assert "CREATE ROLE plugbay_reader" in outcome.error
    with pytest.raises(SourceRefusedError, match=r"REVOKE SELECT ON public\.plugbay_users"):
        asker.executor.self_test(place)


def test_a_role_that_can_read_a_column_of_them_is_refused_too(
    asker: Asker, shop: psycopg.Connection, reader_url: str, own: OwnStore
):
    assert asker.value(target(reader_url, own), "SELECT count(*) FROM orders") == 2
    shop.execute(f"GRANT SELECT (name) ON plugbay_users TO {sa.make_url(reader_url).username}")
    with pytest.raises(SourceRefusedError):
        asker.executor.self_test(target(reader_url, own))


def test_another_database_of_the_same_server_is_no_store(asker: Asker, postgres_server: str, own: OwnStore):
    assert asker.value(target(postgres_server, own), "SELECT 1") == 1


def test_a_source_that_cannot_be_looked_at_says_why(asker: Asker):
    with silent_server.unused_port() as port, pytest.raises(SourceUnavailableError, match="refused"):
        asker.executor.self_test(target(f"postgresql://ann:hunter2@127.0.0.1:{port}/shop"))


def test_a_server_that_can_is_asked_to_look_after_its_clients(postgres_url: str):
    session = PostgresqlSession(Params(target(postgres_url).params, 100_000_000, 10))
    with closing(session):
        assert "client_connection_check_interval" in session._settings


def test_nothing_is_known_of_a_store_that_is_elsewhere(asker: Asker, postgres_url: str):
    assert "store" not in target(postgres_url, NOWHERE).params
