"""Where in an SQL text an error is: told by the guard's words, or by what the database wrote."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from plugbay_scheduled_query.core.guard import Rejection

WIDTH = 120  # characters of a line that are shown around a place
BEFORE = 60  # of them at most before it

# texts and comments are one piece each, so that nothing is found inside them
_PIECE = re.compile(
    r"(?P<passed>--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z))"
    r"|\"(?:[^\"]|\"\")*\"|`[^`]*`|\w+|[^\w\s]",
    re.DOTALL,
)
_CARET = re.compile(r"^LINE (?P<line>\d+): (?P<shown>.*)\n(?P<indent> *)\^", re.MULTILINE)
_NEAR_LINE = re.compile(r"near '(?P<near>.+)' at line (?P<line>\d+)", re.DOTALL)  # MariaDB and MySQL
_NEAR = re.compile(r'near "(?P<found>.+?)": syntax error')  # SQLite
_NAMED = re.compile(
    r"no such (?:column|table|function|module): (?P<sqlite>\S+)"
    r"|ambiguous column name: (?P<ambiguous>\S+)"
    r"|Unknown column '(?P<column>[^']+)'|Column '(?P<unclear>[^']+)' in"
    r"|Table '(?:[^'.]+\.)?(?P<table>[^']+)' doesn't exist"
    r"|FUNCTION (?:[^\s.]+\.)?(?P<function>\S+) does not exist"
)


@dataclass(frozen=True, slots=True)
class Place:
    """A character of a text; both count from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


def rejected_at(sql: str, rejection: Rejection) -> Place | None:
    """Where the words stand that broke the guard's rule, if they can be found."""
    found = rejection.found
    if rejection.at is not None:
        return _place(sql, rejection.at)
    if not found:
        return None
    if rejection.rule == "keyword":
        match = re.search(rf"(?<!\w){re.escape(found)}(?!\w)", sql)
        return _place(sql, match.start()) if match else None
    if rejection.rule == "characters" and found.startswith("U+"):
        return _place(sql, sql.find(chr(int(found.replace("U+", "0x"), 0))))
    behind = sql.find(";") + 1 if rejection.rule == "statements" else 0
    return next(_all_places(sql, found, behind), None) or _first(sql, found)


def failed_at(sql: str, message: str) -> Place | None:
    """Where a database says that its error is."""
    if match := _CARET.search(message):
        return _by_caret(sql, match)
    if match := _NEAR_LINE.search(message):
        return _place(sql, sql.find(match["near"], _line_start(sql, int(match["line"]))))
    if match := _NEAR.search(message):  # without a line: only a word that stands once says where
        places = list(_all_places(sql, match["found"]))
        return places[0] if len(places) == 1 else None
    if match := _NAMED.search(message):
        found = next(name for name in match.groups() if name)
        return next(_all_places(sql, found), None)
    return None


def excerpt(sql: str, place: Place) -> str:
    """The line with its number, and below it `^` under the place."""
    line = sql.split("\n")[place.line - 1].rstrip("\r").replace("\t", " ")
    start = max(0, place.column - 1 - BEFORE)
    shown = line[start : start + WIDTH]
    margin = f"{place.line} | "
    indent = sum(_cells(letter) for letter in line[start : place.column - 1])
    return f"{margin}{shown}\n{'| ':>{len(margin)}}{' ' * indent}^"


def with_excerpt(sql: str, message: str, place: Place | None) -> str:
    """A message with the line that it is about, unless the database showed it already."""
    if place is None or _CARET.search(message):
        return message
    return f"{message}\n\n{excerpt(sql, place)}"


def _cells(letter: str) -> int:
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _by_caret(sql: str, match: re.Match[str]) -> Place | None:
    """From the line that a database shows, which it may have cut at both ends."""
    number, shown = int(match["line"]), match["shown"].rstrip("\r")
    lines = sql.split("\n")
    if number > len(lines):
        return None
    line, kept = lines[number - 1].replace("\t", " "), shown.removesuffix("...")
    is_cut = kept.startswith("...") and not line.startswith("...")
    start = line.find(kept.removeprefix("...") if is_cut else kept)
    offset = len(match["indent"]) - len(f"LINE {number}: ") - (3 if is_cut else 0)
    return Place(number, start + offset + 1) if start >= 0 <= offset else None


def _all_places(sql: str, found: str, behind: int = 0) -> Iterator[Place]:
    """Where these words stand, one after the other, outside texts and comments."""
    wanted = [_bare(match[0]) for match in _PIECE.finditer(found)]
    matches = _PIECE.finditer(sql, behind)
    pieces = [(_bare(match[0]), match.start()) for match in matches if not match["passed"]]
    names = [name for name, _ in pieces]
    for index in range(len(names) - len(wanted) + 1):
        if wanted and names[index : index + len(wanted)] == wanted:
            yield Place(*_position(sql, pieces[index][1]))


def _bare(piece: str) -> str:
    return (piece[1:-1] if len(piece) > 1 and piece[0] in '"`' else piece).casefold()


def _first(sql: str, found: str) -> Place | None:
    return _place(sql, sql.find(found))


def _line_start(sql: str, number: int) -> int:
    return sum(len(line) + 1 for line in sql.split("\n")[: number - 1])


def _place(sql: str, offset: int) -> Place | None:
    return Place(*_position(sql, offset)) if offset >= 0 else None


def _position(sql: str, offset: int) -> tuple[int, int]:
    return sql.count("\n", 0, offset) + 1, offset - sql.rfind("\n", 0, offset)
