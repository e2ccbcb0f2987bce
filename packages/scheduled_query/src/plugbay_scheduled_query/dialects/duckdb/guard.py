"""DuckDB for the guard, from its pages on statements, the FROM clause, and reading files."""

import re

from plugbay_scheduled_query.core.guard import Rejection, Rules
from plugbay_scheduled_query.core.guard.judging import Language
from plugbay_scheduled_query.core.guard.lexis import (
    BACKSLASH_STRING,
    BACKTICKED,
    DOLLAR_QUOTED,
    DOUBLE_QUOTED,
    LINE_COMMENT,
    PLAIN_STRING,
    Token,
    TokenKind,
    lexis,
    words,
)
from plugbay_scheduled_query.core.guard.parsing import PlainText, SyntaxTree
from plugbay_scheduled_query.core.guard.statements import (
    Form,
    explain,
    is_dotted_name,
    is_plain_argument,
    refused,
)
from plugbay_scheduled_query.dialects.duckdb.functions import FUNCTIONS

_LEXIS = lexis(
    strings=[f"[eE]{BACKSLASH_STRING}", f"[bBxXnN]?{PLAIN_STRING}", DOLLAR_QUOTED],
    names=[DOUBLE_QUOTED, BACKTICKED],
    comments=[LINE_COMMENT],
    nesting="nested",
    operators=r"(?:(?!--|/\*)[-+*/<>=~!@#%^&|])++|::|:=|:",
    placeholders=r"\$\w++(?!\$)|\?",
    opening=r"['\"`$]",
    refused=r"[uU]&['\"]",
)

_EXPLAIN_OPTIONS = frozenset({"ANALYZE", "FORMAT"})
_LOOKING = frozenset({"DESCRIBE", "DESC", "SUMMARIZE", "SHOW"})
_QUERY_BEGINNINGS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "PIVOT", "UNPIVOT"})
_SHOW_WORDS = (["TABLES"], ["ALL", "TABLES"], ["DATABASES"], ["SCHEMAS"], ["VARIABLES"])
_TELLING_PRAGMAS = words("""
    collations database_size functions metadata_info platform show show_databases
    show_tables show_tables_expanded storage_info table_info user_agent version
""")

# What DuckDB takes for a file when it stands in the place of a table.
_EXTENSIONS = words("""
    7z arrow arrows avro bz2 csv db ddb duckdb feather fgb geojson geoparquet gpkg gz h5 ipc json jsonl
    lance log nc ndjson orc parquet prqt shp sqlite sqlite3 tsv txt vortex xls xlsm xlsx xml yaml yml zip
    zst
""")
_TELLING_PLACES = words("duckdb_databases duckdb_settings pragma_database_list pg_settings")
_PLACES = words("allowed_directories allowed_paths secret_directory")
_PLAIN_NAME = re.compile(r"[\w $-]+")
_FILE = "DuckDB reads a file or an address of the network by such a name"


def _recognise(tokens: list[Token]) -> Form | Rejection | None:
    match tokens[0].word:
        case "EXPLAIN":
            return explain(tokens, frozenset({"ANALYZE"}), _EXPLAIN_OPTIONS)
        case "DESCRIBE" | "DESC" | "SUMMARIZE" | "SHOW":
            return _look(tokens)
        case "PRAGMA":
            return _pragma(tokens)
        case _:
            return None


def _look(tokens: list[Token]) -> Form | Rejection:
    """`DESCRIBE`, `DESCRIBE [TABLE] name` or `DESCRIBE query`; the name is checked as if it were queried."""
    rest = tokens[1:]
    if not rest or [token.word for token in rest] in _SHOW_WORDS:
        return Form("show")
    is_query = _begins_query(rest[0])
    may_look = is_query or is_dotted_name(rest)
    return Form("show", _as_query(tokens[0], rest)) if may_look else refused(tokens)


def _begins_query(token: Token) -> bool:
    return token.is_mark("(") or token.word in _QUERY_BEGINNINGS


