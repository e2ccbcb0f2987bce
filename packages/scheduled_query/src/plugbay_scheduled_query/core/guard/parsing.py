"""From tokens to a tree: a plain text that sqlglot understands, parsed within bounds.

The parser never sees what the author wrote: every text is the same, quoted names are numbered, and harmless
functions have a prefix, so that none of them means anything to it.
"""

import re
import threading
from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import Any, TypeVar

from sqlglot import Dialect, ErrorLevel, exp
from sqlglot.errors import ParseError
from sqlglot.parser import logger as sqlglot_log

from plugbay_scheduled_query.core.guard import Rejection
from plugbay_scheduled_query.core.guard.calls import OWN_SYNTAX, TEXT_TYPES, Call, Functions, calls, is_listed
from plugbay_scheduled_query.core.guard.lexis import Token, TokenKind, words

CALL_PREFIX = "fn_"
STRING = "s"

# sqlglot goes back and tries again, which can double its steps with each bracket;
# honest queries take 1 to 3 for each token.
STEPS_PER_TOKEN = 5
STEPS_AT_LEAST = 20_000
_THREAD_NAME = "sql-guard"

_ASCII_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STAR_WORDS = {"EXCLUDE", "EXCEPT", "REPLACE", "RENAME"}  # SELECT * REPLACE (…) is no call
_UNDERSTOOD = words("""
    + - * / % < > <= >= = == <> != || && -> ->> #> #>> @> <@ ~ ~* !~ !~* << >> & | ^ => := : :: ? <=> !
    // ** #
""")
_BEFORE_OPERAND = words("SELECT WHERE AND OR NOT ON WHEN THEN ELSE CASE BY HAVING IN LIKE BETWEEN DISTINCT")

# Clauses of the standard's JSON functions that sqlglot does not know; none of them can do harm.
_JSON_CALLS = words("""
    JSON_ARRAY JSON_ARRAYAGG JSON_EXISTS JSON_OBJECT JSON_OBJECTAGG JSON_QUERY JSON_TABLE JSON_VALUE
""")
_JSON_BEHAVIOURS = (
    ("NULL",), ("ERROR",), ("ABSENT",), ("TRUE",), ("FALSE",), ("UNKNOWN",), ("EMPTY",),
    ("EMPTY", "ARRAY"), ("EMPTY", "OBJECT"), ("DEFAULT", "?"),
)  # fmt: skip
_JSON_CLAUSES = (
    *((*behaviour, "ON", place) for behaviour in _JSON_BEHAVIOURS for place in ("NULL", "EMPTY", "ERROR")),
    *(
        (*how, *array, "WRAPPER")
        for how in (("WITH",), ("WITHOUT",), ("WITH", "CONDITIONAL"), ("WITH", "UNCONDITIONAL"))
        for array in ((), ("ARRAY",))
    ),
    ("KEEP", "QUOTES"),
    ("OMIT", "QUOTES"),
)
_QUERIES = ("SELECT", "WITH", "VALUES", "TABLE")

Node = TypeVar("Node", bound=exp.Expr)

# sqlglot tells its log of text that it cannot parse; a verdict says it better, and the text is a stranger's.
sqlglot_log.addFilter(lambda record: record.threadName != _THREAD_NAME)


class SyntaxTree:
    """The tree of one statement: its root, and all its nodes by kind."""

    def __init__(self, root: exp.Expr) -> None:
        self.root = root
        self.nodes = list(root.walk())

    def all(self, *kinds: type[Node]) -> Iterator[Node]:
        """Every node of these kinds."""
        return (node for node in self.nodes if isinstance(node, kinds))


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
        pieces = [self._piece(place, called.get(place)) for place in range(len(tokens))]
        self.sql = " ".join(pieces)
        self._names = list(self._numbers)
        self._ends = list(accumulate(len(piece) + 1 for piece in pieces))

    def placed(self, rejection: Rejection) -> Rejection:
        """The same, with its place in the author's text instead of the parser's."""
        if rejection.at is None:
            return rejection
        token = self._tokens[min(bisect(self._ends, rejection.at), len(self._tokens) - 1)]
        return replace(rejection, at=token.start)

    def original(self, node: exp.Expr) -> str:
        """What the author wrote for a name in the tree."""
        is_numbered = node.args.get("quoted") and node.name[:1] == "n" and node.name[1:].isdigit()
        return self._names[int(node.name[1:])] if is_numbered else node.name.removeprefix(CALL_PREFIX)

    def _piece(self, place: int, call: Call | None) -> str:
        if call is not None and (name := self._called(call)):
            return name
        match self._tokens[place].kind:
            case TokenKind.STRING:
                return f"'{STRING}'"
            case TokenKind.NUMBER:
                return _decimal(self._tokens[place].value)
            case TokenKind.VARIABLE:
                return "system_variable"
            case TokenKind.OPERATOR:
                return self._operator(place)
            case TokenKind.NAME:
                return self._numbered(place)
            case TokenKind.WORD:
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
        if token.word in TEXT_TYPES and after is not None and after.kind is TokenKind.STRING:
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
    if token.kind is TokenKind.WORD:
        return token.word not in _BEFORE_OPERAND
    return token.kind is not TokenKind.OPERATOR and not token.is_mark("(", "[", ",", "{")


