"""How large the values are that a query makes by itself: by a number that can be read off, or only shown.

Looking for one long text in another, comparing shapes of many points and the like cannot be stopped by some
servers, and takes the product of both lengths. So what makes a value of any length has to say how long.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import inf

from sqlglot import exp

from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.core.guard.lexis import Token, TokenKind
from plugbay_scheduled_query.core.guard.parsing import CALL_PREFIX, PlainText, SyntaxTree

# With two texts of this length translate takes PostgreSQL 2 s, LIKE MariaDB 1 s; with ten times of it, 180 s.
LONGEST = 10_000  # characters or items of one value
LONGEST_TOGETHER = 20_000  # of all values that a statement makes: joined, they are one
MOST_POINTS = 200  # of a shape: the distance of two such takes 0.1 s, of two with 20,000 some 20 minutes

# Which argument of a function says how large its result is.
_SIZE_ARGUMENT = {
    "repeat": 1, "lpad": 1, "rpad": 1, "list_resize": 1, "array_resize": 1, "repeat_row": -1, "bar": 3,
    "zeroblob": 0, "randomblob": 0, "space": 0, "random_bytes": 0, "gen_random_bytes": 0, "polygon": 0,
}  # fmt: skip
_MOST = {"polygon": MOST_POINTS}
_JOINING = {"concat", "concat_ws", "coalesce", "ifnull"}
_SHOWN_IN = (exp.Alias, exp.Paren, exp.Cast, exp.DPipe, exp.Case, exp.If)


def reject_sizes(
    tree: SyntaxTree, tokens: list[Token], plain: PlainText, is_strict: bool
) -> Rejection | None:
    """Refuses values that are too long; if strict, also those of unknown length that are not just shown."""
    together = 0.0
    for call in tree.all(exp.Func):
        name, size = sized(call)
        if name and size is None and is_strict and not is_just_shown(call, tree, plain):
            return unknown_size(name)
        if name and size is not None:
            together += size
            if size > (most := _MOST.get(name, LONGEST)):
                return too_large(name, size, most)
    if together > LONGEST_TOGETHER:
        return too_large("the statement", together, LONGEST_TOGETHER)
    return _reject_repeated_texts(tokens)


def sized(call: exp.Expr) -> tuple[str, float | None]:
    """The name of a function that makes a value of any length, and that length if it is known."""
    name, arguments = called(call)
    if name == "array_fill" and len(arguments) > 1:
        return name, _product(arguments[1])
    place = _SIZE_ARGUMENT.get(name)
    if name == "polygon" and len(arguments) < 2:  # of another shape
        return "", None
    if place is None or not arguments or place >= len(arguments):
        return "", None
    size = bound(arguments[place])
    return name, size * _inner_size(arguments[0]) if size is not None and name == "repeat" else size


def called(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    """The name and the arguments of a call; no name for what the parser gives a node of its own."""
    name = node.name.lower().removeprefix(CALL_PREFIX) if isinstance(node, exp.Anonymous) else ""
    return name, node.expressions


def too_large(name: str, size: float, most: int) -> Rejection:
    """The refusal of a value that is too long."""
    reason = f"{name} is asked for {size:,.0f} items at once; at most {most:,} are allowed."
    return Rejection("endless", reason, name)


def bound(node: exp.Expr) -> float | None:
    """What the absolute value of an expression cannot exceed, if it can be read off; else None."""
    if isinstance(node, exp.EQ | exp.PropertyEQ | exp.Kwarg):  # num_rows = 5
        node = node.expression
    if isinstance(node, exp.Paren | exp.Neg | exp.Cast):
        return bound(node.this)
    if isinstance(node, exp.Literal):
        return None if node.is_string else abs(float(node.name))
    if isinstance(node, exp.Null):
        return 0.0
    if isinstance(node, exp.Binary):
        return _bound_of_two(node)
    if isinstance(node, exp.Case):
        return _largest([*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")])
    if isinstance(node, exp.Subquery):
        return _bound_of_query(node.this)
    return _bound_of_call(*called(node))


def _bound_of_two(node: exp.Binary) -> float | None:
    one, other = bound(node.this), bound(node.expression)
    if isinstance(node, exp.Mod):
        return other
    if one is None or other is None:
        return None
    if isinstance(node, exp.Add | exp.Sub):
        return one + other
    if isinstance(node, exp.Mul):
        return one * other
    return one if isinstance(node, exp.Div | exp.IntDiv) and other >= 1 else None


def _bound_of_query(query: exp.Expr) -> float | None:
    """Of `(SELECT 5)`: what comes from a table can be anything."""
    while isinstance(query, exp.Subquery | exp.Paren):
        query = query.this
    is_plain = isinstance(query, exp.Select) and not query.args.get("from_") and len(query.expressions) == 1
    return bound(query.expressions[0].unalias()) if is_plain else None


def _bound_of_call(name: str, arguments: list[exp.Expr]) -> float | None:
    if not arguments:
        return None
    if name == "least":
        return min((size for argument in arguments if (size := bound(argument)) is not None), default=None)
    if name in ("greatest", "coalesce", "ifnull", "nullif"):
        return _largest(arguments)
    if name == "mod" and len(arguments) == 2:
        return bound(arguments[1])
    if name in ("abs", "ceil", "ceiling", "floor", "round", "trunc", "truncate"):
        size = bound(arguments[0])
        return None if size is None else size + 1
    return None


def _largest(nodes: Sequence[exp.Expr | None]) -> float | None:
    sizes = [bound(node) for node in nodes if node is not None]
    return None if None in sizes else max((size for size in sizes if size is not None), default=0.0)


def _product(node: exp.Expr) -> float | None:
    """Of the lengths that a list of dimensions has; a nested one multiplies too much, which does no harm."""
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    if not isinstance(node, exp.Array):
        return None
    product = 1.0
    for dimension in node.expressions:
        size = _product(dimension) if isinstance(dimension, exp.Array) else bound(dimension)
        product = inf if size is None else product * size
    return None if product == inf else product


def _inner_size(argument: exp.Expr) -> float:
    while isinstance(argument, exp.Paren | exp.Cast):
        argument = argument.this
    return max(1.0, sized(argument)[1] or 1.0)


def is_just_shown(call: exp.Expr, tree: SyntaxTree, plain: PlainText) -> bool:
    """Whether a value goes into the result of the statement, perhaps joined with others, and nowhere else."""
    node = call
    while (parent := node.parent) and (isinstance(parent, _SHOWN_IN) or called(parent)[0] in _JOINING):
        if node.arg_key == "this" and isinstance(parent, exp.If | exp.Case):
            return False  # the condition
        node = parent
    is_column = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
    return is_column and _is_outermost(node.parent) and not _is_used_again(node, tree, plain)


def _is_outermost(query: exp.Expr | None) -> bool:
    while query is not None and isinstance(query.parent, exp.SetOperation | exp.Paren):
        query = query.parent
    return query is not None and query.parent is None


def _is_used_again(column: exp.Expr, tree: SyntaxTree, plain: PlainText) -> bool:
    """MySQL lets HAVING and ORDER BY take columns of the result; to be sorted by does no harm."""
    if not isinstance(column, exp.Alias):
        return False
    name = plain.original(column.args["alias"]).lower()
    return any(
        plain.original(other.this).lower() == name and not isinstance(other.parent, exp.Ordered)
        for other in tree.all(exp.Column)
    )


def _reject_repeated_texts(tokens: list[Token]) -> Rejection | None:
    """`repeat('…', 5000)`, of which the tree does not know how long the text is."""
    for text, count in _repeated(tokens):
        if (size := len(text) * count) > LONGEST:
            return too_large("repeat", size, LONGEST)
    return None


def _repeated(tokens: list[Token]) -> Iterator[tuple[str, float]]:
    for place, (called_token, opening) in enumerate(pairwise(tokens)):
        following = tokens[place + 2 : place + 5]
        is_call = called_token.is_name and called_token.value.lower() == "repeat" and opening.is_mark("(")
        if is_call and [token.kind for token in following] == _TEXT_AND_NUMBER:
            yield following[0].value, _as_number(following[2].value)


def _as_number(text: str) -> float:
    readings: tuple[Callable[[str], float], ...] = (float, lambda digits: float(int(digits, 0)))
    for read in readings:
        try:
            return read(text)
        except ValueError:
            continue
    return inf


def unknown_size(name: str) -> Rejection:
    """The refusal of a value whose length nobody knows."""
    reason = (
        f"How long the result of {name} is cannot be read off here, and a server may get lost in it: write a"
        f" number of at most {LONGEST:,}, or bound it, as in least(n, 100)."
    )
    return Rejection("endless", reason, name)


_TEXT_AND_NUMBER = [TokenKind.STRING, TokenKind.MARK, TokenKind.NUMBER]
