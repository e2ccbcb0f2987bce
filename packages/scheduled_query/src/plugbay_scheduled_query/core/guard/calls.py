"""Finds every call of a function by the bracket behind its name, and asks the lists whether it may be."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from .functions import Functions
from .grammar import BEFORE_BRACKET, SAMPLING, SIZED_TYPES
from .tokens import Kind, Token
from .verdict import Rejection


class Call(NamedTuple):
    """A name before a bracket: where it stands, its last part, and all of it with dots."""

    place: int
    name: str
    full_name: str


def calls(tokens: list[Token]) -> Iterator[Call]:
    """Every name that a bracket follows, but for words of the language, types and aliases."""
    for index, token in enumerate(tokens[:-1]):
        if tokens[index + 1].is_mark("(") and _can_be_called(tokens, index):
            yield Call(index, _folded(token.value), _full_name(tokens, index))


def reject_calls(tokens: list[Token], functions: Functions, allowed: frozenset[str]) -> Rejection | None:
    """Refuses the first call of a function that is known to do harm."""
    for call in calls(tokens):
        if not is_listed(call, allowed) and (harm := functions.danger(call.name)):
            return dangerous(call.full_name, harm)
    return None


def unknown_calls(tokens: list[Token], functions: Functions, allowed: frozenset[str]) -> Counter[str]:
    """How often each name that is on no list stands before a bracket, as an alias behind AS included."""
    names = {
        call.name
        for call in calls(tokens)
        if call.name not in functions.harmless and not is_listed(call, allowed)
    }
    counted = (_folded(token.value) for token, bracket in pairwise(tokens) if bracket.is_mark("("))
    return Counter(name for name in counted if name in names)


def dangerous(name: str, harm: str) -> Rejection:
    return Rejection("function", f"The function {name} may not be used in a query: {harm}.", name)


def unknown(name: str) -> Rejection:
    reason = (
        f"The function {name} is not among those known to be harmless. If it only reads, "
        "an administrator can add it to the setting allowed_functions."
    )
    return Rejection("function", reason, name)


def _can_be_called(tokens: list[Token], index: int) -> bool:
    token = tokens[index]
    if token.kind not in (Kind.WORD, Kind.NAME, Kind.STRING) or _is_no_function(tokens, index):
        return False
    if index and tokens[index - 1].is_mark("."):
        return True
    if token.kind is Kind.STRING:  # IN 'x' ('y') is no SQL, but FROM 'x' ('y') is for SQLite
        return True
    return token.word not in BEFORE_BRACKET and token.word not in SIZED_TYPES


def _is_no_function(tokens: list[Token], index: int) -> bool:
    if index == 0:
        return False
    before = tokens[index - 1]
    samples = before.word in ("TABLESAMPLE", "SAMPLE") and tokens[index].word in SAMPLING
    return samples or before.word == "AS" or before.is_operator("::")


def _full_name(tokens: list[Token], index: int) -> str:
    parts = [tokens[index].value]
    while index >= 2 and tokens[index - 1].is_mark(".") and tokens[index - 2].is_name:
        index -= 2
        parts.insert(0, tokens[index].value)
    return ".".join(map(_folded, parts))


def _folded(name: str) -> str:
    """Lower case, as databases fold names: letters beyond ASCII are not made into others."""
    return name.lower() if name.isascii() else name


def is_listed(call: Call, allowed: frozenset[str]) -> bool:
    """Has an operator of the service allowed this function, by its last name or all of it?"""
    return call.name in allowed or call.full_name in allowed