def _as_query(looking: Token, rest: list[Token]) -> list[Token]:
    """What DESCRIBE and its like look at, as a query: itself, or `FROM name`."""
    return rest if _begins_query(rest[0]) else [looking._replace(value="FROM"), *rest]


def _pragma(tokens: list[Token]) -> Form | Rejection:
    name, arguments = tokens[1].value.lower() if len(tokens) > 1 else "", tokens[2:]
    is_call = len(arguments) == 3 and arguments[0].is_mark("(") and is_plain_argument(arguments[1])
    return Form("show") if name in _TELLING_PRAGMAS and (not arguments or is_call) else refused(tokens)


def _rewrite(tokens: list[Token]) -> list[Token]:
    """What the parser takes for other things than they are, in words that it knows."""
    is_pivot = tokens[0].word in ("PIVOT", "UNPIVOT")
    return _with_looks_as_from(_with_tail_outside(tokens) if is_pivot else tokens)


def _with_tail_outside(tokens: list[Token]) -> list[Token]:
    """`PIVOT … ORDER BY …` as `FROM (PIVOT …) ORDER BY …`."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += token.is_mark("(") - token.is_mark(")")
        if depth == 0 and token.word in ("ORDER", "LIMIT", "OFFSET"):
            first = tokens[0]
            opening, closing = (Token(TokenKind.MARK, mark, first.start) for mark in "()")
            return [first._replace(value="FROM"), opening, *tokens[:place], closing, *tokens[place:]]
    return tokens


def _with_looks_as_from(tokens: list[Token]) -> list[Token]:
    """`FROM (DESCRIBE x)` and `TABLE x` look at x as `FROM x` does."""
    rewritten: list[Token] = []
    for index, token in enumerate(tokens):
        opens = index > 0 and tokens[index - 1].is_mark("(") and index + 1 < len(tokens)
        if token.word == "TABLE":
            rewritten.append(token._replace(value="FROM"))
        elif opens and token.word in _LOOKING:
            rewritten += _as_query(token, [tokens[index + 1]])[:-1]
        else:
            rewritten.append(token)
    return rewritten


def _table_rule(parts: tuple[str, ...], is_call: bool) -> str | None:
    if is_call:  # this one takes the name of a table as text
        return "it reads any file that is named to it" if parts[-1] == "histogram" else None
    if parts[-1] in _TELLING_PLACES:
        return "it tells where files of the server lie"
    is_path = not all(_PLAIN_NAME.fullmatch(part) for part in parts)
    return _FILE if is_path or (len(parts) > 1 and parts[-1] in _EXTENSIONS) else None


def _own_rule(tokens: list[Token], tree: SyntaxTree, plain: PlainText, rules: Rules) -> Rejection | None:
    """Settings may be read, but for those that tell where files lie."""
    for place, token in enumerate(tokens[:-1]):
        name = token.value.lower() if token.is_name and tokens[place + 1].is_mark("(") else ""
        if name == "duckdb_settings" and place and tokens[place - 1].is_mark("."):
            return Rejection("function", "Write duckdb_settings without a schema before it.", token.value)
        if name == "current_setting" and not _is_open_setting(tokens[place + 2 : place + 4]):
            reason = "current_setting needs a name as a plain text, and none of a setting that tells a path."
            return Rejection("function", reason, token.value)
    return None


def _is_open_setting(arguments: list[Token]) -> bool:
    is_text = len(arguments) == 2 and arguments[0].kind is TokenKind.STRING and arguments[1].is_mark(")")
    return (
        is_text
        and re.fullmatch(r"\w+", arguments[0].value.lower()) is not None
        and (arguments[0].value.lower() not in _PLACES)
    )


LANGUAGE = Language(
    "duckdb", (_LEXIS,), FUNCTIONS, _recognise, _table_rule,
    query_words=frozenset({"FROM", "PIVOT", "UNPIVOT"}),
    own_rule=_own_rule,
    rewrite=_rewrite,
)  # fmt: skip
