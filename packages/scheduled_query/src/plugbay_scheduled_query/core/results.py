"""Results as text, a JSON array of rows in the order of the columns: read, previewed, taken away."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import chain, islice
from typing import Any, NamedTuple

from plugbay_scheduled_query.core.metric import number_in
from plugbay_scheduled_query.core.text import cell_text

PREVIEW_ROWS = 50
PREVIEW_BYTES = 64_000
SHORT_CELL = 200  # characters, where a single row would not fit into a preview
CHUNK = 32_000  # characters handed on at a time: a line each would cost more than the line

# decimals come back digit by digit, as they were stored
_DECODER = json.JSONDecoder(parse_float=Decimal)
_BETWEEN_ROWS = " \t\r\n,"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# a spreadsheet takes a cell that begins like this for a formula; the wide forms are for East Asian ones
_FORMULA = re.compile(r"\s*[=+\-@\t\r\n＝＋－＠]")
_NEEDS_QUOTES = re.compile(r'[",;\t\r\n]|^\s|\s$|^$')
_PLAIN = re.compile(r"\w(?:[\w .:/-]*\w)?")  # most cells: nothing in them to look at twice


class Preview(NamedTuple):
    """The beginning of a result, small enough for a page, as the text of a result itself."""

    text: str
    is_whole: bool


def iter_rows(text: str) -> Iterator[list[Any]]:
    """The rows of a result, decoded one at a time."""
    return (row for row, _ in rows_with_source(text))


def read_rows(text: str, limit: int | None = None) -> list[list[Any]]:
    """The first rows of a result, or all of them."""
    return list(islice(iter_rows(text), limit))


def all_rows(text: str) -> list[list[Any]]:
    """Every row at once, which is quicker where none can be spared."""
    rows: list[list[Any]] = _DECODER.decode(text)
    return _without_surrogates(rows) if "\\ud" in text else rows


def preview(text: str) -> Preview:
    """The first 50 rows, or as many of them as fit into 64 kB."""
    kept: list[str] = []
    room = PREVIEW_BYTES - 2
    for row, source in islice(rows_with_source(text), PREVIEW_ROWS + 1):
        room -= _size(source) + 2
        if room < 0 or len(kept) == PREVIEW_ROWS:
            return Preview(_join(kept or _shortened(row)), is_whole=False)
        kept.append(source)
    return Preview(_join(kept), is_whole=True)


def beginning(text: str, rows: int, characters: int) -> str:
    """The first rows, as the text of a result itself."""
    kept: list[str] = []
    for _, source in islice(rows_with_source(text), rows):
        characters -= len(source) + 1
        if characters < 0:
            break
        kept.append(source)
    return _join(kept)


def rows_so_far(text: str) -> Iterator[list[Any]]:
    """The rows of a text that may have been cut anywhere."""
    try:
        yield from iter_rows(text)
    except (IndexError, ValueError):
        return


def csv_chunks(columns: Sequence[str], text: str) -> Iterator[str]:
    """The result as RFC 4180 CSV with a header line, row by row."""
    return _in_chunks(_csv_line(row) for row in chain([columns], iter_rows(text)))


def json_chunks(columns: Sequence[str], text: str) -> Iterator[str]:
    """The result as one JSON object, `columns` and `rows`, so that columns of one name survive."""
    yield f'{{"columns": {json.dumps(list(columns))}, "rows": '
    for start in range(0, len(text), CHUNK):
        yield text[start : start + CHUNK]
    yield "}"


def rows_with_source(text: str) -> Iterator[tuple[list[Any], str]]:
    """Each row with the piece of text that it was read from."""
    position = 1
    while True:
        while text[position] in _BETWEEN_ROWS:
            position += 1
        if text[position] == "]":
            return
        row, end = _DECODER.raw_decode(text, position)
        source = text[position:end]
        yield (_without_surrogates(row) if "\\ud" in source else row), source
        position = end


def _without_surrogates(value: Any) -> Any:
    """Text that a database did not check can hold half a character, which no page or file can."""
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


def _join(rows: list[str]) -> str:
    return f"[{','.join(rows)}]"


def _shortened(row: list[Any]) -> list[str]:
    """A row that alone is too long, with its long cells cut, or nothing if it is too wide even then."""
    cells = [cell[:SHORT_CELL] if isinstance(cell, str) else cell for cell in row]
    text = json.dumps(cells, default=str)
    return [text] if _size(text) < PREVIEW_BYTES - 2 else []


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _csv_line(row: Sequence[object]) -> str:
    # an empty line would be no row at all
    return (",".join(map(_csv_cell, row)) or '""') + "\r\n"


def _csv_cell(cell: object) -> str:
    if isinstance(cell, str):
        return cell if _PLAIN.fullmatch(cell) else _quote(_harmless(cell))
    return _quote(cell_text(cell)) if isinstance(cell, list | dict) else cell_text(cell)


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
