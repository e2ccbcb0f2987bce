import contextlib
import json
import os
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest
from plugbay_scheduled_query.core.errors import SourceUnavailableError
from plugbay_scheduled_query.dialects.contract import Params
from plugbay_scheduled_query.dialects.sqlite.session import SqliteSession, authorize
from plugbay_scheduled_query.runner.protocol import Caps
from runner_kit import Asker, eventually, target

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"


def path_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def script(url: str, sql: str) -> None:
    connection = sqlite3.connect(path_of(url))
    with connection:
        connection.executescript(sql)
    connection.close()


def test_a_query_returns_columns_and_rows(asker: Asker, sqlite_url: str):
    outcome = asker.ask(
        sqlite_url, "SELECT id, item AS name FROM orders WHERE deleted_at IS NULL ORDER BY id"
    )
    assert outcome.status == "success"
    assert outcome.columns == ("id", "name")
    assert outcome.result_json == '[[1,"tea"],[2,"milk"]]'
    assert (outcome.row_count, outcome.truncated, outcome.error) == (2, False, None)


def test_a_failure_is_told_in_the_words_of_the_database(asker: Asker, sqlite_url: str):
    outcome = asker.ask(sqlite_url, "SELECT * FROM missing")
    assert (outcome.status, outcome.error) == ("failed", "no such table: missing")
    assert outcome.result_json is None


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("NULL", "null"),
        ("9223372036854775807", "9223372036854775807"),
        ("0.1", "0.1"),
        ("9e999", '"Infinity"'),
        ("-9e999", '"-Infinity"'),
        ("x'00ff'", '"00ff"'),
        ("'é☕'", '"é☕"'),
        ("char(0)", '"\\u0000"'),
        ("char(55296)", '"\\ud800"'),
        ("CAST(x'61ff' AS TEXT)", '"a\\udcff"'),
        ("'2026-01-01 00:00:00'", '"2026-01-01 00:00:00"'),
        ("json('{\"a\":1}')", '"{\\"a\\":1}"'),
    ],
)
def test_every_value_is_valid_json(asker: Asker, sqlite_url: str, sql: str, text: str):
    assert asker.text(sqlite_url, f"SELECT {sql}") == text


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT value FROM json_each('[1,2]')", [[1], [2]]),
        ('SELECT fullkey FROM json_tree(\'{"a":{"b":1}}\')', [["$"], ["$.a"], ["$.a.b"]]),
        ("SELECT json_extract('{\"a\":5}', '$.a'), json_group_array(1)", [[5, "[1]"]]),
        (
            "WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c LIMIT 3) SELECT x FROM c",
            [[1], [2], [3]],
        ),
        ("SELECT sum(price) OVER (ORDER BY id) FROM orders", [[2.5], [3.5], [3.5]]),
        ("SELECT body FROM notes WHERE notes MATCH 'hello'", [["hello world"]]),
        ("SELECT highlight(notes, 0, '<', '>') FROM notes('hello')", [["<hello> world"]]),
        ("SELECT body FROM notes_view", [["hello world"]]),
        ("SELECT body FROM old_notes WHERE old_notes MATCH 'old'", [["old hand"]]),
        ("SELECT id FROM places WHERE min_x < 5", [[1]]),
        ("SELECT name FROM pragma_table_info('orders') LIMIT 1", [["id"]]),
        ("PRAGMA user_version", [[0]]),
        ("EXPLAIN QUERY PLAN SELECT * FROM orders", [[2, 0, 0, "SCAN orders"]]),
        ("VALUES (1), (2)", [[1], [2]]),
        ("SELECT count(*) FROM sqlite_master WHERE name = 'orders'", [[1]]),
        ("SELECT 'drop' /* ; */ ; -- done;", [["drop"]]),
    ],
)
def test_all_that_reads_works(asker: Asker, sqlite_url: str, sql: str, rows: list):
    script(
        sqlite_url,
        """
        CREATE VIRTUAL TABLE notes USING fts5(body); INSERT INTO notes VALUES ('hello world');
        CREATE VIEW notes_view AS SELECT * FROM notes;
        CREATE VIRTUAL TABLE old_notes USING fts4(body); INSERT INTO old_notes VALUES ('old hand');
        CREATE VIRTUAL TABLE places USING rtree(id, min_x, max_x); INSERT INTO places VALUES (1, 0, 9);
        """,
    )
    assert asker.rows(sqlite_url, sql) == rows


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM orders",
        "INSERT INTO orders (item) VALUES ('x')",
        "UPDATE orders SET item = 'x'",
        "UPDATE sqlite_master SET sql = 'x'",
        "DROP TABLE orders",
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t (a)",
        "CREATE TEMP VIEW v AS SELECT 1",
        "ALTER TABLE orders ADD COLUMN x",
        "ATTACH DATABASE 'other.db' AS other",
        "ATTACH DATABASE ':memory:' AS other",
        "DETACH DATABASE main",
        "PRAGMA journal_mode = WAL",
        "PRAGMA writable_schema = ON",
        "PRAGMA user_version = 5",
        "PRAGMA query_only = OFF",
        "PRAGMA hard_heap_limit = 0",
        "PRAGMA temp_store_directory = '/'",
        "PRAGMA wal_checkpoint",
        "PRAGMA optimize",
        "PRAGMA database_list",
        "VACUUM",
        "VACUUM INTO 'copy.db'",
        "REINDEX",
        "ANALYZE",
        "BEGIN",
        "SAVEPOINT s",
        "SELECT load_extension('x')",
        "SELECT fts3_tokenizer('simple')",
        "INSERT INTO places_node VALUES (1, 2)",
        "WITH x AS (SELECT 1) DELETE FROM orders",
        "EXPLAIN DELETE FROM orders",
        "REPLACE INTO orders (id) VALUES (1)",
    ],
)
def test_nothing_that_does_more_than_reading_gets_through_the_session(
    asker: Asker, sqlite_url: str, sql: str
):
    before = path_of(sqlite_url).read_bytes()
    assert asker.ask(sqlite_url, sql).status == "failed"
    assert path_of(sqlite_url).read_bytes() == before
    assert [path.name for path in path_of(sqlite_url).parent.iterdir()] == ["shop.db"]


