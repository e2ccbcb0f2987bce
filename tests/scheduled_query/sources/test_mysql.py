from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mariadb
import pytest
import silent_server
import sqlalchemy as sa
from plugbay_scheduled_query.dialects.contract import Params
from plugbay_scheduled_query.dialects.mysql.session import MysqlSession, grant_warnings, session_settings
from plugbay_scheduled_query.runner.protocol import Caps
from runner_kit import Asker, eventually, target


@pytest.fixture
def shop(mariadb_url: str) -> Iterator[Any]:
    """A cursor of root's on the database of the test, with a table of orders."""
    with mariadb.connect(mariadb_url) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, item TEXT, deleted_at DATETIME)"
        )
        cursor.execute("INSERT INTO orders (item) VALUES ('tea'), ('milk')")
        yield cursor


@pytest.fixture
def reader_url(shop: Any, mariadb_url: str) -> Iterator[str]:
    """The URL of an account that can read the orders and do nothing else."""
    database = sa.make_url(mariadb_url).database
    shop.execute("CREATE USER reader@localhost IDENTIFIED BY 'hunter2'")
    shop.execute(f"GRANT SELECT ON {database}.orders TO reader@localhost")
    yield (
        sa.make_url(mariadb_url)
        .set(username="reader", password="hunter2")
        .render_as_string(hide_password=False)
    )
    shop.execute("DROP USER reader@localhost")


def alive(shop: Any) -> set[int]:
    """The numbers of all sessions."""
    shop.execute("SELECT id FROM information_schema.processlist")
    return {number for (number,) in shop.fetchall()}


def running(shop: Any, part: str) -> list[int]:
    """The sessions in which a statement with this in its text is at work."""
    shop.execute(
        "SELECT id FROM information_schema.processlist"
        " WHERE command = 'Query' AND id <> CONNECTION_ID() AND info LIKE %s",
        (f"%{part}%",),
    )
    return [session for (session,) in shop.fetchall()]


def one(shop: Any, sql: str) -> Any:
    shop.execute(sql)
    return shop.fetchone()[0]


def test_a_query_returns_columns_and_rows(asker: Asker, shop: Any, mariadb_url: str):
    outcome = asker.ask(mariadb_url, "SELECT id, item AS id FROM orders WHERE deleted_at IS NULL ORDER BY 1")
    assert outcome.status == "success"
    assert (outcome.columns, outcome.result_json) == (("id", "id"), '[[1,"tea"],[2,"milk"]]')


def test_an_empty_result_has_its_columns(asker: Asker, shop: Any, mariadb_url: str):
    outcome = asker.ask(mariadb_url, "SELECT id, item FROM orders WHERE false")
    assert (outcome.columns, outcome.result_json, outcome.row_count) == (("id", "item"), "[]", 0)


VALUES = [
    ("NULL", "null"),
    ("true", "1"),
    ("18446744073709551615", "18446744073709551615"),
    ("1.10", "1.10"),
    ("CAST('123456789012345678901234567890.123456789012345678901234567890' AS DECIMAL(60,30))", None),
    ("0.1e0", "0.1"),
    ("1.7976931348623157e308", "1.7976931348623157e+308"),
    ("'é☕'", '"é☕"'),
    ("'a\\0b'", '"a\\u0000b"'),
    ("x'00ff'", '"00ff"'),
    ("DATE '2026-11-15'", '"2026-11-15"'),
    ("TIMESTAMP '2026-11-15 12:00:00.5'", '"2026-11-15T12:00:00.5"'),
    ("TIME '-838:59:59'", '"-838:59:59"'),
    ("b'101'", None),
    ("JSON_OBJECT('a', 1)", '"{\\"a\\": 1}"'),
    ("ST_GeomFromText('POINT(1 2.5)')", '"POINT(1 2.5)"'),
    ("ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))', 4326)", '"SRID=4326;POLYGON((0 0,1 0,1 1,0 0))"'),
    ("CAST('6d3d2541-710b-4bde-b3af-4711738636bf' AS UUID)", '"6d3d2541-710b-4bde-b3af-4711738636bf"'),
]


