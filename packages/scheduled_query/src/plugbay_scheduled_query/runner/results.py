"""Send a result as JSON text while it is read, and stop at the first limit it meets."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from plugbay_scheduled_query.dialects.session import Answer
from plugbay_scheduled_query.dialects.values import CUT_MARK, RowEncoder
from plugbay_scheduled_query.runner.protocol import pack_rows

FLUSH_BYTES = 64 * 1024
FIRST_ROWS = 8  # few, until it is known how long a row is
MOST_ROWS = 500
NAME_LIMIT = 1000  # characters of a column's name: SQLite names a column after its whole expression


@dataclass(frozen=True)
class Caps:
    """How much of a result is kept; what is cut makes it `truncated`, not a failure."""

    rows: int = 10_000
    columns: int = 1_000
    cell_bytes: int = 65_536
    result_bytes: int = 10_000_000

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


class ResultWriter:
    """Turns one answer into frames; `rest` is what is left to send with the final frame."""

    def __init__(self, caps: Caps, send: Callable[[bytes], None]) -> None:
        self._caps = caps
        self._send = send
        self._encoder = RowEncoder(caps.cell_bytes)
        self._buffer = bytearray(b"[")
        self._sent_bytes = 0
        self._has_stopped = False
        self._has_lost_columns = False
        self.columns: list[str] = []
        self.row_count = 0

    @property
    def is_truncated(self) -> bool:
        """Whether anything was left out."""
        return self._has_stopped or self._has_lost_columns or self._encoder.has_cut

    def write(self, answer: Answer) -> None:
        """Read and send the rows, to the last one or to the first limit."""
        self.columns = [_shorten(name) for name in answer.columns[: self._caps.columns]]
        self._has_lost_columns = len(answer.columns) > self._caps.columns
        count = FIRST_ROWS
        while not self._has_stopped and (rows := answer.fetch(count)):
            before = self._bytes
            self._add(rows)
            count = max(1, min(MOST_ROWS, FLUSH_BYTES * len(rows) // max(1, self._bytes - before)))

    def rest(self) -> bytes:
        """The last frames of rows."""
        return pack_rows(bytes(self._buffer) + b"]")

    @property
    def _bytes(self) -> int:
        return self._sent_bytes + len(self._buffer)

    def _add(self, rows: Sequence[Sequence[Any]]) -> None:
        room = self._caps.rows - self.row_count
        if len(rows) > room:
            self._has_stopped, rows = True, rows[:room]
        if self._has_lost_columns:
            rows = [row[: self._caps.columns] for row in rows]
        encoded = self._encoder.encode_rows(rows)
        if encoded is not None and self._fits(encoded):
            self._append(encoded, len(rows))
        else:
            self._add_one_by_one(rows)

    def _add_one_by_one(self, rows: Sequence[Sequence[Any]]) -> None:
        for row in rows:
            encoded = self._encoder.encode_row(row)
            if not self._fits(encoded):
                self._has_stopped = True
                return
            self._append(encoded, 1)

    def _fits(self, encoded: bytes) -> bool:
        return self._bytes + len(encoded) + len(",]") <= self._caps.result_bytes

    def _append(self, encoded: bytes, row_count: int) -> None:
        if row_count == 0:
            return
        if self.row_count:
            self._buffer += b","
        self._buffer += encoded
        self.row_count += row_count
        if len(self._buffer) >= FLUSH_BYTES:
            self._send(pack_rows(bytes(self._buffer)))
            self._sent_bytes += len(self._buffer)
            self._buffer.clear()


def _shorten(name: str) -> str:
    return name if len(name) <= NAME_LIMIT else name[: NAME_LIMIT - 1] + CUT_MARK
