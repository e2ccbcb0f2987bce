"""PostgreSQL calls functions by a dot too: `(x).pg_sleep`, and `x.pg_sleep` where x is a function in FROM.

Behind a dot mostly stands a column, which may be called anything. So the rule is strict only where the dot
can call: behind a bracket, and behind the alias of a function.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from sqlglot import exp

from .calls import dangerous
from .functions import Functions
from .plain import CALL_PREFIX, PlainText
from .syntax import SyntaxTree
from .tokens import Token
from .verdict import Rejection
from .words import words

# Names that are PostgreSQL's own, so that no column is called so.
_NEVER_A_COLUMN = re.compile(r"lo_.*|pg_.*|dblink.*|nextval|setval|setseed|txid_current|set_config")
# Columns that the functions of PostgreSQL give to their rows.
_OUTPUTS = words("""
    alias barelabel baredesc catcode catdesc description dictionaries dictionary grantee grantor
    is_grantable isleaf key level lexeme lexemes locktype mode name option_name option_value ordinality
    parentrelid pid positions privilege_type query relation relid setting state token tokid value weights
    word
""")
_VALUE_FUNCTIONS = words("""
    current_catalog current_date current_role current_schema current_time current_timestamp current_user
    localtime localtimestamp session_user system_user user
""")


def reject_dots(tokens: list[Token], functions: Functions) -> Rejection | None:
    """Refuses dangerous names behind a bracket and dots: `(x).a.lo_create`."""
    behind_bracket = False
    for before, token in pairwise(tokens):
        is_named = before.is_mark(".") and behind_bracket
        if is_named and (harm := functions.danger(token.value.lower())):
            return dangerous(token.value, harm)
        behind_bracket = (token.is_mark(".") and (behind_bracket or before.is_mark(")", "]"))) or is_named
    return None


def reject_dotted_columns(tree: SyntaxTree, plain: PlainText, functions: Functions) -> Rejection | None:
    """Refuses columns that are no columns: names of functions, behind a table or the alias of a function."""
    sources = _function_sources(tree)
    for column in tree.all(exp.Column):
        if not column.table or isinstance(column.this, exp.Star):
            continue
        name = plain.original(column.this).lower()
        harm = functions.danger(name)
        if harm and _NEVER_A_COLUMN.fullmatch(name):
            return dangerous(name, harm)
        if column.name.lower() not in sources.get(column.table.lower(), {column.name.lower()}) | _OUTPUTS:
            return _undeclared(plain.original(column.args["table"]), name)
    return None


def _function_sources(tree: SyntaxTree) -> dict[str, frozenset[str]]:
    """The names under which functions stand in FROM, with the names of columns that each may have."""
    sources: dict[str, frozenset[str]] = {}
    for name, columns in _named_functions(tree):
        sources[name] = sources.get(name, columns) & columns
    return sources


def _named_functions(tree: SyntaxTree) -> Iterator[tuple[str, frozenset[str]]]:
    for source in tree.all(exp.Table, exp.Lateral, exp.Unnest, exp.TableFromRows):
        if isinstance(source, exp.Table | exp.Lateral) and not _is_function(source.this):
            continue
        alias = source.args.get("alias")
        name = (alias.name if alias else _called_name(source)).lower()
        columns = {column.name.lower() for column in alias.columns} if alias else set()
        yield name, frozenset(columns | {name})


def _is_function(node: exp.Expr) -> bool:
    """Whether it gives bare values; queries in brackets and tables of JSON or XML have named columns."""
    if isinstance(node, exp.Identifier):
        return node.name.lower() in _VALUE_FUNCTIONS
    return not isinstance(node, exp.Subquery | exp.JSONTable | exp.XMLTable)


def _called_name(source: exp.Expr) -> str:
    called = source.this
    return called.name.removeprefix(CALL_PREFIX) if isinstance(called, exp.Anonymous) else type(called).key


def _undeclared(table: str, name: str) -> Rejection:
    reason = (
        f"{table}.{name} could call a function, because {table} is one itself; "
        f"give its columns names, AS {table} (a, b), or leave “{table}.” out."
    )
    return Rejection("function", reason, f"{table}.{name}")