@pytest.mark.parametrize(("sql", "text"), VALUES)
def test_every_value_is_valid_json_without_loss(
    asker: Asker, mariadb_server: str, sql: str, text: str | None
):
    found = asker.text(mariadb_server, f"SELECT {sql}")
    if text is not None:
        assert found == text


def test_a_decimal_of_sixty_digits_keeps_them(asker: Asker, mariadb_server: str):
    digits = "123456789012345678901234567890.123456789012345678901234567890"
    assert asker.text(mariadb_server, f"SELECT CAST('{digits}' AS DECIMAL(60,30))") == digits


def test_every_type_of_column_is_valid_json(asker: Asker, shop: Any, mariadb_url: str):
    shop.execute("SET sql_mode = 'ALLOW_INVALID_DATES'")
    shop.execute(
        """
        CREATE TABLE odd (
            bits BIT(10), flag BIT(1), day DATE, moment DATETIME(6), stamp TIMESTAMP(3) NULL, span TIME(3),
            y YEAR, padded DECIMAL(10,2) ZEROFILL, many SET('a','b'), one ENUM('x','y'), doc JSON,
            raw VARBINARY(10), place POINT, address INET6, tiny TINYINT(1)
        )
        """
    )
    shop.execute(
        """
        INSERT INTO odd VALUES (
            b'1100000001', b'1', '0000-00-00', '0000-00-00 00:00:00', NULL, '-12:30:00.5', 2026,
            12.5, 'a,b', 'y', '{"k": [1]}', x'ff00', POINT(1, 2), '::1', 1
        )
        """
    )
    assert asker.rows(mariadb_url, "SELECT * FROM odd") == [
        [
            769,
            1,
            "0000-00-00",
            "0000-00-00T00:00:00.000000",
            None,
            "-12:30:00.500",
            2026,
            12.5,
            "a,b",
            "y",
            '{"k": [1]}',
            "ff00",
            "POINT(1 2)",
            "::1",
            1,
        ]
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM orders",
        "INSERT INTO orders (item) VALUES ('x')",
        "UPDATE orders SET item = 'x'",
        "REPLACE INTO orders (id) VALUES (1)",
        "TRUNCATE orders",
        "DROP TABLE orders",
        "ALTER TABLE orders ADD x INT",
        "RENAME TABLE orders TO t",
        "CREATE TABLE t (a INT)",
        "CREATE TABLE t AS SELECT 1",
        "CREATE TEMPORARY TABLE t (a INT)",
        "CREATE DATABASE t",
        "CREATE USER t@localhost",
        "GRANT ALL ON *.* TO root@localhost",
        "CALL add_order()",
        "SELECT add_one()",
        "SELECT NEXTVAL(numbers)",
        "EXECUTE IMMEDIATE 'DELETE FROM orders'",
        "EXECUTE IMMEDIATE 'DROP TABLE orders'",
        "BEGIN NOT ATOMIC DELETE FROM orders; END",
        "LOCK TABLES orders WRITE",
        "OPTIMIZE TABLE orders",
        "SELECT * FROM orders FOR UPDATE",
        "COMMIT",
        "USE mysql",
        "SET @a = 1",
        "SELECT 1; DELETE FROM orders",
        "SELECT 1 INTO OUTFILE '/tmp/never-written'",
        "SELECT 1 INTO @a",
        "SET GLOBAL max_connections = 77",
        "FLUSH TABLES WITH READ LOCK",
        "KILL 1",
        "SHUTDOWN",
        "DO SLEEP(0)",
        "/*!50000 SET GLOBAL max_connections = 77 */",
        "/* SHOW */ SET GLOBAL max_connections = 77",
        "HANDLER orders OPEN",
        "PREPARE p FROM 'SELECT 1'",
        "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE orders (item)",
        "WITH x AS (SELECT 1) DELETE FROM orders",
    ],
)
def test_nothing_that_does_more_than_reading_gets_through(
    asker: Asker, shop: Any, mariadb_url: str, sql: str
):
    shop.execute("CREATE PROCEDURE add_order() INSERT INTO orders (item) VALUES ('x')")
    shop.execute(
        "CREATE FUNCTION add_one() RETURNS INT BEGIN INSERT INTO orders (item) VALUES ('x'); RETURN 1; END"
    )
    shop.execute("CREATE SEQUENCE numbers")
    assert asker.ask(mariadb_url, sql).status == "failed"
    assert one(shop, "SELECT count(*) FROM orders") == 2
    shop.execute("SHOW TABLES")
    assert sorted(name for (name,) in shop.fetchall()) == ["numbers", "orders"]
    assert one(shop, "SELECT count(*) FROM mysql.user WHERE user = 't'") == 0
    assert one(shop, "SELECT @@GLOBAL.max_connections") == 500
    assert not Path("/tmp/never-written").exists()


