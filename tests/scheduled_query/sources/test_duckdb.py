import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import psutil
import pytest
from plugbay_scheduled_query.core.guard import Allowed
from plugbay_scheduled_query.dialects import check
from plugbay_scheduled_query.runner.protocol import Caps
from runner_kit import Asker, eventually, target

ENDLESS = "SELECT count(*) FROM range(1000000000000) WHERE hash(range) % 7 = 3"


@pytest.fixture(scope="module")
def shop_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Opening a database takes 30 ms: it is made once, and copied."""
    path = tmp_path_factory.mktemp("shop") / "shop.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER, item VARCHAR, deleted_at TIMESTAMP)")
        connection.execute("INSERT INTO orders VALUES (1, 'tea', NULL), (2, 'milk', NULL)")
    return path.read_bytes()


@pytest.fixture
def shop(shop_file: bytes, tmp_path: Path) -> Callable[[str], None]:
    """Runs a statement on the file of the test, which has a table of orders."""

    path = tmp_path / "shop.duckdb"
    path.write_bytes(shop_file)

    def run(sql: str) -> None:
        with duckdb.connect(path) as connection:
            connection.execute(sql)

    return run


@pytest.fixture
def url(shop: Callable[[str], None], tmp_path: Path) -> str:
    return f"duckdb:///{tmp_path}/shop.duckdb"


def test_a_query_returns_columns_and_rows(asker: Asker, url: str):
    outcome = asker.ask(
        url, "SELECT id, item AS id FROM orders WHERE deleted_at IS NULL ORDER BY 1;  -- all;"
    )
    assert outcome.status == "success"
    assert (outcome.columns, outcome.result_json) == (("id", "id"), '[[1,"tea"],[2,"milk"]]')


def test_an_empty_result_has_its_columns(asker: Asker, url: str):
    outcome = asker.ask(url, "SELECT id, deleted_at FROM orders WHERE false")
    assert (outcome.columns, outcome.result_json, outcome.row_count) == (("id", "deleted_at"), "[]", 0)


VALUES = [
    ("NULL", "null"),
    ("true", "true"),
    ("170141183460469231731687303715884105727::HUGEINT", "170141183460469231731687303715884105727"),
    ("340282366920938463463374607431768211455::UHUGEINT", "340282366920938463463374607431768211455"),
    (f"{'9' * 60}::BIGNUM", "9" * 60),
    ("1234567890123456789012345678.1234567890::DECIMAL(38,10)", "1234567890123456789012345678.1234567890"),
    ("0.1::DOUBLE", "0.1"),
    ("'nan'::FLOAT", '"NaN"'),
    ("'-inf'::DOUBLE", '"-Infinity"'),
    ("'é☕'", '"é☕"'),
    ("'a' || chr(0) || 'b'", '"a\\u0000b"'),
    (r"'\xAA\x00'::BLOB", '"aa00"'),
    ("'0101'::BIT", '"0101"'),
    ("uuid '6d3d2541-710b-4bde-b3af-4711738636bf'", '"6d3d2541-710b-4bde-b3af-4711738636bf"'),
    ("'x'::ENUM('x', 'y')", '"x"'),
    ("date '2026-11-15'", '"2026-11-15"'),
    ("date '0044-03-15 (BC)'", '"0044-03-15 (BC)"'),
    ("date 'infinity'", '"infinity"'),
    ("date '10000-01-01'", '"10000-01-01"'),
    ("timestamp '2026-11-15 12:00:00.5'", '"2026-11-15T12:00:00.5"'),
    ("timestamp '-infinity'", '"-infinity"'),
    ("timestamp_ns '2026-11-15 12:00:00.123456789'", '"2026-11-15T12:00:00.123456789"'),
    ("timestamp_s '2026-11-15 12:00:00'", '"2026-11-15T12:00:00"'),
    ("time '12:34:56.789'", '"12:34:56.789"'),
    ("'12:34:56+02'::TIMETZ", '"12:34:56+02"'),
    ("interval '1 year 2 months 3 days 4 hours'", '"1 year 2 months 3 days 04:00:00"'),
    ("[1, NULL, 3]", "[1,null,3]"),
    ("array_value(1.5, 2.5)", "[1.5,2.5]"),
    ("['nan'::DOUBLE]", '["NaN"]'),
    ("[interval 1 month, NULL]", '["1 month",null]'),
    ("{'a': 1, 'b c': {'d': date '10000-01-01'}}", '{"a":1,"b c":{"d":"10000-01-01"}}'),
    ("{'it''s \"odd\"': time '12:00'}", '{"it\'s \\"odd\\"":"12:00:00"}'),
    ("map {'k': 1}", '{"k":1}'),
    ("map {date '2026-01-01': interval 1 month}", '{"2026-01-01":"1 month"}'),
    ("map {[1]: 'a'}", '{"key":[[1]],"value":["a"]}'),
    ("union_value(n := 5)", "5"),
    ("union_value(d := date '2026-01-01')", '"2026-01-01"'),
    ("row(1, 'x')", '[1,"x"]'),
    ("row(1, date '2026-01-01')", '"(1, 2026-01-01)"'),
    ("'{\"a\": [1.10]}'::JSON", '{"a": [1.10]}'),
    ("{'v': 1.5}::VARIANT", '{"v":1.5}'),
    ("'POINT(1 2)'::GEOMETRY", '"POINT (1 2)"'),
]


@pytest.mark.parametrize(("sql", "text"), VALUES)
def test_every_value_is_valid_json_without_loss(asker: Asker, url: str, sql: str, text: str):
    assert asker.text(url, f"SELECT {sql}") == text


def test_a_moment_carries_its_offset(asker: Asker, url: str):
    assert asker.value(url, "SELECT now()")[-6] in "+-"


def test_nesting_too_deep_for_a_reader_becomes_text(asker: Asker, url: str):
    assert "[[[" in str(asker.value(url, f"SELECT {'[' * 70}1{']' * 70}"))


@pytest.mark.parametrize(
    ("sql", "count"),
    [
        ("FROM orders", 2),
        ("VALUES (1), (2), (3)", 3),
        ("WITH x AS (SELECT 1) SELECT * FROM x", 1),
        ("DESCRIBE orders", 3),
        ("SHOW TABLES", 1),
        ("SUMMARIZE orders", 3),
        ("EXPLAIN SELECT 1", 1),
        ("PRAGMA table_info('orders')", 3),
        ("PIVOT orders ON item USING count(*) GROUP BY deleted_at", 1),
        ("SELECT item, sum(id) OVER () FROM orders QUALIFY row_number() OVER () = 1", 1),
        ("SELECT unnest([1, 2, 3])", 3),
        ("SELECT ';', date '2026-01-01' /* ; */ ; -- done;", 1),
        ("SELECT json_extract('{\"a\": 1}', '$.a')", 1),
    ],
)
def test_all_that_reads_works(asker: Asker, url: str, sql: str, count: int):
    assert len(asker.rows(url, sql)) == count


def test_the_order_of_rows_survives_the_reading_of_odd_types(asker: Asker, url: str):
    sql = "SELECT range, interval 1 day FROM range(5000) ORDER BY range DESC"
    assert [row[0] for row in asker.rows(url, sql)] == list(range(4999, -1, -1))


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM orders",
        "INSERT INTO orders VALUES (3, 'x', NULL)",
        "UPDATE orders SET item = 'x'",
        "DROP TABLE orders",
        "CREATE TABLE t (a INTEGER)",
        "CREATE TEMP TABLE t (a INTEGER)",
        "CREATE TEMP MACRO m() AS 1",
        "ATTACH '{0}/other.db' AS other",
        "ATTACH ':memory:' AS other",
        "COPY orders TO '{0}/out.csv'",
        "COPY (SELECT 1) TO '{0}/out.parquet'",
        "EXPORT DATABASE '{0}/out'",
        "SELECT * FROM read_csv('/etc/hostname')",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM '/etc/hostname'",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM parquet_scan('{0}/x.parquet')",
        "SELECT * FROM sqlite_scan('{0}/x.db', 't')",
        "SELECT getenv('HOME')",
        "SET memory_limit = '100GB'",
        "SET enable_external_access = true",
        "SET VARIABLE a = 1",
        "PRAGMA memory_limit = '100GB'",
        "PRAGMA enable_profiling",
        "INSTALL httpfs",
        "LOAD httpfs",
        "CALL duckdb_settings()",
        "PREPARE p AS SELECT 1",
        "CHECKPOINT",
        "BEGIN",
        "USE memory",
        "CREATE SECRET s (TYPE s3)",
        "SELECT 1; DELETE FROM orders",
        "EXPLAIN ANALYZE DELETE FROM orders",
        "SELECT * FROM asker",
    ],
)
def test_nothing_that_does_more_than_reading_gets_through(asker: Asker, url: str, tmp_path: Path, sql: str):
    before = (tmp_path / "shop.duckdb").read_bytes()
    assert asker.ask(url, sql.format(tmp_path)).status == "failed"
    assert (tmp_path / "shop.duckdb").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["shop.duckdb"]


@pytest.mark.parametrize("sql", ["", "-- nothing", ";"])
def test_no_statement_is_no_result(asker: Asker, url: str, sql: str):
    assert asker.ask(url, sql).error == "exactly one statement is allowed"


def test_a_query_that_takes_too_long_is_a_timeout(asker: Asker, url: str):
    outcome = asker.ask(url, ENDLESS, timeout_s=0.3)
    assert (outcome.status, outcome.error) == ("timeout", "the time limit of 0.3 s was reached")
    assert asker.value(url, "SELECT 1") == 1


def test_a_running_query_is_cancelled(asker: Asker, url: str):
    started = asker.start(url, ENDLESS, timeout_s=600, run_id="endless")
    eventually(lambda: any(runner.is_busy for runner in asker.executor.runners()))
    assert asker.executor.cancel("endless", "ann")
    assert started.outcome().error == "cancelled by ann"


def test_a_query_that_wants_too_much_memory_fails_and_the_next_one_runs(asker: Asker, url: str):
    outcome = asker.ask(url, "SELECT length(list(range::VARCHAR)) FROM range(100000000)", timeout_s=120)
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "emory" in outcome.error
    assert asker.value(url, "SELECT 1") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_value_that_grows_when_it_is_made_pythons_meets_a_wall(asker: Asker, url: str):
    outcome = asker.ask(url, "SELECT list([]) FROM range(9000000)", timeout_s=120)
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "emory" in outcome.error
    assert asker.value(url, "SELECT 1") == 1
    runners = [state for state in asker.executor.runners() if state.dialect == "duckdb"]
    assert all(psutil.Process(runner.pid).rlimit(psutil.RLIMIT_DATA)[1] < 10**9 for runner in runners)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_large_query_leaves_the_next_one_all_of_its_memory(asker: Asker, url: str):
    for _ in range(4):
        outcome = asker.ask(url, "SELECT len(list(range)) FROM range(9000000)", timeout_s=120)
        assert outcome.status == "success", outcome


def test_at_the_row_limit_no_more_is_read(asker: Asker, url: str):
    outcome = asker.ask(url, "SELECT range, date '2026-01-01' FROM range(100000000000)", caps=Caps(rows=100))
    assert (outcome.status, outcome.row_count, outcome.truncated) == ("success", 100, True)


def test_between_queries_the_file_is_free_for_those_who_write(
    asker: Asker, url: str, shop: Callable[[str], None]
):
    assert asker.value(url, "SELECT count(*) FROM orders") == 2

    def write() -> bool:
        try:
            shop("INSERT INTO orders VALUES (3, 'more', NULL)")
        except duckdb.IOException:  # the runner closes the file just after it has answered
            return False
        return True

    eventually(write, "the file is still locked")
    assert asker.value(url, "SELECT count(*) FROM orders") == 3


def test_a_file_that_someone_writes_fails_with_a_reason(asker: Asker, url: str, tmp_path: Path):
    with duckdb.connect(str(tmp_path / "shop.duckdb")):
        outcome = asker.ask(url, "SELECT 1")
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "lock" in outcome.error
    assert asker.value(url, "SELECT 1") == 1


def test_a_file_that_is_not_there_says_so(asker: Asker, tmp_path: Path):
    outcome = asker.ask(f"duckdb:///{tmp_path}/none.duckdb", "SELECT 1")
    assert outcome.error == "cannot open none.duckdb: No such file or directory"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_says_so(asker: Asker, tmp_path: Path):
    (tmp_path / "text.duckdb").write_text("hello " * 2000)
    outcome = asker.ask(f"duckdb:///{tmp_path}/text.duckdb", "SELECT 1")
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "not a valid DuckDB database" in outcome.error


def test_the_tables_of_a_file_are_listed(asker: Asker, url: str, shop: Callable[[str], None]):
    shop("CREATE VIEW cheap AS SELECT item FROM orders")
    found = {(table.schema, table.name): table.columns for table in asker.executor.tables(target(url))}
    assert found == {
        ("main", "orders"): [("id", "INTEGER"), ("item", "VARCHAR"), ("deleted_at", "TIMESTAMP")],
        ("main", "cheap"): [("item", "VARCHAR")],
    }


def test_the_self_test_of_a_file_has_nothing_to_warn_of(asker: Asker, url: str):
    report = asker.executor.self_test(target(url))
    assert report.server.startswith("DuckDB ")
    assert report.warnings == ()


TELLING_PLACES = (
    "SELECT path FROM duckdb_databases()",
    "SELECT reverse(path) FROM duckdb_databases",
    "SELECT reverse(path) FROM main.duckdb_databases",
    "PRAGMA database_list",
    "SELECT reverse(file) FROM pragma_database_list",
    "SELECT reverse(setting::VARCHAR) FROM pg_catalog.pg_settings",
    "SELECT reverse(value) FROM duckdb_settings()",
    "SELECT reverse(value) FROM system.main.duckdb_settings()",
    "SELECT reverse(current_setting('allowed_paths')::VARCHAR)",
    "SELECT reverse(current_setting('allowed_' || 'paths')::VARCHAR)",
    "SELECT reverse(current_setting('ALLOWED_PATHS')::VARCHAR)",
)


@pytest.mark.parametrize("sql", TELLING_PLACES)
def test_where_the_file_lies_is_not_told(asker: Asker, tmp_path: Path, sql: str):
    folder = tmp_path / "hidden-place"
    folder.mkdir()
    with duckdb.connect(str(folder / "shop.duckdb")) as bare:
        bare.execute("SET enable_external_access = false")
        told = str(bare.execute(sql).fetchall())
        assert "hidden-place" in told or "ecalp-neddih" in told
    if isinstance(check(sql, "duckdb"), Allowed):
        outcome = asker.ask(f"duckdb:///{folder}/shop.duckdb", sql)
        assert outcome.status == "success"
        assert "ecalp-neddih" not in str(outcome)


def test_an_error_does_not_tell_where_the_file_lies(asker: Asker, tmp_path: Path):
    folder = tmp_path / "hidden-place"
    folder.mkdir()
    url = f"duckdb:///{folder}/shop.duckdb"
    assert "hidden-place" not in str(asker.ask(url, "SELECT 1").error)
    with duckdb.connect(str(folder / "shop.duckdb")):
        assert "hidden-place" not in str(asker.ask(url, "SELECT 1").error)
    (folder / "shop.duckdb").write_bytes(b"x" * 5000)
    assert "hidden-place" not in str(asker.ask(url, "SELECT 1").error)
