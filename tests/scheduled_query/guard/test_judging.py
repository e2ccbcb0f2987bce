"""The guard as a whole: the order of its steps, its readings, what an operator can set."""

import logging
import threading

import pytest
from plugbay_scheduled_query.core.guard import Allowed, Rejection, Rules
from plugbay_scheduled_query.core.guard.judging import judge
from plugbay_scheduled_query.dialects import check, language_named

ALL = ["sqlite", "postgresql", "mysql", "duckdb"]


def rule(sql: str, dialect: str = "postgresql", rules: Rules = Rules()) -> str | None:  # noqa: B008
    verdict = check(sql, dialect, rules)
    return verdict.rule if isinstance(verdict, Rejection) else None


def test_length_and_characters_come_first_then_keywords_then_the_statement() -> None:
    assert rule("DROP \x00" + "x" * 200_000) == "length"
    assert rule("DROP TABLE x\x00") == "characters"
    assert rule("DROP TABLE x") == "keyword"
    assert rule("DROP TABLE x", rules=Rules(())) == "write"


@pytest.mark.parametrize("dialect", ALL)
def test_a_query_is_allowed(dialect: str) -> None:
    assert check("SELECT count(*) FROM orders WHERE deleted_at IS NULL", dialect) == Allowed("query")


def test_mariadb_is_another_name_for_mysql() -> None:
    assert language_named("mariadb") is language_named("mysql")


@pytest.mark.parametrize(
    "sql",
    [
        r"SELECT 'a\', sleep(5), 'b'",  # with NO_BACKSLASH_ESCAPES the call stands outside of the text
        r"SELECT 'a\' ; INSERT x VALUES (1) -- '",
        r"SELECT 'a\', my_function(5), 'b'",
        r"SELECT 'a\' ; SELECT sleep(5) ; 'b'",
        'SELECT "sleep"(5)',  # with ANSI_QUOTES a name, not a text
        "SELECT \"a' , sleep(5) , 'b\", 'c'" + '"',
    ],
)
def test_no_setting_of_mysql_may_turn_a_text_into_a_call(sql: str) -> None:
    assert isinstance(check(sql, "mysql"), Rejection)


@pytest.mark.parametrize(
    "sql",
    [
        r"SELECT 'it\'s', 'don\'t', 'c:\\temp\\'",
        r'SELECT "say \"hi\"", "it\'s", ' + "'say \"hi\"'",
        'SELECT "a" , \'b\' FROM t WHERE x IN ("c", "d") AND y LIKE "e%"',
        r"SELECT 'a\nb\tc\0'",
    ],
)
def test_honest_escapes_of_mysql_are_no_trouble(sql: str) -> None:
    assert check(sql, "mysql") == Allowed()


def test_no_setting_of_postgresql_may_turn_a_text_into_a_call() -> None:
    assert rule(r"SELECT 'a\', pg_sleep(5), 'b'") == "function"
    assert rule(r"SELECT 'a\' || ', pg_sleep(5) --'") == "function"
    assert check(r"SELECT 'c:\temp', '\d+', 'a\'", "postgresql") == Allowed()


def test_a_function_of_ones_own_is_refused_until_an_operator_lists_it() -> None:
    sql = "SELECT app.revenue(2026), revenue(1)"
    assert rule(sql) == "function"
    assert rule(sql, rules=Rules(allowed_functions=frozenset({"app.revenue"}))) == "function"
    assert rule(sql, rules=Rules(allowed_functions=frozenset({"revenue"}))) is None
    assert rule(sql, rules=Rules.from_settings("", "App.Revenue, REVENUE")) is None


def test_the_length_can_be_set() -> None:
    assert rule("SELECT 1234", rules=Rules(max_length=10)) == "length"


def test_a_text_of_very_many_words_is_too_long_as_well() -> None:
    verdict = check("SELECT 1" + ",1" * 30_000, "sqlite")
    assert isinstance(verdict, Rejection)
    assert verdict.reason == "The query has 60,002 words, numbers and marks; at most 40,000 are allowed."


def test_no_keyword_need_be_forbidden() -> None:
    assert rule("SELECT 'drop'", rules=Rules(())) is None


@pytest.mark.parametrize("dialect", ["oracle", "mssql", "snowflake", "firebird", "", "no such thing"])
def test_a_database_that_is_not_known_is_held_to_standard_sql(dialect: str) -> None:
    assert check("SELECT a, count(*) FROM t WHERE b = 'x' GROUP BY a", dialect) == Allowed()
    for hostile in (
        "INSERT INTO t VALUES (1)",
        "SELECT 1; SELECT 2",
        "SELECT load_file('x')",
        "SELECT my_function(1)",
        "SELECT * FROM t FOR UPDATE",
        "SELECT a INTO b FROM t",
        "EXEC xp_cmdshell 'dir'",
        "BEGIN NULL; END",
        r"SELECT 'a\', sleep(1), 'b'",
        "SELECT `a`",
        "SELECT @a",
    ):
        assert isinstance(check(hostile, dialect), Rejection)


def test_the_same_text_gets_the_same_verdict_from_many_threads() -> None:
    verdicts: list[object] = []
    sql = "SELECT a, b FROM t WHERE c IN (SELECT d FROM u) AND e = 'threads'"
    threads = [threading.Thread(target=lambda: verdicts.append(check(sql, "postgresql"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == [Allowed()] * 8


def test_a_guard_that_stumbles_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(*_: object) -> None:
        raise KeyError("a fault of ours")

    with monkeypatch.context() as patch:
        patch.setattr("plugbay_scheduled_query.core.guard.judging.judge", stumble)
        assert rule("SELECT 'a text that no other test has'") == "parse"
    assert rule("SELECT 'a text that no other test has'") is None


TWISTED = "WITH a AS (SELECT 1) PREPARE x AS SELECT 1"  # which sqlglot would tell its log about


@pytest.mark.parametrize("dialect", ALL)
def test_the_parser_writes_no_log_lines_of_its_own(dialect: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for sql in (
            "CALL x()",
            "SELECT a -> 'no $ path..[' FROM t",
            "SHOW x y z",
            "ALTER TABLE x SET y",
            TWISTED,
        ):
            judge(sql, language_named(dialect), Rules(()))
    assert caplog.records == []