@pytest.mark.parametrize(
    "sql",
    [
        "SHOW TABLES",
        "show create table orders",
        "SHOW PLUGINS",
        "SHOW WARNINGS",
        "DESCRIBE orders",
        "EXPLAIN SELECT * FROM orders",
        "EXPLAIN FORMAT=JSON SELECT * FROM orders",
        "VALUES (1), (2)",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 3) SELECT x FROM c",
        "SELECT item, row_number() OVER (ORDER BY id) FROM orders",
        "SELECT 'SET GLOBAL' /* ; */ -- x",
    ],
)
def test_all_that_reads_works(asker: Asker, shop: Any, mariadb_url: str, sql: str):
    assert asker.ask(mariadb_url, sql).status == "success"


@pytest.mark.parametrize("sql", ["", "-- x\n"])
def test_no_statement_is_no_result(asker: Asker, mariadb_server: str, sql: str):
    assert asker.ask(mariadb_server, sql).status == "failed"


def test_a_mark_of_the_driver_is_only_text(asker: Asker, mariadb_server: str):
    assert asker.value(mariadb_server, "SELECT '%s %(x)s %% :y ?'") == "%s %(x)s %% :y ?"


@pytest.mark.parametrize(
    ("poison", "probe", "clean"),
    [
        ("SELECT @seen := 'secret'", "SELECT @seen", None),
        ("SELECT GET_LOCK('lane', 0)", "SELECT IS_FREE_LOCK('lane')", 1),
        ("SELECT 1", "SELECT @@character_set_client", "utf8mb4"),
        ("SELECT 1", "SELECT @@tx_read_only", 1),
        ("SELECT 1", "SELECT @@max_statement_time", 30.0),
    ],
)
def test_a_query_leaves_nothing_behind_for_the_next(
    asker: Asker, mariadb_url: str, poison: str, probe: str, clean: Any
):
    place = target(mariadb_url)
    asker.rows(place, poison)
    for _ in range(3):
        assert asker.value(place, probe) == clean


def test_a_session_is_used_again_for_the_same_source(asker: Asker, mariadb_url: str):
    place = target(mariadb_url)
    assert len({asker.value(place, "SELECT CONNECTION_ID()") for _ in range(10)}) == 1


def test_after_a_statement_that_is_no_query_the_session_is_a_new_one(asker: Asker, mariadb_url: str):
    place = target(mariadb_url)
    before = asker.rows(place, "SELECT CONNECTION_ID(), DATABASE()")
    assert asker.ask(place, "USE mysql").error == "the statement returns no rows"
    [[session, database]] = asker.rows(place, "SELECT CONNECTION_ID(), DATABASE()")
    assert session != before[0][0]
    assert database == before[0][1]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'limited', SLEEP(600)",
        "SELECT 'limited', count(*) FROM seq_1_to_1000000 a, seq_1_to_1000000 b WHERE a.seq * b.seq % 7 = 3",
    ],
)
def test_the_server_ends_a_query_at_its_limit(asker: Asker, shop: Any, mariadb_url: str, sql: str):
    outcome = asker.ask(mariadb_url, sql, timeout_s=0.3)
    assert (outcome.status, outcome.error) == ("timeout", "the time limit of 0.3 s was reached")
    eventually(lambda: running(shop, "limited") == [], "the query is still there")


def test_a_query_that_escapes_the_servers_limit_is_killed_from_a_second_connection(
    asker: Asker, shop: Any, mariadb_url: str
):
    slip = "SET STATEMENT max_statement_time = 0 FOR SELECT 'slippery', SLEEP(600)"
    assert asker.ask(mariadb_url, slip, timeout_s=0.3).status == "timeout"
    eventually(lambda: running(shop, "slippery") == [], "the query is still there")


