"""Writes tokens down again so plainly that no two readers can differ: the text that sqlglot is shown.

Every string becomes 's', every quoted name a numbered one, every harmless function a name that sqlglot has
never heard of: its own ideas of functions, escapes and comments cannot matter then.
"""

import re
from dataclasses import dataclass, field

from sqlglot import exp

from .calls import Call, calls
from .functions import Functions
from .grammar import OWN_SYNTAX, TEXT_TYPES
from .tokens import Kind, Token
from .words import words

CALL_PREFIX = "fn_"
STRING = "s"
_ASCII_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME_NUMBER = re.compile(r"n([0-9]+)")
_STAR_WORDS = {"EXCLUDE", "EXCEPT", "REPLACE", "RENAME"}  # SELECT * REPLACE (…) is no call


@dataclass
class PlainText:
    """The text for the parser, and what its numbered names stand for."""

    sql: str = ""
    numbers: dict[str, int] = field(default_factory=dict)

    def original(self, node: exp.Expr) -> str:
        """What the author wrote for a name in the tree."""
        match = _NAME_NUMBER.fullmatch(node.name) if node.args.get("quoted") else None
        return list(self.numbers)[int(match[1])] if match else node.name.removeprefix(CALL_PREFIX)


def plain_text(tokens: list[Token], functions: Functions, allowed: frozenset[str], quote: str) -> PlainText:
    """The same statement in the plainest words; `quote` is the parser's quote for names."""
    called = {call.place: call for call in calls(tokens)}
    plain = PlainText()
    pieces = [
        _called(call, tokens, functions, allowed) or _written(tokens, index, plain, quote)
        if (call := called.get(index))
        else _written(tokens, index, plain, quote)
        for index in range(len(tokens))
    ]
    plain.sql = " ".join(pieces)
    return plain


def _called(call: Call, tokens: list[Token], functions: Functions, allowed: frozenset[str]) -> str | None:
    known = call.name in functions.harmless or call.name in allowed or call.full_name in allowed
    if call.name in OWN_SYNTAX:
        return call.name
    after_star = (
        call.place > 0 and tokens[call.place - 1].is_operator("*") and tokens[call.place].word in _STAR_WORDS
    )
    return CALL_PREFIX + call.name if known and not after_star and _ASCII_WORD.fullmatch(call.name) else None


def _written(tokens: list[Token], index: int, plain: PlainText, quote: str) -> str:
    token = tokens[index]
    match token.kind:
        case Kind.STRING:
            return f"'{STRING}'"
        case Kind.VARIABLE:
            return "system_variable"
        case Kind.OPERATOR:
            return _operator(tokens, index)
        case Kind.NAME:
            return _numbered(token.value, plain, quote)
        case Kind.WORD if (
            token.word == "VALUES"
        ):  # a function to sqlglot's MySQL; SELECT (1), (2) has the same shape
            return "SELECT"
        case Kind.WORD if token.word in TEXT_TYPES and _is_string(tokens[index + 1 : index + 2]):
            return ""
        case Kind.WORD if not _ASCII_WORD.fullmatch(token.value):
            return _numbered(token.value, plain, quote)
        case _:
            return token.value


def _is_string(tokens: list[Token]) -> bool:
    return bool(tokens) and tokens[0].kind is Kind.STRING


def _numbered(name: str, plain: PlainText, quote: str) -> str:
    number = plain.numbers.setdefault(name, len(plain.numbers))
    return f"{quote}n{number}{quote}"


_UNDERSTOOD = words("""
    + - * / % < > <= >= = == <> != || && -> ->> #> #>> @> <@ ~ ~* !~ !~* << >> & | ^ => := : :: ? <=> !
    // ** #
""")


def _operator(tokens: list[Token], index: int) -> str:
    """PostgreSQL has operators without number; what they mean does not matter here, only where they stand."""
    text = tokens[index].value
    behind_operand = index > 0 and _ends_operand(tokens[index - 1])
    if text == "!" and behind_operand:  # a factorial
        return ""
    if text in _UNDERSTOOD:
        return text
    return "||" if behind_operand else "-"


def _ends_operand(token: Token) -> bool:
    if token.kind is Kind.WORD:
        return token.word not in _BEFORE_OPERAND
    return token.kind is not Kind.OPERATOR and not token.is_mark("(", "[", ",", "{")


_BEFORE_OPERAND = words("SELECT WHERE AND OR NOT ON WHEN THEN ELSE CASE BY HAVING IN LIKE BETWEEN DISTINCT")
