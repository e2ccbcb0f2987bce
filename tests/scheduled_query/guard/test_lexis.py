"""How texts are cut: the places where databases differ from each other, and so from any one parser."""

import pytest
from plugbay_scheduled_query.core.guard.lexis import NotSql, TokenKind

from .cutting import refusal, tokens, values

ALL = ["sqlite", "postgresql", "mysql", "duckdb"]


@pytest.mark.parametrize("dialect", ALL)
def test_words_numbers_texts_and_marks_are_told_apart(dialect: str) -> None:
    kinds = [token.kind for token in tokens("SELECT a1, 'x' , 1.5e3 * (2)", dialect)]
    word, mark = TokenKind.WORD, TokenKind.MARK
    assert kinds == [
        word,
        word,
        mark,
        TokenKind.STRING,
        mark,
        TokenKind.NUMBER,
        TokenKind.OPERATOR,
        mark,
        TokenKind.NUMBER,
        mark,
    ]


@pytest.mark.parametrize("dialect", ALL)
def test_a_doubled_quote_stays_inside_the_text(dialect: str) -> None:
    assert values("'it''s' '' ''''", dialect) == ["it's", "", "'"]


@pytest.mark.parametrize("dialect", ALL)
def test_comments_and_semicolons_inside_texts_are_text(dialect: str) -> None:
    assert values("'-- ; /* # */'", dialect) == ["-- ; /* # */"]


@pytest.mark.parametrize("dialect", ALL)
def test_quotes_inside_comments_are_comment(dialect: str) -> None:
    assert values("1 /* ' \" ` */ + -- '\n2", dialect) == ["1", "+", "2"]


def test_a_backslash_escapes_a_quote_in_mysql_only() -> None:
    assert values(r"'a\'b'", "mysql") == [r"a\'b"]
    for dialect in ("sqlite", "postgresql", "duckdb"):
        assert values(r"'a\' , 1", dialect) == ["a\\", ",", "1"]


def test_mysql_has_four_readings_of_a_backslash_and_a_double_quote() -> None:
    text = r"""'a\' "b" """
    assert values(text + "'", "mysql", 0) == [r"""a\' "b" """]
    assert values(text, "mysql", 1) == ["a\\", "b"]
    assert [token.kind for token in tokens('"a"', "mysql", 0)] == [TokenKind.STRING]
    assert [token.kind for token in tokens('"a"', "mysql", 2)] == [TokenKind.NAME]
    assert [token.kind for token in tokens(text, "mysql", 3)] == [TokenKind.STRING, TokenKind.NAME]


def test_postgresql_may_be_set_to_read_backslashes_as_escapes() -> None:
    assert values(r"'a\'b'", "postgresql", 1) == [r"a\'b"]


@pytest.mark.parametrize("dialect", ["postgresql", "duckdb"])
def test_an_e_before_a_text_makes_backslashes_escapes(dialect: str) -> None:
    assert values(r"E'a\'b' e'\\' , 1", dialect) == [r"a\'b", r"\\", ",", "1"]


@pytest.mark.parametrize("dialect", ["postgresql", "duckdb"])
def test_dollars_quote_with_or_without_a_tag(dialect: str) -> None:
    assert values("$$a'b;$$ $t$ $$ $x$ $t$", dialect) == ["a'b;", " $$ $x$ "]
    assert values("$größe$ ' $größe$", dialect) == [" ' "]


@pytest.mark.parametrize("dialect", ["postgresql", "duckdb"])
def test_a_dollar_inside_a_name_quotes_nothing(dialect: str) -> None:
    assert values("a$$b$$ ; c", dialect) == ["a$$b$$", ";", "c"]


@pytest.mark.parametrize("dialect", ["postgresql", "duckdb"])
def test_comments_nest_where_the_database_nests_them(dialect: str) -> None:
    assert values("1 /* a /* b */ ; */ 2", dialect) == ["1", "2"]
    assert values("1 /*/**/*/ 2", dialect) == ["1", "2"]


