"""The guard against what nobody wrote down: mutations of the banks, and texts made by chance."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugbay_scheduled_query.core.guard import Allowed, Rejection, Rules
from plugbay_scheduled_query.core.guard.calls import calls
from plugbay_scheduled_query.core.guard.judging import judge
from plugbay_scheduled_query.core.guard.lexis import Token, TokenKind, scan, words
from plugbay_scheduled_query.dialects import language_named

from .banks import BANKS, mysql, sqlite

DIALECTS = list(BANKS)
NO_KEYWORDS = Rules(forbidden_keywords=())
GAPS = [" ", "\n", "\t", "  ", "\r\n", " /* c */ ", "/**/", " -- c\n", "\n-- ' \" ;\n", " /* ' ; -- */ "]


def hostile(dialect: str) -> list[str]:
    return [sql for statements in BANKS[dialect].HOSTILE.values() for sql in statements]


def cut(sql: str, dialect: str) -> list[Token]:
    tokens = scan(sql, language_named(dialect).readings[0])
    return tokens if isinstance(tokens, list) else []


def written(sql: str, token: Token, dialect: str) -> str:
    """The token as it stands in the text, with its quotes."""
    match = language_named(dialect).readings[0].pattern.match(sql, token.start)
    assert match is not None
    return match[0]


class Mutation:
    """One way to write a hostile statement anew: other letters, other gaps, other quotes, another place."""

    def __init__(self, draw: Any, dialect: str) -> None:
        self.draw = draw
        self.dialect = dialect

    def of(self, sql: str) -> str:
        tokens = cut(sql, self.dialect)
        if not tokens:
            return sql
        called = {call.place for call in calls(tokens)}
        pieces = [self._piece(sql, token, place in called) for place, token in enumerate(tokens)]
        gaps = self.draw(st.lists(st.sampled_from(GAPS), min_size=len(pieces), max_size=len(pieces)))
        text = "".join(piece + gap for piece, gap in zip(pieces, gaps, strict=True))
        return self.draw(st.sampled_from(self._places(tokens)))(text)

    def _piece(self, sql: str, token: Token, is_called: bool) -> str:
        text = written(sql, token, self.dialect)
        if token.kind is not TokenKind.WORD:
            return text
        if is_called and self.draw(st.booleans()):
            quote = "`" if self.dialect == "mysql" else '"'
            return quote + text.lower() + quote
        return "".join(self.draw(st.sampled_from([letter.lower(), letter.upper()])) for letter in text)

    def _places(self, tokens: list[Token]) -> list[Any]:
        places: list[Any] = [
            lambda text: text,
            lambda text: text + ";",
            lambda text: f"SELECT 1; {text}",
            lambda text: f"({text})",
            lambda text: f"WITH harmless AS (SELECT 1) {text}",
            lambda text: f"/* SELECT 1 */ {text}",
        ]
        if self.dialect != "mysql" or len(tokens) > 3:  # EXPLAIN a b describes a table there
            places += [lambda text: f"EXPLAIN {text}", lambda text: f"EXPLAIN ANALYZE {text}"]
        if tokens[0].word in ("SELECT", "VALUES", "WITH") and not any(token.is_mark(";") for token in tokens):
            places += [
                lambda text: f"WITH inner_part AS ({text}) SELECT * FROM inner_part",
                lambda text: f"SELECT * FROM ({text}) AS inner_part",
                lambda text: f"SELECT 1 WHERE EXISTS ({text})",
                lambda text: f"SELECT 1 UNION ALL {text}",
                lambda text: f"SELECT CASE WHEN 1 = 1 THEN ({text}) END",
                lambda text: f"SELECT coalesce(({text}), 1)",
                lambda text: f"SELECT 1 ORDER BY ({text})",
                lambda text: f"SELECT count(*) FROM t GROUP BY 1 HAVING 1 IN ({text})",
            ]
        return places


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
def test_no_mutation_of_a_hostile_statement_gets_through(dialect: str, data: st.DataObject) -> None:
    sql = data.draw(st.sampled_from(hostile(dialect))).replace("{victim}", "42").replace("{database}", "shop")
    mutated = Mutation(data.draw, dialect).of(sql)
    assert isinstance(judge(mutated, language_named(dialect), NO_KEYWORDS), Rejection)


@pytest.mark.parametrize("dialect", [*DIALECTS, "oracle"])
@given(sql=st.text())
def test_no_text_makes_the_guard_stumble(dialect: str, sql: str) -> None:
    assert isinstance(judge(sql, language_named(dialect), Rules()), Allowed | Rejection)


PIECES = sorted(
    words("""
    SELECT FROM WHERE WITH RECURSIVE AS UNION ALL VALUES TABLE JOIN LATERAL ON USING GROUP BY ORDER
    LIMIT HAVING WINDOW OVER CASE WHEN THEN END IN EXISTS NOT NULL IS LIKE BETWEEN CAST EXTRACT INTERVAL
    ARRAY ROW DISTINCT EXPLAIN ANALYZE SHOW DESCRIBE PRAGMA SUMMARIZE PIVOT UNPIVOT INSERT UPDATE DELETE
    INTO SET CREATE FOR NEXT VALUE CALL t a.b count lower generate_series repeat load_extension
    lo_create sleep read_csv pragma_table_info fts5 printf ( ) ( ) [ ] { } , , . ; * + - / % = <> || ::
    := : -> ->> @> 1 2.5 1e9 0x1F 'x' '' '%999999999d' "q" "a.csv" `b` [c] $$d$$ $1 ? @v @@v -- /* */ #
    \\ ' " `
""")
)


@pytest.mark.parametrize("dialect", [*DIALECTS, "oracle"])
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=25))
def test_no_heap_of_sql_makes_the_guard_stumble(dialect: str, pieces: list[str]) -> None:
    assert isinstance(judge(" ".join(pieces), language_named(dialect), NO_KEYWORDS), Allowed | Rejection)


READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
DECLARING = (sqlite3.SQLITE_UPDATE, "sqlite_master")  # json_each asks for it while it is declared
HEADS = [
    "SELECT",
    "SELECT *",
    "SELECT 1",
    "WITH c AS (SELECT 1)",
    "VALUES (1)",
    "SELECT a FROM t",
    "DELETE FROM t",
]
TAILS = sorted(
    words("""
    UNION SELECT FROM t WHERE 1 IN (SELECT a t) ; DELETE FROM t UPDATE SET = INSERT INTO VALUES ORDER BY
    LIMIT RETURNING PRAGMA user_version load_extension('x') count(*) (1) , AS x ' " ; -- /* */ ) (
    optimize(t) json_each('[]')
""")
)


@given(head=st.sampled_from(HEADS), tail=st.lists(st.sampled_from(TAILS), max_size=8))
def test_of_all_that_the_guard_allows_sqlite_says_that_it_only_reads(head: str, tail: list[str]) -> None:
    sql = " ".join([head, *tail])
    if judge(sql, language_named("sqlite"), NO_KEYWORDS) != Allowed("query"):
        return
    actions: set[tuple[int, str | None]] = set()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.set_authorizer(lambda action, first, *_: actions.add((action, first)) or sqlite3.SQLITE_OK)
        try:
            connection.execute(sql)
        except sqlite3.OperationalError:  # the guard does not know which tables there are
            return
    assert {action for action, first in actions if (action, first) != DECLARING} <= READING


def test_the_banks_are_mutated_and_not_skipped() -> None:
    cuttable = [sql for dialect in DIALECTS for sql in hostile(dialect) if cut(sql, dialect)]
    assert len(cuttable) > 400
    assert sqlite.HOSTILE
    assert mysql.HOSTILE