def test_one_statement_is_all(asker: Asker, sqlite_url: str):
    outcome = asker.ask(sqlite_url, "SELECT 1; DELETE FROM orders")
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert "one statement" in outcome.error


@pytest.mark.parametrize("sql", ["", "-- nothing", ";"])
def test_no_statement_is_no_result(asker: Asker, sqlite_url: str, sql: str):
    assert asker.ask(sqlite_url, sql).error == "the statement returns no rows"


def test_the_authorizer_denies_what_it_does_not_know():
    assert authorize(9999, None, None, None, None) == sqlite3.SQLITE_DENY


def test_a_query_that_takes_too_long_is_a_timeout(asker: Asker, sqlite_url: str):
    outcome = asker.ask(sqlite_url, ENDLESS, timeout_s=0.2)
    assert (outcome.status, outcome.error) == ("timeout", "the time limit of 0.2 s was reached")
    assert asker.value(sqlite_url, "SELECT 1") == 1


def test_a_function_that_cannot_be_interrupted_ends_with_its_runner(asker: Asker, sqlite_url: str):
    stubborn = "SELECT instr(hex(zeroblob(9000000)), hex(zeroblob(4000000)) || '1')"
    running = asker.start(sqlite_url, stubborn, timeout_s=0.2)
    [pid] = eventually(lambda: [runner.pid for runner in asker.executor.runners() if runner.is_busy])
    assert running.outcome().status == "timeout"
    eventually(lambda: not Path(f"/proc/{pid}").exists(), "the runner is still there")
    assert asker.value(sqlite_url, "SELECT 1") == 1


def test_a_running_query_is_cancelled_at_once(asker: Asker, sqlite_url: str):
    running = asker.start(sqlite_url, ENDLESS, timeout_s=60, run_id="endless")
    eventually(lambda: any(runner.is_busy for runner in asker.executor.runners()))
    assert asker.executor.cancel("endless", "ann")
    outcome = running.outcome()
    assert (outcome.status, outcome.error) == ("failed", "cancelled by ann")


def test_a_long_value_is_cut_and_a_longer_one_refused(asker: Asker, sqlite_url: str):
    outcome = asker.ask(sqlite_url, "SELECT hex(zeroblob(5000000))")
    assert (outcome.status, outcome.truncated) == ("success", True)
    assert outcome.result_json is not None
    [[value]] = json.loads(outcome.result_json)
    assert len(value.encode()) == Caps().cell_bytes
    assert asker.ask(sqlite_url, "SELECT zeroblob(100000000)").error == "string or blob too big"


def test_a_query_that_wants_too_much_memory_fails_and_the_next_one_runs(asker: Asker, sqlite_url: str):
    numbers = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 2000000)"
    hungry = f"{numbers} SELECT hex(randomblob(500)) AS h FROM c ORDER BY h"
    outcome = asker.ask(sqlite_url, hungry, timeout_s=120)
    assert outcome.status == "failed"
    assert outcome.error == "the query needs more than 300 MB of memory"
    assert asker.value(sqlite_url, "SELECT 1") == 1


