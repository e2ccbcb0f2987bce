"""SQLite, from its pages on the language, on PRAGMA and on virtual tables."""

from plugbay_scheduled_query.core.guard.judging import Language
from plugbay_scheduled_query.core.guard.lexis import (
    BACKTICKED,
    BRACKETED,
    DOUBLE_QUOTED,
    LINE_COMMENT,
    PLAIN_STRING,
    Token,
    lexis,
    words,
)
from plugbay_scheduled_query.core.guard.statements import (
    Form,
    explain,
    is_dotted_name,
    is_plain_argument,
    refused,
)
from plugbay_scheduled_query.core.guard.verdict import Rejection
from plugbay_scheduled_query.dialects.sqlite.functions import SQLITE as FUNCTIONS

_LEXIS = lexis(
    strings=[f"[xX]?{PLAIN_STRING}"],
    names=[DOUBLE_QUOTED, BACKTICKED, BRACKETED],
    comments=[LINE_COMMENT],
    nesting="flat",
    operators=r"->>|->|\|\||<<|>>|<=|>=|==|<>|!=|[-+*/%<>=~&|]",
    placeholders=r"\?[0-9]*+|[:@$#]\w*+",
    opening=r"['\"`\[]",
)

# PRAGMAs that only tell, with a table, an index or nothing as argument; the session's authorizer agrees.
TELLING_PRAGMAS = words("""
    collation_list compile_options foreign_key_check foreign_key_list function_list index_info index_list
    index_xinfo integrity_check module_list pragma_list quick_check table_info table_list table_xinfo
""")
# PRAGMAs that tell about the file when they have no argument; some change it when they have one.
BARE_PRAGMAS = words("""
    application_id data_version encoding freelist_count journal_mode page_count page_size schema_version
    user_version
""")


def _recognise(tokens: list[Token]) -> Form | Rejection | None:
    match tokens[0].word:
        case "EXPLAIN":
            return explain(tokens, frozenset({"QUERY", "PLAN"}), frozenset())
        case "PRAGMA":
            return _pragma(tokens)
        case _:
            return None


def _pragma(tokens: list[Token]) -> Form | Rejection:
    """`PRAGMA [schema.]name` or, for those that only tell, `PRAGMA [schema.]name(argument)`."""
    opening = next((index for index, token in enumerate(tokens) if token.is_mark("(")), len(tokens))
    named, arguments = tokens[1:opening], tokens[opening:]
    if not is_dotted_name(named):
        return refused(tokens)
    name = named[-1].value.lower()
    if name in TELLING_PRAGMAS and (not arguments or _is_one_argument(arguments)):
        return Form("show")
    return Form("show") if name in BARE_PRAGMAS and not arguments else refused(tokens)


def _is_one_argument(tokens: list[Token]) -> bool:
    return len(tokens) == 3 and is_plain_argument(tokens[1]) and tokens[2].is_mark(")")


def _table_rule(parts: tuple[str, ...], is_call: bool) -> str | None:
    """Some virtual tables need no bracket: their names are those of functions."""
    return FUNCTIONS.danger(parts[-1]) if not is_call else None


SQLITE = Language("sqlite", (_LEXIS,), FUNCTIONS, _recognise, _table_rule)
