"""SQLite for the guard, from its pages on the language, on its functions, on PRAGMA and on virtual tables.

A file cannot bring functions, so those of the library are all that exist.
"""

from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.core.guard.calls import STANDARD, functions
from plugbay_scheduled_query.core.guard.judging import Language
from plugbay_scheduled_query.core.guard.lexis import (
    BACKTICKED,
    BRACKETED,
    DOUBLE_QUOTED,
    LINE_COMMENT,
    PLAIN_STRING,
    Token,
    lexis,
)
from plugbay_scheduled_query.core.guard.statements import (
    Form,
    explain,
    is_dotted_name,
    is_plain_argument,
    refused,
)
from plugbay_scheduled_query.dialects.sqlite.session import BARE_PRAGMAS, TELLING_PRAGMAS

HARMLESS = """
acosh asinh atanh bm25 ceil changes char concat cosh date datetime floor format fts5_source_id
geopoly_area geopoly_bbox geopoly_blob geopoly_ccw geopoly_contains_point geopoly_debug geopoly_group_bbox
geopoly_json geopoly_overlap geopoly_regular geopoly_svg geopoly_within geopoly_xform generate_series glob
group_concat hex highlight if iif instr json json_array json_array_insert json_array_length json_each
json_error_position json_extract json_group_array json_group_object json_insert json_object json_patch
json_pretty json_quote json_remove json_replace json_set json_tree json_type json_valid jsonb jsonb_array
jsonb_array_insert jsonb_each jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert jsonb_object
jsonb_patch jsonb_remove jsonb_replace jsonb_set jsonb_tree julianday last_insert_rowid like likelihood
likely matchinfo median offsets percentile pragma_collation_list pragma_compile_options
pragma_foreign_key_check pragma_foreign_key_list pragma_freelist_count pragma_function_list
pragma_index_info pragma_index_list pragma_index_xinfo pragma_integrity_check pragma_module_list
pragma_page_count pragma_page_size pragma_pragma_list pragma_quick_check pragma_schema_version
pragma_table_info pragma_table_list pragma_table_xinfo pragma_user_version printf quote random randomblob
regexp rtreecheck rtreedepth rtreenode sinh snippet soundex sqlite_compileoption_get
sqlite_compileoption_used sqlite_offset sqlite_source_id sqlite_version strftime subtype tanh time
timediff total total_changes trunc typeof unhex unicode unistr unistr_quote unixepoch unlikely zeroblob
"""

DANGEROUS = {
    "it loads code from a file into the process": "load_extension",
    "it hands out or takes memory addresses": "fts3_tokenizer fts5",
    "it rewrites a full-text index": "optimize",
    "it writes to the error log": "sqlite_log",
    "it reads or writes files": "readfile writefile edit fsdir lsdir lsmode zipfile* sqlar_* csv",
    "it runs SQL given as text": "eval",
    "it can change a setting of the database": "pragma_*",
    "it reaches below the tables": "sqlite_dbpage sqlite_dbdata sqlite_dbptr bytecode tables_used",
    "it reaches into the running process": "uri_* remember wholenumber icu_load_collation spellfix1*",
}

FUNCTIONS = functions(STANDARD + HARMLESS, DANGEROUS)

_LEXIS = lexis(
    strings=[f"[xX]?{PLAIN_STRING}"],
    names=[DOUBLE_QUOTED, BACKTICKED, BRACKETED],
    comments=[LINE_COMMENT],
    nesting="flat",
    operators=r"->>|->|\|\||<<|>>|<=|>=|==|<>|!=|[-+*/%<>=~&|]",
    placeholders=r"\?[0-9]*+|[:@$#]\w*+",
    opening=r"['\"`\[]",
)


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


LANGUAGE = Language("sqlite", (_LEXIS,), FUNCTIONS, _recognise, _table_rule)
