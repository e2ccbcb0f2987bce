import pytest
from plugbay_scheduled_query.core.guard import Allowed, Rejection, Rules
from plugbay_scheduled_query.core.guard.endless import LARGEST
from plugbay_scheduled_query.core.guard.judging import judge
from plugbay_scheduled_query.dialects import check, language_named


def rule(sql: str, dialect: str = "postgresql") -> str | None:
    verdict = check(sql, dialect)
    return verdict.rule if isinstance(verdict, Rejection) else None


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql", "mysql", "duckdb"])
@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c",
        "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c",
        "WITH RECURSIVE a AS (SELECT 1), c AS (SELECT 1 AS n UNION ALL SELECT n FROM c AS d) SELECT n FROM c",
        "SELECT * FROM (WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n FROM c) SELECT n FROM c) x",
        "WITH RECURSIVE max (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM max) SELECT n FROM max",
    ],
)
def test_a_recursion_without_an_end_is_refused(dialect: str, sql: str) -> None:
    assert rule(sql, dialect) == "endless"


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT n FROM c",
        "WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c) SELECT n FROM c LIMIT 5",
        "WITH RECURSIVE c AS (SELECT 1 AS n UNION SELECT (n + 1) % 5 FROM c) SELECT n FROM c",
        "WITH RECURSIVE c AS (SELECT a FROM t UNION ALL SELECT t.a FROM t JOIN c ON b = c.a) SELECT 1 FROM c",
        "WITH RECURSIVE c AS (SELECT 1 AS n) SELECT n FROM c",
        "WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT 2) SELECT n FROM c",
    ],
)
def test_a_recursion_that_may_end_passes(sql: str) -> None:
    assert check(sql, "postgresql") == Allowed()


@pytest.mark.parametrize(
    ("dialect", "call"),
    [
        ("postgresql", "repeat('x', {})"),
        ("postgresql", "lpad('x', {})"),
        ("postgresql", "generate_series(1, {})"),
        ("postgresql", "array_fill(0, ARRAY[{}, 2])"),
        ("postgresql", "generate_series({}, 1, -1)"),
        ("mysql", "SPACE({})"),
        ("mysql", "REPEAT('x', ({}))"),
        ("sqlite", "zeroblob({})"),
        ("sqlite", "hex(randomblob({}))"),
        ("duckdb", "range({})"),
        ("duckdb", "list_resize([1], {})"),
        ("duckdb", "bar(1, 0, 1, {})"),
    ],
)
def test_a_gigantic_argument_is_refused_and_a_sensible_one_is_not(dialect: str, call: str) -> None:
    gigantic, sensible = LARGEST * 10, 1000
    assert rule("SELECT " + call.replace("{}", str(gigantic)), dialect) == "endless"
    assert rule("SELECT " + call.replace("{}", str(sensible)), dialect) is None


@pytest.mark.parametrize(
    "number", ["1e9", "1_000_000_000", "0x7FFFFFFF", "(1e9)", "1000000000.0", "1e9::int"]
)
def test_a_number_is_read_however_it_is_written(number: str) -> None:
    assert rule(f"SELECT repeat('x', {number})") == "endless"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT strpos(repeat('a', 9000000), 'b' || repeat('a', 4500000))",
        "SELECT repeat('a', 1000 * 2000)",
        "SELECT repeat(repeat('a', 2000), 1000)",
        "SELECT repeat((lpad('a', 200000))::text, 10)",
    ],
)
def test_no_text_is_made_that_a_function_could_be_lost_in(sql: str) -> None:
    """PostgreSQL cannot stop strpos, replace or translate while they are at work."""
    assert rule(sql) == "endless"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT EXTRACTVALUE(a, '//b') FROM t",
        "SELECT UPDATEXML(a, '//b', 'c') FROM t",
        "SELECT ENCRYPT('a', '$6$rounds=999999999$b')",
        "SELECT KDF('a', 'b', 2000000000)",
    ],
)
def test_functions_of_mariadb_that_nothing_can_stop_are_refused(sql: str) -> None:
    assert rule(sql, "mysql") == "function"


def test_a_text_of_some_length_may_be_made() -> None:
    assert rule("SELECT repeat(repeat('ab', 10), 10 * 10), repeat(name, 3), lpad('x', -5) FROM t") is None


def test_a_long_series_with_long_steps_is_short() -> None:
    assert rule("SELECT * FROM generate_series(0, 1000000000, 1000000)") is None
    assert rule("SELECT * FROM generate_series(0, 1000000000, 2)") == "endless"


def test_what_a_tree_cannot_know_is_left_to_the_limits() -> None:
    assert rule("SELECT repeat()") is None
    assert rule("SELECT generate_series(a, b) FROM t") is None
    assert rule("SELECT generate_series(1, 5, 0)") is None
    assert rule("SELECT generate_series(), generate_series(1, 2, 3, 4)") is None


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql", "mysql", "duckdb"])
@pytest.mark.parametrize("count", range(5))
def test_any_number_of_arguments_can_be_judged(dialect: str, count: int) -> None:
    """The parser takes what the database would refuse; the guard must not stumble over it."""
    named = language_named(dialect)
    for name in sorted(named.functions.harmless):
        judge(f"SELECT {name}({', '.join(['1'] * count)})", named, Rules(()))


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("sqlite", "SELECT printf('%99999999d', 1)"),
        ("sqlite", "SELECT format('%.99999999f', 1)"),
        ("duckdb", "SELECT format('{:99999999d}', 1)"),
        ("mysql", "SELECT SFORMAT('{:99999999d}', 1)"),
    ],
)
def test_a_format_of_many_millions_is_refused(dialect: str, sql: str) -> None:
    assert rule(sql, dialect) == "endless"
    assert rule(sql.replace("99999999", "12"), dialect) is None


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("sqlite", "SELECT printf('%.*c', 1000000000, 'x')"),
        ("sqlite", "SELECT format('a%-*d', -1000000000, 1)"),
        ("sqlite", "SELECT 1 WHERE length(printf('%0*.*f', 3, 1000 * 1000000, 1.5)) > 5"),
        ("postgresql", "SELECT format('%*s', 1000000000, 'x')"),
        ("postgresql", "SELECT format('%1$*2$s', 'x', 1000000000)"),
        ("duckdb", "SELECT printf('%*d', 1000000000, 1)"),
    ],
)
def test_a_format_that_takes_its_width_from_a_gigantic_argument_is_refused(dialect: str, sql: str) -> None:
    assert rule(sql, dialect) == "endless"
    assert rule(sql.replace("000000", ""), dialect) is None


def test_a_large_number_that_is_no_width_is_just_a_number() -> None:
    assert rule("SELECT printf('%d', 1000000000), printf('100%% * %d', 1000000000)", "sqlite") is None
    assert rule("SELECT printf('%.*f', 2, a) FROM t WHERE a > 1000000000", "sqlite") is None


def test_long_numbers_in_other_texts_are_just_text() -> None:
    assert rule("SELECT '%99999999d'", "sqlite") is None


def test_the_sequence_tables_of_mariadb_are_measured() -> None:
    assert rule("SELECT * FROM seq_1_to_99999999999", "mysql") == "endless"
    assert rule("SELECT * FROM seq_1_to_99999999999_step_1000000", "mysql") is None
    assert rule("SELECT * FROM seq_1_to_10", "mysql") is None
