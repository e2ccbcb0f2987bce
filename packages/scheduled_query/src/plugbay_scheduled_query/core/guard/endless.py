"""What a tree can tell about queries that are made to exhaust: recursion without an end, gigantic arguments.

It catches what is plainly so; the limits on time, memory and rows behind it catch the rest.
"""

import re
from collections.abc import Iterator

from sqlglot import exp

from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.core.guard.lexis import Token, TokenKind
from plugbay_scheduled_query.core.guard.parsing import PlainText, SyntaxTree
from plugbay_scheduled_query.core.guard.sizes import (
    LONGEST,
    bound,
    called,
    is_just_shown,
    reject_sizes,
    too_large,
    unknown_size,
)

LARGEST = 10_000_000  # rows of one series; ten times what is sensible
_SERIES = {"generate_series", "range"}
_FORMATTING = re.compile(r"%[-+ #0]*[0-9.*]*[0-9]{7,}|:[^}]*[0-9]{7,}")
_FORMATS = {"printf", "format", "sformat"}
_WIDTH_TAKEN = re.compile(r"(?<!%)(?:%%)*+%[-+ #0-9.,!$]*+\*")  # from an argument: %*d, %.*c
_SEQUENCE_TABLE = re.compile(r"seq_([0-9]+)_to_([0-9]+)(?:_step_([0-9]+))?")


def reject_endless(
    tree: SyntaxTree, tokens: list[Token], plain: PlainText, bounds_sizes: bool = False
) -> Rejection | None:
    """Refuses what can be seen to run forever, to fill the memory, or to be lost in a value."""
    return (
        _reject_recursions(tree, plain)
        or next(filter(None, map(_reject_series, tree.all(exp.Func))), None)
        or next(filter(None, map(_reject_sequence, tree.all(exp.Table))), None)
        or reject_sizes(tree, tokens, plain, bounds_sizes)
        or _reject_format(tree, tokens, plain, bounds_sizes)
    )


def _reject_recursions(tree: SyntaxTree, plain: PlainText) -> Rejection | None:
    """SQLite and PostgreSQL stop a recursion when the query around it has enough rows."""
    if next(tree.all(exp.Limit, exp.Fetch), None):
        return None
    return next(filter(None, (_reject_recursion(clause, plain) for clause in tree.all(exp.With))), None)


def _reject_recursion(clause: exp.With, plain: PlainText) -> Rejection | None:
    if not clause.recursive:
        return None
    for cte in clause.expressions:
        name = plain.original(cte.args["alias"].this)
        if _never_ends(cte.this, name.lower(), plain):
            reason = f"The recursive part of {name} never ends: it has no WHERE, no join and no LIMIT."
            return Rejection("endless", reason, name)
    return None


def _never_ends(query: exp.Expr, name: str, plain: PlainText) -> bool:
    if not isinstance(query, exp.Union) or query.args.get("distinct"):
        return False
    return any(_repeats_all(branch, name, plain) for branch in _branches(query))


def _branches(query: exp.Expr) -> Iterator[exp.Expr]:
    waiting = [query]
    while waiting:
        branch = waiting.pop()
        if isinstance(branch, exp.Union):
            waiting += [branch.this, branch.expression]
        else:
            yield branch


def _repeats_all(branch: exp.Expr, name: str, plain: PlainText) -> bool:
    """A branch that takes every row of its own table and drops none."""
    source = branch.args.get("from_")
    table = source.this if source else None
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return False
    drops = any(branch.args.get(part) for part in ("where", "joins", "laterals", "having", "limit", "group"))
    return plain.original(table.this).lower() == name and not drops


def _reject_series(call: exp.Func) -> Rejection | None:
    name, arguments = called(call)
    size = _series_length(arguments) if name in _SERIES else None
    return None if size is None or size <= LARGEST else too_large(name, size, LARGEST)


def _series_length(arguments: list[exp.Expr]) -> float | None:
    """Of `stop`, of `start, stop` or of `start, stop, step`, when all of them are numbers."""
    numbers = [number for argument in arguments if (number := _number(argument)) is not None]
    if len(numbers) != len(arguments) or not 1 <= len(numbers) <= 3:
        return None
    start, stop = (0.0, numbers[0]) if len(numbers) == 1 else numbers[:2]
    step = numbers[2] if len(numbers) == 3 else 1.0
    return abs(stop - start) / abs(step) if step else None


def _number(node: exp.Expr) -> float | None:
    sign = 1.0
    while isinstance(node, exp.Paren | exp.Neg | exp.Cast):
        sign = -sign if isinstance(node, exp.Neg) else sign
        node = node.this
    if isinstance(node, exp.Mul):
        one, other = _number(node.this), _number(node.expression)
        return None if one is None or other is None else sign * one * other
    return None if not isinstance(node, exp.Literal) or node.is_string else sign * float(node.name)


def _reject_sequence(table: exp.Table) -> Rejection | None:
    match = _SEQUENCE_TABLE.fullmatch(table.name.lower())
    if match and abs(float(match[2]) - float(match[1])) / max(1.0, float(match[3] or 1)) > LARGEST:
        reason = f"The sequence {table.name} has too many rows; at most {LARGEST:,} are allowed."
        return Rejection("endless", reason, table.name)
    return None


def _reject_format(
    tree: SyntaxTree, tokens: list[Token], plain: PlainText, bounds_sizes: bool
) -> Rejection | None:
    calls = [call for call in tree.all(exp.Func) if called(call)[0] in _FORMATS]
    texts = [token.value for token in tokens if token.kind is TokenKind.STRING] if calls else []
    for text in texts:
        if match := _FORMATTING.search(text):
            reason = f"The format {match[0]} asks for a text of many millions of characters."
            return Rejection("endless", reason, match[0])
    if not any(map(_WIDTH_TAKEN.search, texts)):
        return None
    unknown = [call for call in calls if bounds_sizes and not is_just_shown(call, tree, plain)]
    if unknown:
        return unknown_size(called(unknown[0])[0])
    return next(filter(None, map(_reject_width, map(called, calls))), None)


def _reject_width(call: tuple[str, list[exp.Expr]]) -> Rejection | None:
    """Which argument is the width is not worked out: a larger number has no place beside such a format."""
    name, arguments = call
    width = max((bound(argument) or 0.0 for argument in arguments), default=0.0)
    if width <= LONGEST:
        return None
    reason = f"{name} is asked for a width of {width:,.0f}; at most {LONGEST:,} are allowed."
    return Rejection("endless", reason, name)
