"""SQLite: a file opened with `mode=ro`, behind an authorizer that lets nothing but reading through."""

import contextlib
import sqlite3
import stat
import time
from pathlib import Path

from plugbay_scheduled_query.core.errors import SourceError
from plugbay_scheduled_query.dialects.contract import (
    SCHEMA_COLUMN_LIMIT,
    Params,
    Report,
    Rows,
    Session,
    StaleSessionError,
    Table,
    decode_text,
)

BUSY_LIMIT_S = 5  # a writer that holds the file longer than this makes the query fail
STEPS_BETWEEN_LOOKS = 10_000  # virtual machine steps, some tenths of a millisecond
VALUE_LIMIT_BYTES = 64 * 1024 * 1024
PATTERN_LIMIT_BYTES = 1_000  # LIKE and GLOB take time that grows with the square of the pattern

UNFINISHED = "a crash left this file in the middle of a change: open it once with a program that may write"

_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_DENIED_FUNCTIONS = {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "sqlite_log"}
# PRAGMAs that only tell, with a table, an index or nothing as argument; the guard goes by the same lists.
TELLING_PRAGMAS = {
    "collation_list", "compile_options", "foreign_key_check", "foreign_key_list", "function_list",
    "index_info", "index_list", "index_xinfo", "integrity_check", "module_list", "pragma_list",
    "quick_check", "table_info", "table_list", "table_xinfo",
}  # fmt: skip
# PRAGMAs that tell about the file when they have no argument; some change it when they have one.
# FTS asks for data_version and page_size on its own.
BARE_PRAGMAS = {
    "application_id", "data_version", "encoding", "freelist_count", "journal_mode", "page_count",
    "page_size", "schema_version", "user_version",
}  # fmt: skip
_RTREE_PARTS = ("_node", "_rowid", "_parent")
_LIMITS = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LENGTH: VALUE_LIMIT_BYTES,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: PATTERN_LIMIT_BYTES,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_NAMES = """
    SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
    ORDER BY name
"""
_COLUMNS = "SELECT name, type FROM pragma_table_xinfo(?)"


def authorize(
    action: int, first: str | None, second: str | None, schema: str | None, inner: str | None
) -> int:
    """Whether a statement may do what SQLite asks about; everything not named here is denied."""
    if action in _READS:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        return _verdict(second not in _DENIED_FUNCTIONS)
    if action == sqlite3.SQLITE_PRAGMA:
        return _verdict(first in TELLING_PRAGMAS or (first in BARE_PRAGMAS and second is None))
    return _verdict(_is_declaration(action, first))


def _is_declaration(action: int, table: str | None) -> bool:
    # virtual tables (json_each, FTS5, R*Tree) ask for these when declared; mode=ro stops a real write
    if action == sqlite3.SQLITE_UPDATE:
        return table == "sqlite_master"
    is_write = action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_DELETE)
    return is_write and table is not None and table.endswith(_RTREE_PARTS)


def _verdict(is_allowed: bool) -> int:
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


class SqliteSession(Session):
    """A read-only connection to one file."""

    def __init__(self, params: Params) -> None:
        self._path = Path(params.values["path"])
        self._file = _identity(self._path)
        self._deadline = 0.0
        self._is_stopped = False
        self._cursor: sqlite3.Cursor | None = None
        self._connection = sqlite3.connect(
            self._path.as_uri() + "?mode=ro",
            uri=True,
            isolation_level=None,
            timeout=BUSY_LIMIT_S,
            check_same_thread=False,  # the watch thread calls interrupt()
        )
        try:
            self._restrict(params.memory_bytes)
        except BaseException as error:
            self.close()
            if getattr(error, "sqlite_errorname", "") == "SQLITE_READONLY_ROLLBACK":
                raise SourceError(UNFINISHED) from None
            raise

    def _restrict(self, memory_bytes: int) -> None:
        connection = self._connection
        connection.text_factory = decode_text
        for setting in ("query_only = ON", "temp_store = MEMORY", "mmap_size = 0"):
            connection.execute(f"PRAGMA {setting}").close()
        connection.execute(f"PRAGMA hard_heap_limit = {memory_bytes}").close()
        connection.execute("SELECT 1 FROM sqlite_master").close()  # is it a database at all?
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        connection.set_authorizer(authorize)
        connection.set_progress_handler(self._is_over, STEPS_BETWEEN_LOOKS)

    def _is_over(self) -> bool:
        return self._is_stopped or time.monotonic() >= self._deadline

    def begin(self, timeout_s: float) -> None:
        if _identity(self._path) != self._file:
            raise StaleSessionError
        self._is_stopped = False
        self._deadline = time.monotonic() + timeout_s

    def execute(self, sql: str) -> Rows:
        cursor = self._cursor = self._connection.cursor()
        try:
            cursor.execute(sql)
        except sqlite3.DatabaseError as error:
            if str(error) == "not authorized":
                raise SourceError("not authorized: the statement does more than reading") from None
            raise
        if cursor.description is None:
            raise SourceError("the statement returns no rows")
        return Rows([column[0] for column in cursor.description], cursor.fetchmany)

    def cancel(self) -> None:
        self._is_stopped = True
        self._connection.interrupt()

    def is_timeout(self, error: Exception) -> bool:
        return time.monotonic() >= self._deadline

    def reset(self, is_last: bool) -> bool:
        # nothing that the authorizer lets through leaves a trace in the connection but the open cursor
        if self._cursor is not None:
            self._cursor.close()
            self._cursor = None
        return True

    def close(self) -> None:
        self.reset(is_last=True)
        self._connection.close()

    def tables(self) -> list[Table]:
        found: list[Table] = []
        for (name,) in self._connection.execute(_NAMES).fetchall():
            if sum(len(table.columns) for table in found) >= SCHEMA_COLUMN_LIMIT:
                break
            with contextlib.suppress(sqlite3.OperationalError):  # a view on a table that is gone
                found.append(Table("", name, self._connection.execute(_COLUMNS, (name,)).fetchall()))
        return found

    def self_test(self) -> Report:
        return Report(f"SQLite {sqlite3.sqlite_version}, opened read-only")


def _identity(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise SourceError(f"cannot open {path}: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        raise SourceError(f"cannot open {path}: it is not a file")
    return found.st_dev, found.st_ino
