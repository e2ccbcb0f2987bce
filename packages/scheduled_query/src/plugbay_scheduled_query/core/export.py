"""Results to take away: CSV that a spreadsheet cannot run, and JSON."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from plugbay_scheduled_query.core.numbers import number_in
from plugbay_scheduled_query.core.result_text import iter_rows

CHUNK = 32_000  # characters handed on at a time: a line each would cost more than the line

# a spreadsheet takes a cell that begins like this for a formula; the wide forms are for East Asian ones
_FORMULA = re.compile(r"\s*[=+\-@\t\r\n＝＋－＠]")
_NEEDS_QUOTES = re.compile(r'[",;\t\r\n]|^\s|\s$|^$')
_PLAIN = re.compile(r"\w(?:[\w .:/-]*\w)?")  # most cells: nothing in them to look at twice


def csv_chunks(columns: Sequence[str], text: str) -> Iterator[str]:
    """The result as RFC 4180 CSV with a header line, row by row."""
    return _in_chunks(_csv_line(row) for row in chain([columns], iter_rows(text)))


def json_chunks(columns: Sequence[str], text: str) -> Iterator[str]:
    """The result as one JSON object, `columns` and `rows`, so that columns of one name survive."""
    yield f'{{"columns": {json.dumps(list(columns))}, "rows": '
    for start in range(0, len(text), CHUNK):
        yield text[start : start + CHUNK]
    yield "}"


def _csv_line(row: Sequence[object]) -> str:
    # an empty line would be no row at all
    return (",".join(map(_csv_cell, row)) or '""') + "\r\n"


def _csv_cell(cell: object) -> str:
    if isinstance(cell, str):
        return cell if _PLAIN.fullmatch(cell) else _quote(_harmless(cell))
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, list | dict):
        return _quote(json.dumps(cell, ensure_ascii=False, default=str))
    return str(cell)


def _harmless(text: str) -> str:
    """An apostrophe before what would be a formula; a negative number is none."""
    return f"'{text}" if _FORMULA.match(text) and number_in(text) is None else text


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def _in_chunks(pieces: Iterable[str]) -> Iterator[str]:
    chunk: list[str] = []
    size = 0
    for piece in pieces:
        chunk.append(piece)
        size += len(piece)
        if size >= CHUNK:
            yield "".join(chunk)
            chunk, size = [], 0
    if chunk:
        yield "".join(chunk)
