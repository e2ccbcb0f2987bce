"""PostgreSQL for the guard, from its manual on lexical structure, SELECT, EXPLAIN and SHOW."""

import re

from sqlglot import exp

from plugbay_scheduled_query.core.guard import Rejection, Rules
from plugbay_scheduled_query.core.guard.judging import Language
from plugbay_scheduled_query.core.guard.lexis import Token, TokenKind, words
from plugbay_scheduled_query.core.guard.parsing import (
    CALL_PREFIX,
    PlainText,
    SyntaxTree,
    without_json_clauses,
)
from plugbay_scheduled_query.core.guard.statements import Form, explain, is_dotted_name, refused
from plugbay_scheduled_query.dialects.postgresql.functions import FUNCTIONS
from plugbay_scheduled_query.dialects.postgresql.lexis import READINGS

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
_SECRET_SETTINGS = words("primary_conninfo ssl_passphrase_command")
# What the planner remembers of tables: of a closed one, too, if the account could read that.
_STATISTICS = words("pg_stats pg_stats_ext pg_stats_ext_exprs")
_STATISTIC_VALUES = words("""
    most_common_vals histogram_bounds most_common_elems range_bounds_histogram range_length_histogram
""")
_PLAIN_SETTING = re.compile(r"[\w.]+")
_FILES = "it shows files of the server"
_CLOSED_TABLES = {
    **dict.fromkeys(_SECRET_TABLES, _SECRET),
    "pg_statistic": "it holds values of every table",
    "pg_statistic_ext_data": "it holds values of every table",
    "pg_largeobject": "it holds large objects of every owner",
    "pg_hba_file_rules": _FILES,
    "pg_ident_file_mappings": _FILES,
    "pg_file_settings": _FILES,
}


def _recognise(tokens: list[Token]) -> Form | Rejection | None:
    match tokens[0].word:
        case "EXPLAIN":
            return explain(tokens, frozenset({"ANALYZE", "VERBOSE"}), _EXPLAIN_OPTIONS)
        case "SHOW":
            words = [token.word for token in tokens[1:]]
            if tokens[-1].value.lower() in _SECRET_SETTINGS:
                return _secret_setting(tokens[-1].value)
            return Form("show") if words in _SHOW_WORDS or is_dotted_name(tokens[1:]) else refused(tokens)
        case _:
            return None


def _table_rule(parts: tuple[str, ...], is_call: bool) -> str | None:
    if parts[-1].startswith("pg_toast_"):
        return "it holds the long values of another table"
    return _CLOSED_TABLES.get(parts[-1])


def _own_rule(tokens: list[Token], tree: SyntaxTree, plain: PlainText, rules: Rules) -> Rejection | None:
    return _reject_settings(tokens) or _reject_statistics(tree, plain)


def _reject_settings(tokens: list[Token]) -> Rejection | None:
    """`current_setting` takes a name that can be read here, and not that of a setting with a password."""
    for called, opening, named, after in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        if called.is_name and called.value.lower() == "current_setting" and opening.is_mark("("):
            if named.value.lower() in _SECRET_SETTINGS:
                return _secret_setting(named.value)
            is_plain = named.kind is TokenKind.STRING and _PLAIN_SETTING.fullmatch(named.value)
            if not is_plain or not after.is_mark(",", ")"):
                return Rejection("function", "current_setting needs a name as a plain text.", called.value)
    return None


def _secret_setting(name: str) -> Rejection:
    return Rejection("table", f"The setting {name} may not be read: it can hold a password.", name)


def _reject_statistics(tree: SyntaxTree, plain: PlainText) -> Rejection | None:
    """Of what the planner remembers, the figures may be read, the values of tables not."""
    tables = [table for table in tree.all(exp.Table) if _name(table.this, plain) in _STATISTICS]
    if not tables:
        return None
    rows = {_name(table.args["alias"].this if table.alias else table.this, plain) for table in tables}
    is_renamed = any(table.args["alias"].columns for table in tables if table.args.get("alias"))
    if is_renamed or any(_tells_values(node, rows, plain) for node in tree.nodes):
        reason = "Name the columns of pg_stats one by one, and none that holds values of other tables."
        return Rejection("table", reason, "pg_stats")
    return None


def _tells_values(node: exp.Expr, rows: set[str], plain: PlainText) -> bool:
    """A column of values, or all columns at once: a star, or the row as a value."""
    if isinstance(node, exp.Star):
        return not (isinstance(node.parent, exp.Anonymous) and node.parent.name == f"{CALL_PREFIX}count")
    if not isinstance(node, exp.Identifier):
        return False
    name = _name(node, plain)
    names_table = isinstance(node.parent, exp.Table | exp.TableAlias) or node.arg_key == "table"
    return name in _STATISTIC_VALUES or (name in rows and not names_table)


def _name(node: exp.Expr, plain: PlainText) -> str:
    return plain.original(node).lower()


LANGUAGE = Language(
    "postgres",
    READINGS,
    FUNCTIONS,
    _recognise,
    _table_rule,
    calls_by_dot=True,
    reads_whole=True,
    bounds_sizes=True,
    own_rule=_own_rule,
    rewrite=without_json_clauses,
)
