"""A query by its tree: made of what asks, compares, computes and shapes, over tables that may be read."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from sqlglot import exp

from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.core.guard.calls import Functions, dangerous, unknown
from plugbay_scheduled_query.core.guard.lexis import Token, words
from plugbay_scheduled_query.core.guard.parsing import CALL_PREFIX, STRING, PlainText, SyntaxTree, parse_one

# Names, not classes, so that a class that comes or goes with a version of sqlglot breaks nothing.
_STRUCTURE = words("""
    Alias Aliases All Any AtTimeZone Between BitString Boolean Bracket ByteString CTE CharacterSet Column
    ColumnConstraint ColumnDef Comprehension Cube DataType DataTypeParam DefaultColumnConstraint Distinct
    Fetch Filter ForIn FormatJson From FromTimeZone Group GroupingSets Having HavingMax HexString
    Identifier IgnoreNulls IndexTableHint Interval IntervalSpan Introducer JSON JSONColumnDef JSONKeyValue
    JSONPath JSONPathKey JSONPathRoot JSONPathSubscript JSONPathWildcard JSONPathSlice JSONSchema
    JSONValue Join Kwarg Lambda Lateral Limit LimitOptions Literal National Null ObjectIdentifier Offset
    OnCondition Order Ordered OverflowTruncateBehavior Partition PathColumnConstraint Pivot PivotAlias
    PivotAny PositionalColumn PseudoType Pseudocolumn Qualify RecursiveWithSearch RespectNulls Rollup
    Select Slice Star Subquery Table TableAlias TableColumn TableFromRows TableSample TimeUnit Tuple
    UnpivotColumns Values Var Variadic Version Where Window WindowSpec With WithinGroup XMLKeyValueOption
    XMLNamespace
