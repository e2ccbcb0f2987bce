"""Cut a text into words, names, texts, numbers and marks as its database does, or say what is doubtful."""

import re
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple

from plugbay_scheduled_query.core.guard import Rejection

PLAIN_STRING = r"'[^']*+(?:''[^']*+)*+'"
BACKSLASH_STRING = r"'[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+'"
DOUBLE_QUOTED = PLAIN_STRING.replace("'", '"')
DOUBLE_QUOTED_BACKSLASH = BACKSLASH_STRING.replace("'", '"')
BACKTICKED = PLAIN_STRING.replace("'", "`")
BRACKETED = r"\[[^\]]*+\]"
DOLLAR_QUOTED = r"\$(?P<tag>(?:[^\W\d]\w*+)?+)\$.*?\$(?P=tag)\$"
LINE_COMMENT = r"--[^\n]*+"
FLAT_COMMENT = r"/\*.*?\*/"

# Advice to a planner, in which nothing can be quoted; all but what sets a variable, such as the time limit.
_PLANNER_HINT = r"\+(?:(?!\b(?i:set\w*|max_execution_time|resource_group)\s*\()[\w\s(),@.#-])*+\*/"
_NUMBER = (
    r"0[xX][0-9A-Fa-f](?:_?[0-9A-Fa-f])*+|0[oO][0-7](?:_?[0-7])*+|0[bB][01](?:_?[01])*+"
    r"|(?:[0-9](?:_?[0-9])*+(?:\.(?:[0-9](?:_?[0-9])*+)?+)?+|\.[0-9](?:_?[0-9])*+)(?:[eE][+-]?[0-9]++)?+"
)
_WORD = r"[^\W\d][\w$]*+"
_SPACE = r"[ \t\r\n]++"
_UNICODE_ESCAPE = re.compile(r"\\(?:\\|(?P<code>\+[0-9A-Fa-f]{6}|[0-9A-Fa-f]{4}))")
_COMMENT_MARK = re.compile(r"/\*|\*/")

Nesting = Literal["flat", "nested"]


class TokenKind(Enum):
    """What a piece of the text is; comments and space are left out."""

    WORD = "word"  # keyword or bare name
    NAME = "quoted name"
    STRING = "text"
    NUMBER = "number"
    VARIABLE = "system variable"
    OPERATOR = "operator"
    MARK = "mark"  # ( ) [ ] { } , ; .


class Token(NamedTuple):
    """One piece: its kind, what it says without its quotes, and where it begins."""

    kind: TokenKind
    value: str
    start: int

    @property
    def word(self) -> str:
        """The word in capitals when this is a bare one of ASCII letters, else nothing."""
        return self.value.upper() if self.kind is TokenKind.WORD and self.value.isascii() else ""

    @property
    def is_name(self) -> bool:
        """Can this name a table, a column or a function?"""
        return self.kind in (TokenKind.WORD, TokenKind.NAME)

    def is_mark(self, *marks: str) -> bool:
        return self.kind is TokenKind.MARK and self.value in marks

    def is_operator(self, operator: str) -> bool:
        return self.kind is TokenKind.OPERATOR and self.value == operator


def words(text: str) -> frozenset[str]:
    """The words of a text, apart by space."""
    return frozenset(text.split())


def words_at(tokens: list[Token], index: int, *words: str) -> bool:
    """Do these bare words stand here, one after the other?"""
    return [token.word for token in tokens[index : index + len(words)]] == list(words)


@dataclass(frozen=True)
class Lexis:
    """One way to cut a text: a pattern with a named group per kind of piece."""

    pattern: re.Pattern[str]
    nesting: Nesting


def lexis(
    *, strings: list[str], names: list[str], comments: list[str], nesting: Nesting, operators: str,
    placeholders: str, opening: str, refused: str = r"(?!)", variables: str = r"(?!)",
) -> Lexis:  # fmt: skip
    """Puts the pattern together; what opens a string, name or comment but does not end stays as `open`."""
    parts = {
        "space": _SPACE,
        "hint": rf"/\*(?!{_PLANNER_HINT})[+!]|/\*M!",
        "comment": "|".join([*comments, FLAT_COMMENT] if nesting == "flat" else comments),
        "open_comment": r"/\*",
        "refused": refused,
        "string": "|".join(strings),
        "name": "|".join(names),
        "variable": variables,
        "number": _NUMBER,
        "placeholder": placeholders,
        "word": _WORD,
        "open": opening,
        "mark": r"[(){}\[\],;.]",
        "operator": operators,
    }
    groups = [f"(?P<{name}>{part})" for name, part in parts.items()]
    return Lexis(re.compile("|".join(groups), re.DOTALL), nesting)


class NotSql(Rejection):
    """A quote or comment without an end, or a stray backslash: the database itself would refuse it."""


class NotSqlBehind(Rejection):
    """The same behind the end of a statement, which some databases would run all the same."""


