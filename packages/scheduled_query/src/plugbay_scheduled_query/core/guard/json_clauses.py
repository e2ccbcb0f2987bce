"""The clauses of JSON functions that say what to do about gaps and faults; sqlglot knows only some of them.

They are made of fixed words and at most one literal, so the parser loses nothing that could do harm.
"""

from .tokens import Kind, Token
from .words import words

_CALLS = words("""
    JSON_ARRAY JSON_ARRAYAGG JSON_EXISTS JSON_OBJECT JSON_OBJECTAGG JSON_QUERY JSON_TABLE JSON_VALUE
""")
_BEHAVIOURS = (
    ("NULL",), ("ERROR",), ("ABSENT",), ("TRUE",), ("FALSE",), ("UNKNOWN",), ("EMPTY",),
    ("EMPTY", "ARRAY"), ("EMPTY", "OBJECT"), ("DEFAULT", "?"),
)  # fmt: skip
_CLAUSES = (
    *((*behaviour, "ON", place) for behaviour in _BEHAVIOURS for place in ("NULL", "EMPTY", "ERROR")),
    *(
        (*how, *array, "WRAPPER")
        for how in (("WITH",), ("WITHOUT",), ("WITH", "CONDITIONAL"), ("WITH", "UNCONDITIONAL"))
        for array in ((), ("ARRAY",))
    ),
    ("KEEP", "QUOTES"),
    ("OMIT", "QUOTES"),
)
_QUERIES = ("SELECT", "WITH", "VALUES", "TABLE")


def without_json_clauses(tokens: list[Token]) -> list[Token]:
    """The tokens without such clauses, as far as they stand right in the brackets of a JSON function."""
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
    return (before in _CALLS or (is_json and before == "COLUMNS")) and not asks


def _clause_length(tokens: list[Token], place: int) -> int:
    shown = [_shown(token) for token in tokens[place : place + 4]]
    if shown[:2] == ["EXISTS", "PATH"]:
        return 1
    return max((len(clause) for clause in _CLAUSES if tuple(shown[: len(clause)]) == clause), default=0)


def _shown(token: Token) -> str:
    return "?" if token.kind in (Kind.STRING, Kind.NUMBER) else token.word
