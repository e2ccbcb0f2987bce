"""PostgreSQL: each statement in a read-only transaction; what Python's types would lose comes as text."""

import contextlib
import math
import re
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import psycopg
from psycopg import generators, pq
from psycopg.adapt import AdaptersMap, Loader, Transformer
from psycopg.rows import tuple_row

from plugbay_scheduled_query.core.errors import SourceError
from plugbay_scheduled_query.dialects.contract import (
    CANCEL_LIMIT_S,
    SCHEMA_COLUMN_LIMIT,
    JsonText,
    NumberText,
    Params,
    Report,
    Rows,
    Session,
    StaleSessionError,
    Table,
    decode_text,
    group_columns,
    iso_text,
)
from plugbay_scheduled_query.dialects.postgresql.account import (
    TABLES_SQL,
    can_read_secret_settings,
    refuse_own_store,
    test_account,
)
from plugbay_scheduled_query.dialects.postgresql.resolution import Resolution

IDLE_GRACE_S = 5  # after the time limit: a runner that hangs in mid-result does not hold its transaction
CLOCK_SLACK_S = 0.05  # between the server's clock and ours
CHECK_CLIENT = "client_connection_check_interval"
CHUNKED_ROWS_SINCE = 170000
CHUNK_ROWS = 20  # few, because a chunk is held whole, however long its cells are

SETTINGS_HIDDEN = (
    "this account can read passwords among the settings of the server: ask for one by its name (SHOW x),"
    " or use a role that is no member of pg_monitor or pg_read_all_settings"
)
_ALL_SETTINGS = re.compile(r"\bpg_settings\b|\bpg_show_all_settings\b", re.IGNORECASE)
_SHOW_ALL = ["name", "setting", "description"]  # its columns

_ALWAYS = {
    "application_name": "plugbay",
    "client_encoding": "UTF8",
    "keepalives_idle": 10,  # s
    "tcp_user_timeout": 10_000,  # ms: a peer that vanished is noticed
}

# an interval has months, a date can be BC or infinite, a range can be empty: Python's types know none of it
_AS_TEXT = ("interval", "inet", "cidr", "uuid")
_AS_ISO = ("date", "time", "timetz", "timestamp", "timestamptz")
_AS_JSON = ("json", "jsonb")
_RANGES = ("int4", "int8", "num", "date", "ts", "tstz")
# 0 stands for every type without a loader of its own, 705 for a literal without a type
_CHARACTERS = (0, 705, "text", "varchar", "bpchar", "name")


_UNDO = "ROLLBACK; SELECT pg_catalog.pg_advisory_unlock_all()"  # an owner's view may have taken one

# a process id comes back, so a session is known by when it began, too
_MARK_SQL = """
    SELECT pid || ' ' || extract(epoch FROM backend_start) FROM pg_catalog.pg_stat_activity
    WHERE pid = pg_catalog.pg_backend_pid()
"""
_END_SQL = """
    SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity
    WHERE pid || ' ' || extract(epoch FROM backend_start) = %s
"""