def test_a_file_that_is_not_there_says_so(asker: Asker, tmp_path: Path):
    outcome = asker.ask(f"sqlite:///{tmp_path}/none.db", "SELECT 1")
    assert outcome.error == f"cannot open {tmp_path}/none.db: No such file or directory"
    assert not (tmp_path / "none.db").exists()


def test_a_file_that_a_crash_left_in_the_middle_of_a_change_says_so(asker: Asker, tmp_path: Path):
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("PRAGMA cache_size = 2")
        connection.execute("BEGIN")
        connection.execute("INSERT INTO t SELECT hex(zeroblob(300000))")
        connection.execute("INSERT INTO t SELECT hex(zeroblob(300000))")
        for name in ("a.db", "a.db-journal"):
            shutil.copy(tmp_path / name, tmp_path / f"crashed.{name.partition('.')[2]}")
    outcome = asker.ask(f"sqlite:///{tmp_path}/crashed.db", "SELECT 1")
    assert outcome.error is not None
    assert outcome.error.startswith("a crash left this file in the middle of a change")


def test_what_is_no_file_is_not_opened(asker: Asker, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        assert asker.ask(f"sqlite:///{path}", "SELECT 1").error == f"cannot open {path}: it is not a file"


def test_a_file_that_is_no_database_says_so(asker: Asker, tmp_path: Path):
    (tmp_path / "text.db").write_text("hello " * 200)
    outcome = asker.ask(f"sqlite:///{tmp_path}/text.db", "SELECT 1")
    assert outcome.error == "file is not a database"


def test_a_name_with_odd_characters_is_a_name(asker: Asker, tmp_path: Path):
    path = tmp_path / "odd ?mode=rwc#%41 é.db"
    sqlite3.connect(path).execute("CREATE TABLE t (a)").connection.close()
    place = target("sqlite:///" + str(path).replace("%", "%25").replace("?", "%3F"))
    assert asker.value(place, "SELECT count(*) FROM t") == 0


def test_a_file_that_was_replaced_is_opened_anew(asker: Asker, sqlite_url: str):
    assert asker.value(sqlite_url, "SELECT count(*) FROM orders") == 3
    path_of(sqlite_url).unlink()
    script(sqlite_url, "CREATE TABLE orders (id); INSERT INTO orders VALUES (7)")
    assert asker.value(sqlite_url, "SELECT count(*) FROM orders") == 1
    path_of(sqlite_url).unlink()
    assert asker.ask(sqlite_url, "SELECT 1").status == "failed"


def test_rows_that_others_write_are_seen_by_the_next_query(asker: Asker, sqlite_url: str):
    script(sqlite_url, "PRAGMA journal_mode = WAL")
    writer = sqlite3.connect(path_of(sqlite_url))
    for count in (4, 5):
        with writer:
            writer.execute("INSERT INTO orders (item) VALUES ('more')")
        assert asker.value(sqlite_url, "SELECT count(*) FROM orders") == count
    writer.close()


def test_a_result_that_was_cut_holds_no_lock_on_the_file(asker: Asker, sqlite_url: str):
    outcome = asker.ask(sqlite_url, "SELECT a.id FROM orders a, orders b, orders c", caps=Caps(rows=10))
    assert (outcome.row_count, outcome.truncated) == (10, True)
    script(sqlite_url, "DELETE FROM orders")
    assert asker.value(sqlite_url, "SELECT count(*) FROM orders") == 0


def test_the_tables_of_a_file_are_listed(asker: Asker, sqlite_url: str):
    script(
        sqlite_url, "CREATE VIEW cheap AS SELECT item FROM orders; CREATE VIEW broken AS SELECT * FROM gone"
    )
    found = {table.name: table.columns for table in asker.executor.tables(target(sqlite_url))}
    assert found == {
        "orders": [("id", "INTEGER"), ("item", "TEXT"), ("price", "REAL"), ("deleted_at", "TEXT")],
        "cheap": [("item", "TEXT")],
    }


def test_the_self_test_of_a_file_has_nothing_to_warn_of(asker: Asker, sqlite_url: str):
    report = asker.executor.self_test(target(sqlite_url))
    assert report.server.startswith("SQLite 3.")
    assert report.warnings == ()


def test_a_source_that_cannot_be_looked_at_says_why(asker: Asker, tmp_path: Path):
    with pytest.raises(SourceUnavailableError, match="No such file"):
        asker.executor.tables(target(f"sqlite:///{tmp_path}/none.db"))


def test_a_statement_that_was_stopped_before_it_began_does_not_begin(sqlite_url: str):
    session = SqliteSession(Params({"path": path_of(sqlite_url)}, 100_000_000, 10))
    session.begin(60)
    cancelling = threading.Thread(target=session.cancel)
    cancelling.start()
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        session.execute(ENDLESS).fetch(1)
    cancelling.join()
    session.close()
