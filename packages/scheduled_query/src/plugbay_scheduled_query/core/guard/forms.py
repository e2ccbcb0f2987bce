"""Statements that are no queries and yet only look: EXPLAIN, SHOW, DESCRIBE, PRAGMA, by small grammars."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from .tokens import Kind as TokenKind
from .tokens import Token
from .verdict import Kind, Rejection
from .words import words


@dataclass(frozen=True)
class Form:
    """What was recognised, and the query inside it that must still pass, if there is one."""

    kind: Kind
    query: list[Token] | None = None


Recognise: TypeAlias = Callable[[list[Token]], Form | Rejection | None]


def no_forms(tokens: list[Token]) -> Form | Rejection | None:
    """For databases whose other statements are not known."""
    return None


def explain(tokens: list[Token], words: frozenset[str], options: frozenset[str]) -> Form | Rejection:
    """`EXPLAIN [words] query` or `EXPLAIN (options) query`: the query behind it must pass like any other."""
    rest = tokens[1:]
    if rest and rest[0].is_mark("(") and len(rest) > 1 and rest[1].word in options:
        end = next((index for index, token in enumerate(rest) if token.is_mark(")")), len(rest))
        if strange := [token for token in rest[1:end] if not _is_option(token, options)]:
            return Rejection(
                "not_a_query", f"EXPLAIN has no option “{strange[0].value}” here.", strange[0].value
            )
        rest = rest[end + 1 :]
    while rest and rest[0].word in words:
        rest = rest[1:]
    if not rest:
        return Rejection("not_a_query", "EXPLAIN needs a query behind it.", "EXPLAIN")
    return Form("explain", rest)


_OPTION_VALUES = words("ON OFF TRUE FALSE NONE TEXT BINARY JSON XML YAML HTML GRAPHVIZ MERMAID")


def _is_option(token: Token, options: frozenset[str]) -> bool:
    return (
        token.word in options
        or token.word in _OPTION_VALUES
        or token.is_mark(",")
        or token.value in ("0", "1")
    )


def is_dotted_name(tokens: list[Token]) -> bool:
    """`a`, `a.b` or `a.b.c` and nothing else."""
    names, dots = tokens[::2], tokens[1::2]
    return (
        0 < len(names) <= 3
        and len(names) == len(dots) + 1
        and all(token.is_name for token in names)
        and all(token.is_mark(".") for token in dots)
    )


def is_plain_argument(token: Token) -> bool:
    """A name, a number or a text that could be a name: nothing that an argument could hide a statement in."""
    if token.kind is TokenKind.STRING:
        return all(character.isalnum() or character in "_ $.-" for character in token.value)
    return token.is_name or token.kind is TokenKind.NUMBER


def refused(tokens: list[Token]) -> Rejection:
    """The sentence for a statement that looks but is on no list."""
    shown = " ".join(token.value for token in tokens[:4])
    reason = f"“{shown}” is not among the statements known only to look; ask with SELECT instead."
    return Rejection("not_a_query", reason, tokens[0].value)
