import pytest
from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.core.guard.statements import reject_words, single_statement

from .cutting import tokens

DUCKDB_WORDS = frozenset({"FROM", "UNPIVOT"})


def rule(sql: str, more: frozenset[str] = frozenset(), dialect: str = "postgresql") -> str | None:
    rejection = reject_words(tokens(sql, dialect), more)
    return rejection.rule if rejection else None


def test_one_statement_passes_with_or_without_a_semicolon_at_its_end() -> None:
    for sql in ("SELECT 1", "SELECT 1;", "SELECT 1 ; -- done"):
        statement = single_statement(tokens(sql))
        assert not isinstance(statement, Rejection)
        assert [token.value for token in statement] == ["SELECT", "1"]


@pytest.mark.parametrize("sql", ["SELECT 1; SELECT 2", "SELECT 1;;", "; SELECT 1", "SELECT 1; 2"])
def test_a_second_statement_is_refused(sql: str) -> None:
    statement = single_statement(tokens(sql))
    assert isinstance(statement, Rejection)
    assert statement.rule == "statements"


@pytest.mark.parametrize("sql", ["-- nothing", ";", " ; -- x"])
def test_a_text_of_comments_and_semicolons_is_empty(sql: str) -> None:
    statement = single_statement(tokens(sql))
    assert isinstance(statement, Rejection)
    assert statement.rule == "empty"


@pytest.mark.parametrize(
    "sql", ["SELECT 1", "WITH x AS (SELECT 1) SELECT 1", "VALUES (1)", "TABLE x", "(SELECT 1)"]
)
def test_queries_begin_with_a_word_that_reads(sql: str) -> None:
    assert rule(sql) is None


def test_only_some_databases_begin_with_from() -> None:
    assert rule("FROM x") == "not_a_query"
    assert rule("FROM x", DUCKDB_WORDS) is None


@pytest.mark.parametrize(
    "word", ["INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "DROP", "SET", "CALL", "COPY", "do"]
)
def test_a_statement_that_begins_with_a_writing_word_writes(word: str) -> None:
    assert rule(f"{word} x") == "write"


@pytest.mark.parametrize("sql", ["\u017felect 1", "BEGIN", "1", "'SELECT'", '"SELECT" 1', "ANALYZE x"])
def test_anything_else_is_no_query(sql: str) -> None:
    assert rule(sql) == "not_a_query"


@pytest.mark.parametrize(
    "sql",
    [
        "WITH x AS (DELETE FROM t RETURNING 1) SELECT 1",
        "WITH x AS MATERIALIZED (UPDATE t SET a = 1) SELECT 1",
        "WITH x AS (SELECT 1) INSERT INTO t SELECT 1",
        "SELECT * FROM (MERGE INTO t) x",
    ],
)
def test_writing_words_inside_a_query_are_refused(sql: str) -> None:
    assert rule(sql) == "write"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT update FROM t",
        "SELECT max(update), (insert) FROM t",
        "SELECT replace(a, b, c), (replace(a, b, c)) FROM t",
        "SELECT t.delete, set FROM t",
        'SELECT "update" FROM "insert"',
    ],
)
def test_columns_and_functions_may_bear_the_names_of_writing_words(sql: str) -> None:
    assert rule(sql) is None


@pytest.mark.parametrize("word", ["INTO", "into", "OUTFILE", "DUMPFILE"])
def test_a_result_goes_nowhere_but_back(word: str) -> None:
    assert rule(f"SELECT 1 {word} x") == "into"
    assert rule(f'SELECT 1 AS "{word}"') is None


def test_unpivot_may_name_its_columns_with_into() -> None:
    assert rule("UNPIVOT t ON a INTO NAME k VALUE v", DUCKDB_WORDS) is None
    assert rule("SELECT 1 INTO NAME", frozenset()) == "into"


@pytest.mark.parametrize(
    "lock",
    [
        "FOR UPDATE",
        "for  share",
        "FOR NO KEY UPDATE",
        "FOR KEY SHARE",
        "LOCK IN SHARE MODE",
        "FOR /* c */ UPDATE NOWAIT",
    ],
)
def test_locks_are_refused(lock: str) -> None:
    assert rule(f"SELECT * FROM t {lock}") == "lock"
    assert rule(f"SELECT * FROM (SELECT * FROM t {lock}) x") == "lock"


def test_for_without_a_lock_passes() -> None:
    assert rule("SELECT substring(a FROM 1 FOR 2), lock FROM t") is None


@pytest.mark.parametrize("sql", ["SELECT NEXT VALUE FOR s", "SELECT next\nvalue for s", "SELECT s.nextval"])
def test_sequences_are_not_moved(sql: str) -> None:
    assert rule(sql) == "write"


def test_rows_are_not_handed_to_procedures() -> None:
    assert rule("SELECT * FROM t PROCEDURE ANALYSE()", dialect="mysql") == "not_a_query"