""")
_FAMILIES = (exp.Binary, exp.Unary, exp.Predicate, exp.Func, exp.SetOperation)
_NOT_EVEN_SO = frozenset({"NextValueFor", "ReadCSV", "ReadParquet"})
QUERIES = (exp.Select, exp.SetOperation, exp.Values, exp.Subquery, exp.Pivot)

_NAMES_FOR_PEOPLE = {
    "Placeholder": "a placeholder",
    "Parameter": "a variable",
    "SessionParameter": "a variable",
    "Lock": "a lock on rows",
    "Into": "INTO",
    "Command": "a command",
}

NAME_BYTES = 63  # of a name; PostgreSQL forgets the rest

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

TableRule = Callable[[tuple[str, ...], bool], str | None]


def reject_tree(
    plain: PlainText, parser: str, harmless: frozenset[str], unknowns: Counter[str], table_rule: TableRule
) -> SyntaxTree | Rejection:
    """The tree when all is well: parsed, a query, made of harmless parts, over tables that may be read."""
    root = parse_one(plain.sql, parser)
    if isinstance(root, Rejection):
        return plain.placed(root)
    tree = SyntaxTree(root)
    rejection = (
        _reject_root(root)
        or _reject_nodes(tree)
        or _reject_laterals(tree)
        or _reject_words_called(tree, harmless | unknowns.keys() | {"all"})  # a <> ALL (ARRAY[…])
        or _reject_unknown(tree, plain, unknowns)
        or _reject_tables(tree, plain, table_rule)
    )
    return rejection or tree


def _reject_root(root: exp.Expr) -> Rejection | None:
    while isinstance(root, exp.Paren):
        root = root.this
    if isinstance(root, QUERIES):
        return None
    what = name_for_people(root)
    return Rejection("not_a_query", f"This is {what}, not a query; only queries that read are run.", what)


def _reject_nodes(tree: SyntaxTree) -> Rejection | None:
    for node in tree.nodes:
        if not is_allowed(node):
            what = name_for_people(node)
            return Rejection("node", f"A query may not hold {what}; only what reads is allowed.", what)
    return None


def is_allowed(node: exp.Expr) -> bool:
    """May a query hold this node?"""
    name = type(node).__name__
    return name in _STRUCTURE or (isinstance(node, _FAMILIES) and name not in _NOT_EVEN_SO)


def name_for_people(node: exp.Expr) -> str:
    """What to call a refused node in a sentence."""
    return _NAMES_FOR_PEOPLE.get(type(node).__name__) or type(node).key.upper()


def _reject_laterals(tree: SyntaxTree) -> Rejection | None:
    """Behind LATERAL stands a query or a function; sqlglot takes anything."""
    for lateral in tree.all(exp.Lateral):
        this = lateral.this
        called = this.expression if isinstance(this, exp.Dot) else this
        if not isinstance(called, exp.Subquery | exp.Func):
            return Rejection("parse", "LATERAL needs a query in brackets or a function behind it.", "LATERAL")
    return None


def _reject_words_called(tree: SyntaxTree, known: frozenset[str]) -> Rejection | None:
    """A word of the language before a bracket can be the name of a function as well."""
    for call in tree.all(exp.Anonymous):
        if not call.name.startswith(CALL_PREFIX) and call.name.lower() not in known:
            return unknown(call.name)
    return None


def _reject_unknown(tree: SyntaxTree, plain: PlainText, names: Counter[str]) -> Rejection | None:
    """A name with a bracket may be an alias with its columns, `WITH t(a, b) AS …`; each accounts for one."""
    aliases = Counter(
        plain.original(alias.this).lower()
        for alias in tree.all(exp.TableAlias)
        if alias.this and alias.args.get("columns")
    )
    return next((unknown(name) for name, count in names.items() if count > aliases[name]), None)


def _reject_tables(tree: SyntaxTree, plain: PlainText, table_rule: TableRule) -> Rejection | None:
    for table in _tables(tree):
        if any(part.name == STRING and (part.is_string or _is_quoted(part)) for part in table.parts):
            return _string_as_table()
        parts = tuple(plain.original(part) for part in table.parts)
        is_call = isinstance(table.this, exp.Func)
        if parts and (harm := table_rule(tuple(map(str.lower, parts)), is_call)):
            name = ".".join(parts)
            return Rejection("table", f"The table {name} may not be read: {harm}.", name)
    return None


def _tables(tree: SyntaxTree) -> Iterator[exp.Table | exp.Column]:
    yield from tree.all(exp.Table)
    for comparison in tree.all(exp.In):  # SQLite: x IN table
        if isinstance(field := comparison.args.get("field"), exp.Column):
            yield field


def _string_as_table() -> Rejection:
    reason = (
        "A text in single quotes stands where a table is named, which can mean a file; use double quotes."
    )
    return Rejection("table", reason, "'…'")


def _is_quoted(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Identifier) and bool(node.args.get("quoted"))


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
    sources = _sources(tree, plain)
    for column in tree.all(exp.Column):
        if not column.table or isinstance(column.this, exp.Star) or isinstance(column.parent, exp.Collate):
            continue
        table, name = plain.original(column.args["table"]), plain.original(column.this)
        harm = functions.danger(name.lower())
        if harm and _NEVER_A_COLUMN.fullmatch(name.lower()):
            return dangerous(name, harm)
        known = [sources[folded] for folded in _folded(column.args["table"], plain) if folded in sources]
        if not known:
            return _unresolved(table, name)
        if any(columns is not None and not columns & _folded(column.this, plain) for columns in known):
            return _undeclared(table, name)
    return None


def _folded(node: exp.Expr, plain: PlainText) -> frozenset[str]:
    """What a server can take a name for: in small letters when it is bare, and never longer than it keeps."""
    name = plain.original(node.this if isinstance(node, exp.ColumnDef) else node)
    forms = {name, "".join(letter.lower() if letter.isascii() else letter for letter in name)}
    return frozenset(form.encode()[:NAME_BYTES].decode("utf-8", "ignore") for form in forms)


def _sources(tree: SyntaxTree, plain: PlainText) -> dict[str, frozenset[str] | None]:
    """The names of all that stands in FROM; of functions, with the names of columns that each may have."""
    sources: dict[str, frozenset[str] | None] = {}
    for name in _named_tables(tree, plain):
        sources.setdefault(name, None)
    for name, columns in _named_functions(tree, plain):
        sources[name] = (sources.get(name) or columns) & columns
    return sources


def _named_tables(tree: SyntaxTree, plain: PlainText) -> Iterator[str]:
    for alias in tree.all(exp.TableAlias):
        if alias.this:
            yield from _folded(alias.this, plain)
    for table in tree.all(exp.Table):
        if isinstance(table.this, exp.Identifier) and not table.alias:
            yield from _folded(table.this, plain)


def _named_functions(tree: SyntaxTree, plain: PlainText) -> Iterator[tuple[str, frozenset[str]]]:
    for source in tree.all(exp.Table, exp.Lateral, exp.Unnest, exp.TableFromRows):
        if isinstance(source, exp.Table | exp.Lateral) and not _is_function(source.this):
            continue
        alias = source.args.get("alias")
        named = alias.this if alias else None
        names = _folded(named, plain) if named else frozenset({_called_name(source).lower()})
        columns = [name for column in (alias.columns if alias else ()) for name in _folded(column, plain)]
        for name in names:
            yield name, frozenset({*columns, *names, *_OUTPUTS})


def _is_function(node: exp.Expr) -> bool:
    """Whether it gives bare values; queries in brackets and tables of JSON or XML have named columns."""
    if isinstance(node, exp.Identifier):
        return node.name.lower() in _VALUE_FUNCTIONS
    return not isinstance(node, exp.Subquery | exp.JSONTable | exp.XMLTable)


def _called_name(source: exp.Expr) -> str:
    called = source.this
    if isinstance(called, exp.Identifier):
        return str(called.name)
    return called.name.removeprefix(CALL_PREFIX) if isinstance(called, exp.Anonymous) else type(called).key


def _unresolved(table: str, name: str) -> Rejection:
    reason = (
        f"{table}.{name} names no table of this query, and could call a function; "
        f"give what it means a name in FROM, AS {table} (a, b)."
    )
    return Rejection("function", reason, f"{table}.{name}")


def _undeclared(table: str, name: str) -> Rejection:
    reason = (
        f"{table}.{name} could call a function, because {table} is one itself; "
        f"give its columns names, AS {table} (a, b), or leave “{table}.” out."
    )
    return Rejection("function", reason, f"{table}.{name}")
