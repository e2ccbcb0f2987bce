import pytest
from plugbay_scheduled_query.core.guard.parsing import PlainText
from plugbay_scheduled_query.dialects import language_named
from sqlglot import exp

from .cutting import tokens


def plain(sql: str, dialect: str = "postgresql", allowed: frozenset[str] = frozenset()) -> PlainText:
    named = language_named(dialect)
    return PlainText(tokens(sql, dialect), named.functions, allowed, named.quote)


@pytest.mark.parametrize("text", ["'a'", "'it''s'", r"E'\''", "$$a;b$$", "'-- x'", "''", "n'x'"])
def test_every_text_becomes_the_same_letter(text: str) -> None:
    assert plain(f"SELECT {text}").sql == "SELECT 's'"


def test_comments_and_line_ends_are_gone() -> None:
    assert plain("SELECT 1 -- a\n/* b */ , 2").sql == "SELECT 1 , 2"


def test_quoted_names_become_numbers_and_can_be_told_again() -> None:
    text = plain('SELECT "a""b", "c;d", "a""b"')
    assert text.sql == 'SELECT "n0" , "n1" , "n0"'
    assert text.original(exp.to_identifier("n1", quoted=True)) == "c;d"


def test_a_bare_name_that_looks_like_a_number_of_ours_is_itself() -> None:
    assert plain("SELECT n0").original(exp.to_identifier("n0", quoted=False)) == "n0"


def test_names_beyond_ascii_and_with_dollars_are_quoted() -> None:
    assert plain("SELECT größe, a$b").sql == 'SELECT "n0" , "n1"'


def test_names_are_quoted_as_the_parser_expects() -> None:
    assert plain("SELECT `a` FROM `b`", "mysql").sql == "SELECT `n0` FROM `n1`"


def test_harmless_functions_get_names_that_no_parser_knows() -> None:
    assert plain('SELECT date_trunc(a), "lower" (b)').sql == "SELECT fn_date_trunc ( a ) , fn_lower ( b )"


def test_functions_with_a_syntax_of_their_own_keep_their_names() -> None:
    assert plain("SELECT EXTRACT(year FROM a)").sql == "SELECT extract ( year FROM a )"


def test_functions_on_no_list_keep_their_names_until_they_are_judged() -> None:
    assert plain("SELECT my_f(a)").sql == "SELECT my_f ( a )"
    assert plain("SELECT my_f(a)", allowed=frozenset({"my_f"})).sql == "SELECT fn_my_f ( a )"


def test_a_star_that_replaces_columns_calls_nothing() -> None:
    assert plain("SELECT * REPLACE (a AS b) FROM t", "duckdb").sql == "SELECT * REPLACE ( a AS b ) FROM t"
    assert "REPLACE ( b" in plain("SELECT * EXCLUDE (a) REPLACE (b AS c) FROM t", "duckdb").sql


@pytest.mark.parametrize(
    ("sql", "written"),
    [
        ("SELECT a <-> b", "SELECT a || b"),
        ("SELECT |/ 25", "SELECT - 25"),
        ("SELECT a @@ b", "SELECT a || b"),
        ("SELECT (a) -|- b", "SELECT ( a ) || b"),
        ("SELECT a @> b", "SELECT a @> b"),
    ],
)
def test_operators_that_no_parser_knows_stand_as_ones_that_it_knows(sql: str, written: str) -> None:
    assert plain(sql).sql == written


def test_a_factorial_is_left_out() -> None:
    assert plain("SELECT 5!", "duckdb").sql.split() == ["SELECT", "5"]
    assert plain("SELECT !1", "mysql").sql == "SELECT ! 1"


def test_two_dashes_that_are_no_comment_are_kept_apart() -> None:
    assert plain("SELECT 5--3", "mysql").sql == "SELECT 5 - - 3"


def test_values_and_types_before_a_text_are_written_as_the_parser_can_read_them() -> None:
    assert plain("VALUES (1), (2)").sql == "SELECT ( 1 ) , ( 2 )"
    assert plain("SELECT inet '10.0.0.1'").sql.split() == ["SELECT", "'s'"]


def test_system_variables_are_columns_to_the_parser() -> None:
    assert plain("SELECT @@version", "mysql").sql == "SELECT system_variable"
