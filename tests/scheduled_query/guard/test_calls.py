import pytest
from plugbay_scheduled_query.core.guard import Allowed, Rejection
from plugbay_scheduled_query.core.guard.calls import calls, reject_calls, unknown_calls
from plugbay_scheduled_query.dialects import check
from plugbay_scheduled_query.dialects.postgresql.functions import FUNCTIONS

from .cutting import tokens

NONE: frozenset[str] = frozenset()


def names(sql: str, dialect: str = "postgresql") -> list[str]:
    return [call.full_name for call in calls(tokens(sql, dialect))]


@pytest.mark.parametrize(
    "call",
    [
        "pg_sleep(1)",
        "PG_SLEEP (1)",
        '"pg_sleep"(1)',
        "pg_sleep\n(1)",
        "pg_sleep/* c */(1)",
        "pg_sleep -- c\n (1)",
    ],
)
def test_a_name_before_a_bracket_is_a_call_however_it_is_written(call: str) -> None:
    assert names(f"SELECT {call}") == ["pg_sleep"]


def test_the_schema_before_a_name_belongs_to_it() -> None:
    assert names('SELECT pg_catalog.lower(a), "My Schema" . f (b)') == ["pg_catalog.lower", "my schema.f"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t WHERE a IN (1) AND (b) OR NOT (c) AND EXISTS (SELECT 1)",
        "SELECT x FROM t JOIN u USING (id) WINDOW w AS (PARTITION BY (a))",
        "SELECT a FROM t GROUP BY GROUPING SETS ((a), (b)), ROLLUP (a), CUBE (b)",
        "SELECT a FROM (VALUES (1), (2)) AS v (a)",
        "WITH x AS MATERIALIZED (SELECT 1) SELECT ARRAY(SELECT 1), ANY (x)",
        "SELECT cast(a AS numeric(10, 2)), a::varchar(3), a::my_type(1)",
    ],
)
def test_words_of_the_language_types_and_aliases_are_no_calls(sql: str) -> None:
    assert [name for name in names(sql) if name != "cast"] == []


def test_a_quoted_word_of_the_language_is_a_name_like_any_other() -> None:
    assert names('SELECT "in"(1)') == ["in"]


def test_sqlite_calls_by_a_text_too() -> None:
    assert names("SELECT * FROM 'fsdir'('/')", "sqlite") == ["fsdir"]


def test_methods_of_duckdb_are_calls() -> None:
    assert names("SELECT 'HOME'.getenv(), a.b.upper()", "duckdb") == ["getenv", "a.b.upper"]


def test_a_dangerous_function_is_refused_with_what_it_does() -> None:
    rejection = reject_calls(tokens("SELECT pg_catalog.pg_sleep(1)"), FUNCTIONS, NONE)
    assert rejection is not None
    assert (
        rejection.reason
        == "The function pg_catalog.pg_sleep may not be used in a query: it waits on purpose."
    )


def test_a_harmless_function_passes() -> None:
    assert reject_calls(tokens("SELECT lower(a), pg_size_pretty(1)"), FUNCTIONS, NONE) is None


def test_an_operator_of_the_service_may_list_any_function() -> None:
    assert reject_calls(tokens("SELECT pg_sleep(1)"), FUNCTIONS, frozenset({"pg_sleep"})) is None
    assert reject_calls(tokens("SELECT app.lo_x(1)"), FUNCTIONS, frozenset({"app.lo_x"})) is None
    assert reject_calls(tokens("SELECT other.lo_x(1)"), FUNCTIONS, frozenset({"app.lo_x"})) is not None


def test_names_on_no_list_are_counted_with_their_aliases() -> None:
    sql = "WITH f (a) AS (SELECT 1) SELECT f(2), lower(x), g(1) FROM t AS f (b)"
    assert unknown_calls(tokens(sql), FUNCTIONS, NONE) == {"f": 3, "g": 1}
    assert unknown_calls(tokens(sql), FUNCTIONS, frozenset({"f", "g"})) == {}


def test_a_letter_that_only_looks_like_another_makes_another_name() -> None:
    assert names("SELECT ran\u212a(1)") == ["ran\u212a"]  # the sign for Kelvin


@pytest.mark.parametrize("name", ["system", "bernoulli"])
def test_a_way_to_take_a_sample_is_no_function_anywhere_else(name: str) -> None:
    assert check(f"SELECT a FROM t TABLESAMPLE {name} (10)", "postgresql") == Allowed()
    for sql in (f"SELECT {name}('ls')", f"SELECT a FROM {name}('ls') AS a", f"SELECT x.{name}('ls')"):
        assert isinstance(check(sql, "postgresql"), Rejection)
        assert isinstance(check(sql, "duckdb"), Rejection)