class PostgresqlSession(Session):
    """A session that runs each statement as if it were the first."""

    def __init__(self, params: Params) -> None:
        self._deadline = 0.0
        self._connection = _connect(params)
        try:
            refuse_own_store(self._connection, params.values.get("store"))
            self._hides_settings = can_read_secret_settings(self._connection)
            self._resolution = Resolution(self._connection)
            self._settings = _settings(self._connection)
            self.mark = _mark(self._connection)
        except BaseException:
            self.close()
            raise

    def begin(self, timeout_s: float) -> None:
        self._deadline = time.monotonic() + timeout_s
        limit = math.ceil(timeout_s * 1000)
        idle = limit + IDLE_GRACE_S * 1000
        limits = {"statement_timeout": limit, "idle_in_transaction_session_timeout": idle, **self._settings}
        lines = (f"SET LOCAL {name} = {value}" for name, value in limits.items())
        is_idle = self._connection.pgconn.transaction_status == pq.TransactionStatus.IDLE
        begin = "BEGIN READ ONLY" if is_idle else f"{_UNDO}; BEGIN READ ONLY"
        try:
            self._connection.execute("; ".join((begin, *lines)))
        except psycopg.OperationalError:
            raise StaleSessionError from None

    def execute(self, sql: str) -> Rows:
        self._resolution.check(sql, self.allowed_functions)
        form = self._form(sql)
        if form.nfields == 0:  # known before it runs: COPY, DO, SET and all that acts instead of answering
            raise SourceError("the statement returns no rows")
        if self._hides_settings and (_ALL_SETTINGS.search(sql) or _names(form) == _SHOW_ALL):
            raise SourceError(SETTINGS_HIDDEN)
        results = self._results()
        first = next(results)
        return Rows(_names(first), _RowReader(self._connection, first, results).fetch)

    def _form(self, sql: str) -> pq.abc.PGresult:
        """Hands a statement to the server, and asks what it returns; both in one trip."""
        link, wait = self._connection.pgconn, self._connection.wait
        link.enter_pipeline_mode()
        try:
            link.send_prepare(b"", sql.encode())  # unlike execute(): the extended protocol, one statement
            link.send_describe_prepared(b"")
            link.pipeline_sync()
            wait(generators.send(link))
            results: list[pq.abc.PGresult] = [wait(generators.fetch_many(link))[0] for _ in range(3)]
        finally:
            with contextlib.suppress(psycopg.OperationalError):  # a link that broke has said so
                link.exit_pipeline_mode()
        for result in results:
            if result.status == pq.ExecStatus.FATAL_ERROR:
                raise psycopg.errors.error_from_result(result, encoding="utf-8")
        return results[1]

    def _results(self) -> Iterator[pq.abc.PGresult]:
        link = self._connection.pgconn
        link.send_query_prepared(b"", None)
        if pq.version() >= CHUNKED_ROWS_SINCE:
            link.set_chunked_rows_mode(CHUNK_ROWS)
        else:
            link.set_single_row_mode()
        self._connection.wait(generators.send(link))
        while (result := self._next_result()) is not None:
            if result.status == pq.ExecStatus.FATAL_ERROR:
                error = psycopg.errors.error_from_result(result, encoding="utf-8")
                with contextlib.suppress(psycopg.Error):
                    self._connection.wait(generators.fetch(link))  # the end, so that the session can go on
                raise _named(error)
            yield result

    def _next_result(self) -> pq.abc.PGresult | None:
        result: pq.abc.PGresult | None
        try:
            result = self._connection.wait(generators.fetch(self._connection.pgconn))
        except psycopg.OperationalError as error:
            raise _named(error) from None
        return result

    def cancel(self) -> None:
        self._connection.cancel_safe(timeout=CANCEL_LIMIT_S)

    @property
    def is_at_rest(self) -> bool:
        status = self._connection.pgconn.transaction_status
        return status not in (pq.TransactionStatus.ACTIVE, pq.TransactionStatus.UNKNOWN)

    def end(self, mark: str) -> bool:
        return self._connection.execute(_END_SQL, (mark,)).fetchone() is not None

    def is_timeout(self, error: Exception) -> bool:
        # the message says so too, but in the language of the server
        is_late = time.monotonic() >= self._deadline - CLOCK_SLACK_S
        return is_late and isinstance(error, psycopg.errors.QueryCanceled)

    def reset(self, is_last: bool) -> bool:
        if self._is_midway():
            return False  # a new session is cheaper than reading to the end
        # what the guard lets through leaves nothing but locks outside its transaction, and `begin` undoes
        # both; what an operator lets through may leave more
        if is_last or self.allowed_functions:
            self._connection.execute("ROLLBACK")
            self._connection.execute("DISCARD ALL")
        return True

    def close(self) -> None:
        if self._is_midway():
            with contextlib.suppress(psycopg.Error):
                self.cancel()
        self._connection.close()

    def _is_midway(self) -> bool:
        return self._connection.pgconn.transaction_status == pq.TransactionStatus.ACTIVE

    def tables(self) -> list[Table]:
        return group_columns(self._connection.execute(TABLES_SQL, (SCHEMA_COLUMN_LIMIT,)))

    def self_test(self) -> Report:
        return test_account(self._connection)