def test_a_cancelled_query_is_gone_from_the_server(asker: Asker, shop: Any, mariadb_url: str):
    started = asker.start(mariadb_url, "SELECT 'unwanted', SLEEP(600)", timeout_s=600, run_id="long")
    eventually(lambda: running(shop, "unwanted"))
    assert asker.executor.cancel("long", "ann")
    assert started.outcome().error == "cancelled by ann"
    eventually(lambda: running(shop, "unwanted") == [], "the query is still there")
    assert asker.value(mariadb_url, "SELECT 1") == 1


def test_at_the_row_limit_the_query_is_stopped_not_drained(asker: Asker, shop: Any, mariadb_url: str):
    endless = "SELECT seq, 'endless' FROM seq_1_to_1000000000000"
    outcome = asker.ask(mariadb_url, endless, caps=Caps(rows=100), timeout_s=300)
    assert (outcome.status, outcome.row_count, outcome.truncated) == ("success", 100, True)
    eventually(lambda: running(shop, "endless") == [], "the query is still there")
    assert asker.value(mariadb_url, "SELECT 1") == 1


def test_rows_of_large_cells_are_cut_without_filling_the_memory(asker: Asker, mariadb_url: str):
    sql = "SELECT REPEAT('x', 5000000) FROM seq_1_to_60"
    outcome = asker.ask(mariadb_url, sql, timeout_s=120)
    assert (outcome.status, outcome.row_count, outcome.truncated) == ("success", 60, True)


def test_a_source_that_is_down_fails_with_a_reason(asker: Asker):
    with silent_server.unused_port() as port:
        outcome = asker.ask(f"mysql://ann:hunter2@127.0.0.1:{port}/shop", "SELECT 1")
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "Connection refused" in outcome.error
    assert "hunter2" not in outcome.error


def test_a_source_that_never_answers_fails_within_the_connect_limit(asker: Asker):
    with silent_server.silent() as port:
        outcome = asker.ask(f"mysql://127.0.0.1:{port}/shop", "SELECT 1", connect_s=1)
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "timed out" in outcome.error or "no connection" in outcome.error
    assert outcome.duration_ms < 60_000


def test_a_wrong_password_is_not_repeated(asker: Asker, shop: Any, reader_url: str):
    url = sa.make_url(reader_url).set(password="wrong-word")
    outcome = asker.ask(url.render_as_string(hide_password=False), "SELECT 1")
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "Access denied for user 'reader'" in outcome.error
    assert "wrong-word" not in outcome.error


def test_a_password_in_an_error_is_masked(asker: Asker, reader_url: str):
    outcome = asker.ask(reader_url, "SELECT hunter2")
    assert outcome.error == "Unknown column '***' in 'SELECT' (1054)" or "***" in (outcome.error or "")
    assert "hunter2" not in (outcome.error or "")


def test_a_connection_that_drops_in_mid_result_fails_and_the_source_works_again(
    asker: Asker, shop: Any, mariadb_url: str
):
    parts = sa.make_url(mariadb_url)
    shop.execute("CREATE USER far@'%' IDENTIFIED BY 'hunter2'")
    shop.execute(f"GRANT SELECT ON {parts.database}.* TO far@'%'")
    path = parts.query["unix_socket"]
    assert isinstance(path, str)
    with silent_server.relay(path) as relay:
        place = target(f"mysql://far:hunter2@127.0.0.1:{relay.port}/{parts.database}")
        assert asker.value(place, "SELECT 1") == 1
        started = asker.start(place, "SELECT seq, SLEEP(0.01), 'dropped' FROM seq_1_to_1000000")
        eventually(lambda: running(shop, "dropped"))
        relay.drop()
        outcome = started.outcome()
        assert outcome.status == "failed"
        assert outcome.error is not None
        assert "Lost connection" in outcome.error
        assert asker.value(place, "SELECT 2") == 2
    shop.execute("DROP USER far@'%'")


def test_a_session_that_died_in_between_is_replaced_without_a_word(asker: Asker, shop: Any, mariadb_url: str):
    place = target(mariadb_url)
    session = asker.value(place, "SELECT CONNECTION_ID()")
    shop.execute(f"KILL CONNECTION {session}")
    eventually(lambda: session not in alive(shop))  # MariaDB does not wait for its end
    assert asker.value(place, "SELECT CONNECTION_ID()") != session