@pytest.mark.parametrize("dialect", ["sqlite", "mysql"])
def test_elsewhere_the_first_end_ends_a_comment(dialect: str) -> None:
    assert values("1 /* a /* b */ ; c", dialect) == ["1", ";", "c"]


@pytest.mark.parametrize("dialect", ALL)
def test_a_comment_is_not_ended_by_its_own_star(dialect: str) -> None:
    assert isinstance(refusal("1 /*/ 2", dialect), NotSql)


def test_two_dashes_need_a_space_in_mysql() -> None:
    assert values("5--3", "mysql") == ["5", "-", "-", "3"]
    assert values("5-- 3\n+1", "mysql") == ["5", "+", "1"]
    assert values("5--\t3\n+1", "mysql") == ["5", "+", "1"]
    assert values("5--", "mysql") == ["5"]
    assert values("5--3", "postgresql") == ["5"]


def test_a_hash_begins_a_comment_in_mysql_only() -> None:
    assert values("1 # ; '\n+ 2", "mysql") == ["1", "+", "2"]
    assert values("1 # 2", "postgresql") == ["1", "#", "2"]


@pytest.mark.parametrize(
    ("dialect", "text"),
    [("sqlite", '"a""b"'), ("sqlite", "`a``b`"), ("sqlite", "[a b]"), ("postgresql", '"a""b"'),
     ("mysql", "`a``b`"), ("duckdb", '"a""b"'), ("duckdb", "`a``b`")],
)  # fmt: skip
def test_each_database_has_its_own_quotes_for_names(dialect: str, text: str) -> None:
    (token,) = tokens(text, dialect)
    assert token.kind is TokenKind.NAME
    assert token.value in ('a"b', "a`b", "a b")


def test_brackets_quote_names_in_sqlite_and_are_marks_elsewhere() -> None:
    assert values("[a;b]", "sqlite") == ["a;b"]
    assert values("a[1]", "postgresql") == ["a", "[", "1", "]"]
    assert refusal("[a]", "mysql").rule == "ambiguous"


@pytest.mark.parametrize("dialect", ALL)
@pytest.mark.parametrize("opening", ["'a", '"a', "/* a", "'a''"])
def test_what_has_no_end_is_refused(dialect: str, opening: str) -> None:
    rejection = refusal(f"SELECT 1\n, {opening}", dialect)
    assert isinstance(rejection, NotSql)
    assert "line 2" in rejection.reason


@pytest.mark.parametrize("dialect", ["postgresql", "duckdb"])
def test_a_dollar_quote_without_an_end_is_refused(dialect: str) -> None:
    assert isinstance(refusal("SELECT $tag$ a $tah$", dialect), NotSql)


@pytest.mark.parametrize("dialect", ALL)
@pytest.mark.parametrize("space", ["\u00a0", "\u200b", "\u3000", "\ufeff", "\u2003", "\u200d"])
def test_space_that_only_some_databases_take_for_space_is_refused_outside_quotes(
    dialect: str, space: str
) -> None:
    assert refusal(f"SELECT{space}1", dialect).rule == "characters"
    assert values(f"'a{space}b'", dialect) == [f"a{space}b"]


@pytest.mark.parametrize("dialect", ALL)
def test_names_may_use_letters_of_any_script(dialect: str) -> None:
    assert values("größe + 名前", dialect) == ["größe", "+", "名前"]


@pytest.mark.parametrize("dialect", ALL)
@pytest.mark.parametrize("text", ["1a", "1e", "0x", "1.5x", "t.1", "1..2", "2fa_enabled"])
def test_a_number_that_runs_into_a_name_is_refused(dialect: str, text: str) -> None:
    assert refusal(f"SELECT {text}", dialect).rule == "ambiguous"