def scan(sql: str, rules: Lexis) -> list[Token] | Rejection:
    """The tokens of the text, or why it cannot be cut without doubt."""
    tokens: list[Token] = []
    position = 0
    while position < len(sql):
        match = rules.pattern.match(sql, position)
        if match is None:
            return _as_found(_stray(sql, position), tokens)
        position = _comment_end(match, rules) if match.lastgroup == "open_comment" else match.end()
        if rejection := _unended(match) if position < 0 else _doubt(match, tokens):
            return _as_found(rejection, tokens)
        if token := _token(match):
            tokens.append(token)
    return tokens


def _as_found(rejection: Rejection, tokens: list[Token]) -> Rejection:
    if not isinstance(rejection, NotSql) or not any(token.is_mark(";") for token in tokens):
        return rejection
    return NotSqlBehind(rejection.rule, rejection.reason, rejection.found)


_KINDS = {
    "string": TokenKind.STRING,
    "name": TokenKind.NAME,
    "variable": TokenKind.VARIABLE,
    "number": TokenKind.NUMBER,
    "word": TokenKind.WORD,
    "mark": TokenKind.MARK,
    "operator": TokenKind.OPERATOR,
}


def _token(match: re.Match[str]) -> Token | None:
    kind = _KINDS.get(match.lastgroup or "")
    if kind is None:
        return None
    unquote = kind in (TokenKind.STRING, TokenKind.NAME)
    return Token(kind, _unquoted(match[0]) if unquote else match[0], match.start())


def _unquoted(text: str) -> str:
    """What stands between the quotes; escapes by backslash are left as written, but for those of U&'…'."""
    opening = next(index for index, character in enumerate(text) if character in "'\"`[$")
    if text[opening] == "$":
        tag_end = text.index("$", opening + 1) + 1
        return text[tag_end : -(tag_end - opening)]
    quote = text[opening]
    between = text[opening + 1 : -1].replace(quote * 2, quote)
    return _UNICODE_ESCAPE.sub(_unescaped, between) if text[:2] in ("U&", "u&") else between


def _unescaped(escape: re.Match[str]) -> str:
    code = int(escape["code"].lstrip("+"), 16) if escape["code"] else ord("\\")
    return chr(code) if code <= sys.maxunicode else ""


def _comment_end(opening: re.Match[str], rules: Lexis) -> int:
    """Where a comment that may hold others ends; -1 when it does not."""
    depth, position = 1, opening.end()
    while depth and rules.nesting == "nested" and (mark := _COMMENT_MARK.search(opening.string, position)):
        depth += 1 if mark[0] == "/*" else -1
        position = mark.end()
    return position if depth == 0 else -1


def _doubt(match: re.Match[str], tokens: list[Token]) -> Rejection | None:
    kind, text = match.lastgroup, match[0]
    if kind == "open":
        return _unended(match)
    if kind == "placeholder":
        return _placeholder(match)
    if kind == "hint":
        reason = f"Comments that begin with {text} are instructions to the database; write a plain comment."
        return Rejection("comment", reason, text)
    if kind == "refused":
        return Rejection("ambiguous", f"“{text}” is not allowed here; write it in another way.", text)
    if kind == "number" and (_follows(match, r"[\w$.]") or (text[0] == "." and _touches(match, tokens))):
        return _run_together(match)
    return None


def _follows(match: re.Match[str], pattern: str) -> bool:
    return re.compile(pattern).match(match.string, match.end()) is not None


def _touches(match: re.Match[str], tokens: list[Token]) -> bool:
    return bool(tokens) and (tokens[-1].is_name or tokens[-1].is_mark(")", "]"))


def _run_together(match: re.Match[str]) -> Rejection:
    around = match.string[match.start() : match.end() + 10].split(maxsplit=1)[0]
    reason = f"In “{around}” a number and a name run together; put a space or quotes between them."
    return Rejection("ambiguous", reason, around)


def _placeholder(match: re.Match[str]) -> Rejection:
    line = _line(match.string, match.start())
    reason = f"Line {line} holds the placeholder or variable {match[0]}; a scheduled query has no parameters."
    return Rejection("variable", reason, match[0])


def _unended(match: re.Match[str]) -> Rejection:
    what = "comment" if match[0] == "/*" else "quote"
    reason = (
        f"The {what} that begins with {match[0]} in line {_line(match.string, match.start())} has no end."
    )
    return NotSql("ambiguous", reason, match[0])


def _stray(sql: str, position: int) -> Rejection:
    character = sql[position]
    shown = character if character.isprintable() else f"U+{ord(character):04X}"
    reason = f"The character {shown} in line {_line(sql, position)} means nothing outside quotes; remove it."
    return (NotSql if character == "\\" else Rejection)("characters", reason, shown)


def _line(sql: str, position: int) -> int:
    return sql.count("\n", 0, position) + 1
