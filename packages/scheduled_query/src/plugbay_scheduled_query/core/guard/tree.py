"""The check of the parsed statement: a query at the root, only what reads in it, over open tables."""

from collections import Counter
from collections.abc import Callable, Iterator

from sqlglot import exp

from .calls import unknown
from .nodes import QUERIES, is_allowed, name_for_people
from .parsing import parse_one
from .plain import CALL_PREFIX, STRING, PlainText
from .syntax import SyntaxTree
from .verdict import Rejection

TableRule = Callable[[tuple[str, ...], bool], str | None]


def reject_tree(
    plain: PlainText, parser: str, harmless: frozenset[str], unknowns: Counter[str], table_rule: TableRule
) -> SyntaxTree | Rejection:
    """The tree when all is well: parsed, a query, made of harmless parts, over tables that may be read."""
    root = parse_one(plain.sql, parser)
    if isinstance(root, Rejection):
        return root
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
