"""What closed tables hold is not told in another way either."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pymysql
import pytest
import sqlalchemy as sa
from plugbay_scheduled_query.core.guard import Allowed, Rejection
from plugbay_scheduled_query.dialects import check
from plugbay_scheduled_query.executor import Executor
from runner_kit import Asker, eventually, target

HASH = "SCRAM-SHA-256$"
TOLD_BY_STATISTICS = (
    "SELECT histogram_bounds FROM pg_stats WHERE tablename = 'pg_authid'",
    "SELECT s.histogram_bounds::text FROM pg_catalog.pg_stats s WHERE attname = 'rolpassword'",
    "SELECT * FROM pg_stats WHERE attname = 'rolpassword'",
    "SELECT s.* FROM pg_stats s WHERE attname = 'rolpassword'",
    "SELECT s FROM pg_stats s WHERE attname = 'rolpassword'",
    "SELECT to_json(s) FROM pg_stats s WHERE attname = 'rolpassword'",
    "SELECT pg_stats::text FROM pg_stats WHERE attname = 'rolpassword'",
    "SELECT (s).histogram_bounds FROM pg_stats s WHERE attname = 'rolpassword'",
    "SELECT j FROM pg_stats AS s (a, b, c, d, e, f, g, h, i, j) WHERE b = 'pg_authid'",
    "SELECT (SELECT s) FROM pg_stats s WHERE attname = 'rolpassword'",
    "SELECT x.* FROM (SELECT * FROM pg_stats) x WHERE attname = 'rolpassword'",
    "TABLE pg_stats",
    "WITH x AS (TABLE pg_stats) SELECT x FROM x",
    "SELECT stavalues1 FROM pg_statistic WHERE starelid = 'pg_authid'::regclass",
    'SELECT "histogram_bounds" FROM "pg_stats"',
)
TOLD_BY_SETTINGS = (
    "SHOW primary_conninfo",
    'SHOW "primary_conninfo"',
    "show PRIMARY_CONNINFO",
    "SELECT current_setting('primary_conninfo')",
    "SELECT current_setting('Primary_Conninfo', true)",
    "SELECT current_setting('primary_' || 'conninfo')",
    r"SELECT pg_catalog.current_setting(E'primary\x5fconninfo')",
    "SELECT current_setting($$primary_conninfo$$)",
    r"SELECT current_setting(U&'primary\005fconninfo')",
    "SELECT current_setting(n) FROM (VALUES ('primary_conninfo')) v (n)",
)
TOLD_BY_ALL_SETTINGS = (
    "SELECT setting FROM pg_settings WHERE name ~ 'conninfo'",
    'SELECT "pg_settings"::text FROM "pg_settings"',
    "SELECT * FROM PG_CATALOG.PG_SETTINGS",
    "SHOW ALL",
    "show /* x */ all",
)


@pytest.fixture(scope="module")
def asker() -> Iterator[Asker]:
    executor = Executor(2)
    yield Asker(executor)
    executor.close()


@pytest.fixture(scope="module")
def server(shared_postgres_url: str) -> Iterator["psycopg.Connection[Any]"]:
    """A superuser on a server with hashes in its statistics, and a password in a setting."""
    plain = sa.make_url(shared_postgres_url).set(drivername="postgresql")
    with psycopg.connect(plain.render_as_string(hide_password=False), autocommit=True) as connection:
        for name in ("one", "two"):
            connection.execute(f"CREATE ROLE closed_{name} LOGIN PASSWORD '{name}'")
        connection.execute("GRANT pg_monitor TO closed_one")
        connection.execute("ANALYZE pg_authid")
        connection.execute("ALTER SYSTEM SET primary_conninfo = 'password=of-elsewhere'")
        connection.execute("SELECT pg_reload_conf()")
        eventually(lambda: connection.execute("SHOW primary_conninfo").fetchone() != ("",))
        yield connection
        connection.execute("ALTER SYSTEM RESET primary_conninfo")
        connection.execute("SELECT pg_reload_conf()")
        connection.execute("DROP ROLE closed_one, closed_two")


@pytest.mark.parametrize("sql", TOLD_BY_STATISTICS)
def test_statistics_tell_hashes_but_not_through_the_guard(server: "psycopg.Connection[Any]", sql: str):
    assert HASH in str(server.execute(sql).fetchall())
    assert isinstance(check(sql, "postgresql"), Rejection)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT tablename, attname, n_distinct, correlation FROM pg_stats WHERE schemaname = 'public'",
        "SELECT count(*), sum((1 - s.null_frac) * s.avg_width) FROM pg_stats s GROUP BY s.tablename",
        "SELECT x.w FROM (SELECT tablename, sum(avg_width) AS w FROM pg_stats GROUP BY 1) x ORDER BY 1",
    ],
)
def test_the_figures_of_statistics_may_be_read(server: "psycopg.Connection[Any]", sql: str):
    server.execute(sql)
    assert check(sql, "postgresql") == Allowed()


@pytest.mark.parametrize("sql", TOLD_BY_SETTINGS)
def test_a_setting_tells_a_password_but_not_through_the_guard(server: "psycopg.Connection[Any]", sql: str):
    server.execute("SET ROLE closed_one")
    assert "of-elsewhere" in str(server.execute(sql).fetchall())
    server.execute("RESET ROLE")
    assert isinstance(check(sql, "postgresql"), Rejection)


@pytest.mark.parametrize("user", ["closed_one", "postgres"])
def test_all_settings_at_once_are_hidden_where_they_tell_a_password(
    server: "psycopg.Connection[Any]", shared_postgres_url: str, asker: Asker, user: str
):
    place = target(sa.make_url(shared_postgres_url).set(username=user).render_as_string(hide_password=False))
    for sql in TOLD_BY_ALL_SETTINGS:
        assert "of-elsewhere" in str(server.execute(sql).fetchall()), sql
        assert "can read passwords" in (asker.ask(place, sql).error or ""), sql
    assert asker.value(place, "SHOW work_mem")


def test_an_account_that_sees_no_password_reads_all_settings(
    server: "psycopg.Connection[Any]", shared_postgres_url: str, asker: Asker
):
    place = target(
        sa.make_url(shared_postgres_url).set(username="closed_two").render_as_string(hide_password=False)
    )
    assert asker.rows(place, "SELECT name, setting FROM pg_settings")
    assert not any("password" in warning for warning in asker.executor.self_test(place).warnings)


def test_the_self_test_tells_of_settings_with_a_password(
    server: "psycopg.Connection[Any]", shared_postgres_url: str, asker: Asker
):
    place = target(
        sa.make_url(shared_postgres_url).set(username="closed_one").render_as_string(hide_password=False)
    )
    assert any("primary_conninfo" in warning for warning in asker.executor.self_test(place).warnings)


@pytest.mark.parametrize("name", ["mysql", "MySQL"])
def test_accounts_are_not_read_by_way_of_the_default_database(mariadb_server: str, asker: Asker, name: str):
    url = sa.make_url(mariadb_server)
    link = {"user": url.username, "password": url.password or "", "unix_socket": url.query.get("unix_socket")}
    sql = "SELECT Priv FROM global_priv"
    with pymysql.connect(**link, database="mysql") as bare, bare.cursor() as cursor:  # type: ignore[arg-type]
        cursor.execute(sql)
        assert "plugin" in str(cursor.fetchall())
    assert check(sql, "mysql") == Allowed()
    outcome = asker.ask(url.set(database=name).render_as_string(hide_password=False), sql)
    assert "No database selected" in (outcome.error or "")
    assert asker.rows(url.set(database=name).render_as_string(hide_password=False), "SHOW DATABASES")
