"""Writes tokens down again so plainly that no two readers can differ: the text that sqlglot is shown.

Every string becomes 's', every quoted name a numbered one, every harmless function a name that sqlglot has
never heard of: its own ideas of functions, escapes and comments cannot matter then.
"""

import re

from sqlglot import exp

from .calls import Call, calls, is_listed
from .functions import Functions
from .grammar import OWN_SYNTAX, TEXT_TYPES
from .tokens import Kind, Token
from .words import words

CALL_PREFIX = "fn_"
STRING = "s"
_ASCII_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STAR_WORDS = {"EXCLUDE", "EXCEPT", "REPLACE", "RENAME"}  # SELECT * REPLACE (…) is no call
_UNDERSTOOD = words("""
    + - * / % < > <= >= = == <> != || && -> ->> #> #>> @> <@ ~ ~* !~ !~* << >> & | ^ => := : :: ? <=> !
    // ** #
""")
_BEFORE_OPERAND = words("SELECT WHERE AND OR NOT ON WHEN THEN ELSE CASE BY HAVING IN LIKE BETWEEN DISTINCT")


class PlainText:
    """The text for the parser, and what its numbered names stand for; `quote` is the parser's for names."""

    def __init__(
        self, tokens: list[Token], functions: Functions, allowed: frozenset[str], quote: str = '"'
    ) -> None:
        self._tokens = tokens
        self._functions = functions
        self._allowed = allowed
        self._quote = quote
        self._numbers: dict[str, int] = {}
        called = {call.place: call for call in calls(tokens)}
        self.sql = " ".join(self._piece(place, called.get(place)) for place in range(len(tokens)))
        self._names = list(self._numbers)

    def original(self, node: exp.Expr) -> str:
        """What the author wrote for a name in the tree."""
        is_numbered = node.args.get("quoted") and node.name[:1] == "n" and node.name[1:].isdigit()
        return self._names[int(node.name[1:])] if is_numbered else node.name.removeprefix(CALL_PREFIX)

    def _piece(self, place: int, call: Call | None) -> str:
        if call is not None and (name := self._called(call)):
            return name
        match self._tokens[place].kind:
            case Kind.STRING:
                return f"'{STRING}'"
            case Kind.NUMBER:
                return _decimal(self._tokens[place].value)
            case Kind.VARIABLE:
                return "system_variable"
            case Kind.OPERATOR:
                return self._operator(place)
            case Kind.NAME:
                return self._numbered(place)
            case Kind.WORD:
                return self._word(place)
            case _:
                return self._tokens[place].value

    def _called(self, call: Call) -> str | None:
        if call.name in OWN_SYNTAX:
            return call.name
        is_known = call.name in self._functions.harmless or is_listed(call, self._allowed)
        return CALL_PREFIX + call.name if is_known and self._is_plain_call(call) else None

    def _is_plain_call(self, call: Call) -> bool:
        before = self._tokens[call.place - 1] if call.place else self._tokens[0]
        behind_star = before.is_operator("*") or before.is_mark(")")
        shapes_star = behind_star and self._tokens[call.place].word in _STAR_WORDS
        return _ASCII_WORD.fullmatch(call.name) is not None and not shapes_star

    def _word(self, place: int) -> str:
        token = self._tokens[place]
        if token.word == "VALUES":  # a function in sqlglot's MySQL; SELECT (1), (2) has the same shape
            return "SELECT"
        after = self._tokens[place + 1] if place + 1 < len(self._tokens) else None
        if token.word in TEXT_TYPES and after is not None and after.kind is Kind.STRING:
            return ""
        return token.value if _ASCII_WORD.fullmatch(token.value) else self._numbered(place)

    def _numbered(self, place: int) -> str:
        number = self._numbers.setdefault(self._tokens[place].value, len(self._numbers))
        return f"{self._quote}n{number}{self._quote}"

    def _operator(self, place: int) -> str:
        """PostgreSQL has operators without number; here it only matters where they stand."""
        text = self._tokens[place].value
        behind_operand = place > 0 and _ends_operand(self._tokens[place - 1])
        if text == "!" and behind_operand:  # a factorial
            return ""
        if text in _UNDERSTOOD:
            return text
        return "||" if behind_operand else "-"


def _decimal(number: str) -> str:
    """The number in plain digits; one in another base with more than 32 of them is just a large one."""
    digits = number.replace("_", "")
    if digits[:2].lower() not in ("0x", "0o", "0b"):
        return digits
    return str(int(digits, 0)) if len(digits) < 34 else "1e99"


def _ends_operand(token: Token) -> bool:
    if token.kind is Kind.WORD:
        return token.word not in _BEFORE_OPERAND
    return token.kind is not Kind.OPERATOR and not token.is_mark("(", "[", ",", "{")
