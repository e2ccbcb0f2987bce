"""PostgreSQL for the guard, from its manual on lexical structure, SELECT, EXPLAIN and SHOW."""

from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.core.guard.judging import Language
from plugbay_scheduled_query.core.guard.lexis import (
    BACKSLASH_STRING,
    DOLLAR_QUOTED,
    DOUBLE_QUOTED,
    LINE_COMMENT,
    PLAIN_STRING,
    Lexis,
    Token,
    lexis,
    words,
)
from plugbay_scheduled_query.core.guard.parsing import without_json_clauses
from plugbay_scheduled_query.core.guard.statements import Form, explain, is_dotted_name, refused
from plugbay_scheduled_query.dialects.postgresql.functions import FUNCTIONS

_OPERATORS = r"(?:(?!--|/\*)[-+*/<>=~!@#%^&|?])++|::|:=|:"

_EXPLAIN_OPTIONS = words("""
    ANALYZE VERBOSE COSTS SETTINGS GENERIC_PLAN BUFFERS SERIALIZE WAL TIMING SUMMARY MEMORY FORMAT
""")
_SHOW_WORDS = (
    ["ALL"],
    ["TIME", "ZONE"],
    ["TRANSACTION", "ISOLATION", "LEVEL"],
    ["SESSION", "AUTHORIZATION"],
)

_SECRET = "it holds passwords or keys"  # noqa: S105
_SECRET_TABLES = words("""
    pg_authid pg_shadow pg_subscription
    pg_foreign_server pg_foreign_table pg_user_mapping pg_user_mappings
    foreign_server_options foreign_table_options user_mapping_options
    _pg_foreign_servers _pg_foreign_tables _pg_user_mappings
""")
_FILES = "it shows files of the server"
_CLOSED_TABLES = {
    **dict.fromkeys(_SECRET_TABLES, _SECRET),
    "pg_largeobject": "it holds large objects of every owner",
    "pg_hba_file_rules": _FILES,
    "pg_ident_file_mappings": _FILES,
    "pg_file_settings": _FILES,
}


def _lexis(plain_string: str) -> Lexis:
    return lexis(
        strings=[
            f"[eE]{BACKSLASH_STRING}",
            f"[uU]&{PLAIN_STRING}",  # a server that reads plain texts otherwise refuses these
            f"[bBxXnN]?{plain_string}",
            DOLLAR_QUOTED,
        ],
        names=[DOUBLE_QUOTED],
        comments=[LINE_COMMENT],
        nesting="nested",
        operators=_OPERATORS,
        placeholders=r"\$[0-9]++",
        opening=r"['\"$]",
        refused=r"[uU]&\"",  # a name with escapes would have to be undone first
    )


# The second is how a server reads that has standard_conforming_strings off.
_READINGS = (_lexis(PLAIN_STRING), _lexis(BACKSLASH_STRING))


def _recognise(tokens: list[Token]) -> Form | Rejection | None:
    match tokens[0].word:
        case "EXPLAIN":
            return explain(tokens, frozenset({"ANALYZE", "VERBOSE"}), _EXPLAIN_OPTIONS)
        case "SHOW":
            words = [token.word for token in tokens[1:]]
            return Form("show") if words in _SHOW_WORDS or is_dotted_name(tokens[1:]) else refused(tokens)
        case _:
            return None


def _table_rule(parts: tuple[str, ...], is_call: bool) -> str | None:
    return _CLOSED_TABLES.get(parts[-1])


LANGUAGE = Language(
    "postgres",
    _READINGS,
    FUNCTIONS,
    _recognise,
    _table_rule,
    calls_by_dot=True,
    reads_whole=True,
    rewrite=without_json_clauses,
)
