"""History as JSON text, written row by row from what is stored, without objects in between."""

from collections.abc import Callable, Iterator
from json.encoder import encode_basestring as quoted

from plugbay_scheduled_query.api.writing import NO_ROWS, PIECE
from plugbay_scheduled_query.core.times import format_utc
from plugbay_scheduled_query.repository.history_rows import HistoryRow, HistoryRows


def page_text(page: HistoryRows, rest: str) -> str:
    """The whole answer, when no result in it is long; `rest` is the object of its other fields."""
    items = [f"{before(row)}{quoted(row.result or NO_ROWS)}{after(row)}" for row in page.rows]
    return f'{{"data":[{",".join(items)}],{rest[1:]}'


def page_pieces(page: HistoryRows, rest: str, text_of: Callable[[int], str | None]) -> Iterator[str]:
    """The same in pieces: one long result at a time is in memory."""
    yield '{"data":['
    for number, row in enumerate(page.rows):
        yield f"{',' if number else ''}{before(row)}"
        yield from quoted_pieces((text_of(row.left_out) if row.left_out else row.result) or NO_ROWS)
        yield after(row)
    yield f"],{rest[1:]}"


def quoted_pieces(text: str) -> Iterator[str]:
    """A text as JSON writes it, a piece at a time."""
    yield '"'
    for start in range(0, len(text), PIECE):
        yield quoted(text[start : start + PIECE])[1:-1]
    yield '"'


def before(row: HistoryRow) -> str:
    executed_at = format_utc(row.executed_at)
    return f'{{"id":{row.id},"executed_at":"{executed_at}","duration_ms":{row.duration_ms},"result":'


def after(row: HistoryRow) -> str:
    return (
        f',"result_key":{row.result_key or "[]"},"status":"{row.status}"'
        f',"error_message":{_or_null(row.error_message)}'
        f',"monitor_metrics_snapshot":{row.snapshot or "null"}'
        f',"due_at":{_or_null(format_utc(row.due_at))}'
        f',"missed":{row.missed},"attempt":{row.attempt},"trigger":"{row.trigger}"'
        f',"triggered_by":{_or_null(row.triggered_by)},"truncated":{"true" if row.truncated else "false"}}}'
    )


def _or_null(text: str | None) -> str:
    return "null" if text is None else quoted(text)