@pytest.mark.parametrize("dialect", ALL)
def test_numbers_are_whole(dialect: str) -> None:
    assert values("1 .5 1. 1.5e-3 0x1F 1_000", dialect) == ["1", ".5", "1.", "1.5e-3", "0x1F", "1_000"]


@pytest.mark.parametrize("dialect", ALL)
@pytest.mark.parametrize(
    "comment",
    [
        "/*+ Set(x y) */", "/*! SLEEP(1) */", "/*M! x */", "/*!50000 x */", "/*+SET_VAR (a=1)*/",
        "/*+ NO_ICP(t) max_execution_time\n(0) */", "/*+ QB_NAME(`*/`) */", '/*+ Leading("*/") */',
        "/*+ RESOURCE_GROUP(all) */", "/*+ a /* b */ */", "/*+ SeqScan(t)",
    ],
)  # fmt: skip
def test_comments_that_instruct_the_database_are_refused(dialect: str, comment: str) -> None:
    assert refusal(f"SELECT {comment} 1", dialect).rule == "comment"


@pytest.mark.parametrize("dialect", ALL)
@pytest.mark.parametrize(
    "hint", ["/*+ SeqScan(orders) Rows(a b #10) */", "/*+ NO_ICP(t1, t2@qb) */", "/*+ Leading((a (b c))) */"]
)
def test_advice_to_a_planner_is_a_comment(dialect: str, hint: str) -> None:
    assert values(f"SELECT {hint} 1", dialect) == ["SELECT", "1"]


PLACEHOLDERS = {"sqlite": "? ?1 :a @a $a", "postgresql": "$1", "mysql": "? @a @'a'", "duckdb": "? $1 $a"}


@pytest.mark.parametrize("dialect", ALL)
def test_placeholders_and_variables_are_refused(dialect: str) -> None:
    for text in PLACEHOLDERS[dialect].split():
        assert refusal(f"SELECT {text}", dialect).rule == "variable"


def test_system_variables_of_mysql_may_be_read() -> None:
    (_, variable) = tokens("SELECT @@global.max_connections", "mysql")
    assert variable.kind is TokenKind.VARIABLE


def test_names_with_unicode_escapes_are_refused() -> None:
    assert refusal('SELECT U&"x"', "postgresql").rule == "ambiguous"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r"U&'\00e9t\+0000e9'", "été"),
        (r"u&'a\\b''c'", r"a\b'c"),
        (r"U&'\'", "\\"),
        ("U&'x'", "x"),
        (r"U&'\+ffffff'", ""),
    ],
)
def test_texts_with_unicode_escapes_say_what_the_server_reads(text: str, said: str) -> None:
    assert values(f"SELECT {text} ;", "postgresql") == ["SELECT", said, ";"]


def test_assignments_and_backslash_n_are_refused_in_mysql() -> None:
    assert refusal(r"SELECT \N", "mysql").rule == "ambiguous"
    assert refusal("SELECT 1 := 2", "mysql").rule == "ambiguous"


@pytest.mark.parametrize("dialect", ALL)
@pytest.mark.parametrize("end", ["'", "\\x", "/*"])
def test_what_is_no_sql_does_not_undo_a_statement_that_has_ended_before_it(dialect: str, end: str) -> None:
    assert not isinstance(refusal(f"SELECT 1; {end}", dialect), NotSql)


@pytest.mark.parametrize("dialect", ALL)
def test_a_stray_backslash_is_no_sql_anywhere(dialect: str) -> None:
    assert isinstance(refusal("SELECT \\x", dialect), NotSql)


def test_operators_of_postgresql_end_where_a_comment_begins() -> None:
    assert values("a @>-- x\n b", "postgresql") == ["a", "@>", "b"]
    assert values("a +/* x */ b", "postgresql") == ["a", "+", "b"]
    assert values("a ->> b #>> c ?| d", "postgresql") == ["a", "->>", "b", "#>>", "c", "?|", "d"]