class _RowReader:
    """The rows of a result, made into Python's values no sooner than they are asked for."""

    def __init__(
        self, connection: "psycopg.Connection[Any]", first: pq.abc.PGresult, rest: Iterator[pq.abc.PGresult]
    ) -> None:
        self._transformer = Transformer(connection)
        self._transformer.set_pgresult(first)
        self._part, self._at, self._rest = first, 0, rest

    def fetch(self, count: int) -> list[Any]:
        while self._at >= self._part.ntuples:
            following = next(self._rest, None)
            if following is None:
                return []
            self._transformer.set_pgresult(following, set_loaders=False)
            self._part, self._at = following, 0
        start, self._at = self._at, min(self._at + count, self._part.ntuples)
        return self._transformer.load_rows(start, self._at, tuple)


def _names(result: pq.abc.PGresult) -> list[str]:
    return [(result.fname(i) or b"").decode("utf-8", "replace") for i in range(result.nfields)]


def _named(error: psycopg.Error) -> Exception:
    # without a code it is not the server that speaks, but the library in this process
    return MemoryError() if error.sqlstate is None and "memory" in str(error) else error


def _connect(params: Params) -> "psycopg.Connection[Any]":
    options = {**_ALWAYS, **params.values["connect"], "connect_timeout": math.ceil(params.connect_s)}
    return psycopg.connect(
        **options, autocommit=True, prepare_threshold=None, row_factory=tuple_row, context=_Context()
    )


class _Context:
    """What psycopg calls an adapt context: the loaders that a connection starts with."""

    connection = None

    @property
    def adapters(self) -> AdaptersMap:
        return adapters()


def _mark(connection: "psycopg.Connection[Any]") -> str:
    row = connection.execute(_MARK_SQL).fetchone()
    return row[0] if row else ""


def _settings(connection: "psycopg.Connection[Any]") -> dict[str, str]:
    settings = {"datestyle": "ISO", "extra_float_digits": "3", **_search_path(connection)}
    if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
        register_lenient_text(connection.adapters)
        settings["client_encoding"] = "SQL_ASCII"  # text without a known encoding comes as it is
    with contextlib.suppress(psycopg.DatabaseError):  # before version 14, and on some systems, it cannot
        connection.execute(f"SET {CHECK_CLIENT} = 1000")
        settings[CHECK_CLIENT] = "1000"  # ms: a runner that is gone ends its query
    return settings


def _search_path(connection: "psycopg.Connection[Any]") -> dict[str, str]:
    """The server's own functions come first: they do unless a path names their schema in another place."""
    [[path]] = connection.execute("SELECT pg_catalog.current_setting('search_path')").fetchall()
    kept = [schema for part in path.split(",") if (schema := part.strip()).strip('"') != "pg_catalog"]
    return {"search_path": ", ".join(kept) or "''"} if "pg_catalog" in path else {}


@cache
def adapters() -> AdaptersMap:
    """The loaders of our sessions; arrays of these types follow their elements."""
    found = AdaptersMap(psycopg.adapters)
    for kind in (*_AS_TEXT, *(f"{part}{kind}" for part in _RANGES for kind in ("range", "multirange"))):
        found.register_loader(kind, TextLoader)
    for kind in _AS_ISO:
        found.register_loader(kind, IsoLoader)
    for kind in _AS_JSON:
        found.register_loader(kind, JsonLoader)
    found.register_loader("numeric", NumericLoader)
    return found


def register_lenient_text(map_of_connection: AdaptersMap) -> None:
    """For a database without an encoding, whose text may be any bytes."""
    for kind in _CHARACTERS:
        map_of_connection.register_loader(kind, TextLoader)


class TextLoader(Loader):
    """The text as the server wrote it."""

    def load(self, data: Any) -> Any:
        return decode_text(bytes(data))


class IsoLoader(Loader):
    """A date or time in ISO 8601."""

    def load(self, data: Any) -> Any:
        return iso_text(bytes(data).decode("ascii"))


class NumericLoader(Loader):
    """A number with every digit."""

    def load(self, data: Any) -> Any:
        return NumberText(bytes(data).decode("ascii"))


class JsonLoader(Loader):
    """JSON that stays the text it is."""

    def load(self, data: Any) -> Any:
        return JsonText(decode_text(bytes(data)))