def test_a_session_ends_others_of_its_own_account_and_nobody_elses(
    shop: Any, mariadb_url: str, reader_url: str
):
    root, other, reader = (
        MysqlSession(Params(target(url).params, 0, 10)) for url in (mariadb_url, mariadb_url, reader_url)
    )
    assert not root.end(reader.mark)
    assert root.end(other.mark)
    eventually(lambda: int(other.mark) not in alive(shop))
    assert not root.end(other.mark)  # is no longer there
    assert int(reader.mark) in alive(shop)
    for session in (root, other, reader):
        session.close()


def test_the_tables_that_an_account_can_read_are_listed(asker: Asker, shop: Any, reader_url: str):
    shop.execute("CREATE TABLE private (a INT)")
    [table] = asker.executor.tables(target(reader_url))
    assert table.name == "orders"
    assert table.columns == [("id", "int(11)"), ("item", "text"), ("deleted_at", "datetime")]


def test_the_self_test_of_a_reader_has_nothing_to_warn_of(asker: Asker, reader_url: str):
    report = asker.executor.self_test(target(reader_url))
    assert report.server.startswith("MariaDB ")
    assert (report.warnings, report.statements) == ((), ())


def test_the_self_test_says_what_an_account_can_do_and_how_to_make_a_better_one(
    asker: Asker, shop: Any, mariadb_url: str, reader_url: str
):
    shop.execute("GRANT FILE ON *.* TO reader@localhost")
    report = asker.executor.self_test(target(reader_url))
    assert report.warnings == ("this account can write (FILE on *.*): use a SELECT-only account",)
    database = sa.make_url(mariadb_url).database
    assert report.statements == (
        "CREATE USER 'plugbay_reader'@'%' IDENTIFIED BY '…';",
        f"GRANT SELECT, SHOW VIEW ON `{database}`.* TO 'plugbay_reader'@'%';",
    )


def test_the_statements_of_the_self_test_make_an_account_without_warnings(
    asker: Asker, shop: Any, mariadb_url: str
):
    for statement in asker.executor.self_test(target(mariadb_url)).statements:
        shop.execute(statement.replace("'…'", "'hunter2'").replace("'%'", "'localhost'"))
    url = sa.make_url(mariadb_url).set(username="plugbay_reader", password="hunter2")
    place = target(url.render_as_string(hide_password=False))
    assert asker.executor.self_test(place).warnings == ()
    assert asker.value(place, "SELECT count(*) FROM orders") == 2
    shop.execute("DROP USER plugbay_reader@localhost")


def test_mysql_is_told_the_same_as_mariadb_in_its_own_words():
    assert session_settings("10.11.19-MariaDB", 1.5) == (
        "SESSION tx_read_only = ON, SESSION max_statement_time = 1.500"
    )
    assert session_settings("8.4.0", 1.5) == (
        "SESSION transaction_read_only = ON, SESSION max_execution_time = 1500"
    )


@pytest.mark.parametrize(
    ("grant", "words"),
    [
        ("GRANT USAGE ON *.* TO `a`@`b`", None),
        ("GRANT SELECT, SHOW VIEW ON `x`.* TO `a`@`b`", None),
        ("GRANT SELECT (`a`, `insert`) ON `x`.`y` TO `a`@`b`", None),
        ("GRANT SELECT, INSERT, UPDATE ON `x`.* TO `a`@`b`", "INSERT, UPDATE on `x`.*"),
        ("GRANT ALL PRIVILEGES ON *.* TO `a`@`b` IDENTIFIED BY PASSWORD '*'", "ALL PRIVILEGES on *.*"),
        ("GRANT EXECUTE ON PROCEDURE `x`.`p` TO `a`@`b`", "EXECUTE on PROCEDURE `x`.`p`"),
        ("GRANT `some_role` TO `a`@`b`", None),
        ("SET DEFAULT ROLE x", None),
    ],
)
def test_a_grant_is_read_for_what_it_allows_beyond_reading(grant: str, words: str | None):
    found = grant_warnings([grant])
    assert found == [] if words is None else words in found[0]