def without_json_clauses(tokens: list[Token]) -> list[Token]:
    """The tokens without `NULL ON ERROR` and its like right in the brackets of a JSON function."""
    kept: list[Token] = []
    is_json = [False]
    place = 0
    while place < len(tokens):
        if is_json[-1] and (length := _clause_length(tokens, place)):
            place += length
            continue
        token = tokens[place]
        if token.is_mark("("):
            is_json.append(_opens_json(tokens, place, is_json[-1]))
        elif token.is_mark(")") and len(is_json) > 1:
            is_json.pop()
        kept.append(token)
        place += 1
    return kept


def _opens_json(tokens: list[Token], place: int, is_json: bool) -> bool:
    before = tokens[place - 1].word if place else ""
    asks = place + 1 < len(tokens) and tokens[place + 1].word in _QUERIES
    return (before in _JSON_CALLS or (is_json and before == "COLUMNS")) and not asks


def _clause_length(tokens: list[Token], place: int) -> int:
    shown = [_shown(token) for token in tokens[place : place + 4]]
    if shown[:2] == ["EXISTS", "PATH"]:
        return 1
    return max((len(clause) for clause in _JSON_CLAUSES if tuple(shown[: len(clause)]) == clause), default=0)


def _shown(token: Token) -> str:
    return "?" if token.kind in (TokenKind.STRING, TokenKind.NUMBER) else token.word


class _TooManySteps(Exception):
    """The parser went back and forth too often."""


def parse_one(sql: str, parser_name: str) -> exp.Expr | Rejection:
    """The tree of exactly one statement, or why there is none."""
    outcome: list[exp.Expr | Rejection] = []
    # A stack of its own: how deep a query may be must not depend on how deep the caller is.
    thread = threading.Thread(target=lambda: outcome.append(_outcome(sql, parser_name)), name=_THREAD_NAME)
    thread.start()
    thread.join()
    return outcome[0]


def _outcome(sql: str, parser_name: str) -> exp.Expr | Rejection:
    try:
        trees = [tree for tree in _parse(sql, parser_name) if tree is not None]
    except (RecursionError, _TooManySteps):
        reason = "The query is too deeply nested; split it into WITH parts or simplify its brackets."
        return Rejection("depth", reason)
    except ParseError as error:
        found = error.errors[0] if error.errors else {}
        return replace(_unreadable(found.get("description", "")), at=_offset(found))
    except Exception:  # a parser that stumbles over a text has not understood it
        return _unreadable("")
    if len(trees) != 1:
        return Rejection("statements", "The text must hold exactly one statement.")
    return trees[0]


def _offset(found: Mapping[str, Any]) -> int | None:
    """Where a token begins of which sqlglot tells the last column; the text is one line."""
    column, token = found.get("col"), found.get("highlight")
    return column - len(token) if column and token else None


def _unreadable(detail: str | None) -> Rejection:
    hint = f" ({detail.rstrip('.')})" if detail else ""
    reason = (
        f"The query could not be understood and so not shown to be harmless{hint}; write it in plainer SQL."
    )
    return Rejection("parse", reason, detail or "")


def _parse(sql: str, parser_name: str) -> list[exp.Expr | None]:
    dialect = Dialect.get_or_raise(parser_name)
    tokens = dialect.tokenize(sql)
    budget = STEPS_AT_LEAST + STEPS_PER_TOKEN * len(tokens)
    trees: list[exp.Expr | None] = _bounded_parser(dialect, budget).parse(tokens, sql)
    return trees


def _bounded_parser(dialect: Dialect, budget: int) -> Any:
    """A parser of this dialect that gives up when its steps are used up."""
    try:
        parser = _bounded_class(dialect.parser_class)(dialect=dialect, error_level=ErrorLevel.IMMEDIATE)
        parser.steps = budget
    except TypeError:  # sqlglot's compiled form cannot be subclassed; it counts nodes by itself
        return dialect.parser_class(dialect=dialect, error_level=ErrorLevel.IMMEDIATE, max_nodes=budget)
    return parser


@cache
def _bounded_class(parser_class: Any) -> Any:
    class Bounded(parser_class):  # type: ignore[misc]
        steps = 0

        def _advance(self, times: int = 1) -> None:
            self.steps -= 1
            if self.steps < 0:
                raise _TooManySteps
            super()._advance(times)

    return Bounded
