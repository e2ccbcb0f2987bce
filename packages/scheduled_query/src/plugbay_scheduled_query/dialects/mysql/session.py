"""MariaDB and MySQL: one statement in a read-only transaction, stopped from a second connection.

Below the session: what its account can do, and its values.
"""

import contextlib
import re
import struct
from collections.abc import Iterable
from typing import Any

import pymysql
from pymysql.constants import CLIENT, FIELD_TYPE
from pymysql.converters import conversions
from pymysql.cursors import SSCursor

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
    group_columns,
    iso_text,
)
from plugbay_scheduled_query.dialects.mysql.resolution import Resolution

COM_STMT_PREPARE = 0x16
COM_STMT_CLOSE = 0x19
COM_RESET_CONNECTION = 0x1F
NO_SUCH_THREAD = 1094
TIMEOUT_ERRORS = {1969, 3024}  # MariaDB's max_statement_time, MySQL's max_execution_time

TABLES_SQL = """
    SELECT table_schema, table_name, column_name, column_type FROM information_schema.columns
    WHERE table_schema NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys')
    ORDER BY table_schema, table_name, ordinal_position LIMIT %s
"""

HARMLESS_RIGHTS = {
    "USAGE",
    "SELECT",
    "SHOW DATABASES",
    "SHOW VIEW",
    "PROCESS",
    "REPLICATION CLIENT",
    "BINLOG MONITOR",
}

READER = "plugbay_reader"

_SHOW = re.compile(r"\s*SHOW\b", re.IGNORECASE)  # some of these are counted as 0
_GRANT = re.compile(r"GRANT (?P<rights>.+?) ON (?P<place>.+?) TO ", re.IGNORECASE)
_COLUMN_LIST = re.compile(r"\([^)]*\)")

_GEOMETRIES = (
    "POINT",
    "LINESTRING",
    "POLYGON",
    "MULTIPOINT",
    "MULTILINESTRING",
    "MULTIPOLYGON",
    "GEOMETRYCOLLECTION",
)
_SRID_BYTES = 4  # MySQL puts the reference system before the geometry
_GEOMETRY_NESTING_LIMIT = 32


class MysqlSession(Session):
    """A session that is reset by the protocol's own command after each statement."""

    outlives_client = True

    def __init__(self, params: Params) -> None:
        self._params = params
        self._connection: Any = _connect(params, params.connect_s)
        self._connection._read_timeout = None
        self._number = int(self._connection.thread_id())
        self.mark = str(self._number)
        self._resolution = Resolution(self._connection)
        self._cursor: Any = None
        self._is_clean = True
        self._is_midway = False

    def begin(self, timeout_s: float) -> None:
        try:
            settings = session_settings(self._connection.get_server_info(), timeout_s)
            self._command(f"SET NAMES utf8mb4, {settings}")
            self._command("START TRANSACTION READ ONLY")
        except (pymysql.OperationalError, pymysql.InterfaceError, OSError):
            raise StaleSessionError from None

    def _command(self, sql: str) -> None:
        self._connection.query(sql)

    def execute(self, sql: str) -> Rows:
        self._is_clean = False
        self._resolution.check(sql, self.allowed_functions)
        if self._count_columns(sql) == 0 and _SHOW.match(sql) is None:
            raise SourceError("the statement returns no rows")
        cursor = self._cursor = self._connection.cursor(SSCursor)
        cursor.execute(sql)
        if cursor.description is None:
            raise SourceError("the statement returns no rows")
        return Rows([str(column[0]) for column in cursor.description], self._fetch)

    def _count_columns(self, sql: str) -> int:
        """Have the server prepare a statement and throw it away: 0 for all that acts instead of answering."""
        connection = self._connection
        connection._execute_command(COM_STMT_PREPARE, sql)
        answer = connection._read_packet()
        answer.read_uint8()
        statement, columns, marks = answer.read_uint32(), answer.read_uint16(), answer.read_uint16()
        for count in filter(None, (marks, columns)):
            for _ in range(count + 1):  # a description each, and the end
                connection._read_packet()
        connection._execute_command(COM_STMT_CLOSE, struct.pack("<I", statement))  # has no answer
        return int(columns)

    def _fetch(self, count: int) -> list[Any]:
        rows = list(self._cursor.fetchmany(count))
        self._is_midway, self._is_clean = bool(rows), not rows
        return rows

    @property
    def is_at_rest(self) -> bool:
        return not self._is_midway and bool(self._connection.open)

    def cancel(self) -> None:
        with contextlib.closing(_connect(self._params, CANCEL_LIMIT_S)) as second:
            _kill(second, "QUERY", self._number)

    def end(self, mark: str) -> bool:
        return _kill(self._connection, "CONNECTION", int(mark))

    def is_timeout(self, error: Exception) -> bool:
        return isinstance(error, pymysql.MySQLError) and bool(error.args) and error.args[0] in TIMEOUT_ERRORS

    def reset(self, is_last: bool) -> bool:
        if not self._is_clean:
            return False  # in mid-result, or after an error: a new session is the sure way
        self._connection._execute_command(COM_RESET_CONNECTION, b"")
        self._connection._read_ok_packet()
        return True

    def close(self) -> None:
        if self._is_midway:
            with contextlib.suppress(pymysql.MySQLError, OSError):
                self.cancel()
        if self._cursor is not None:
            _abandon(self._cursor)
        self._connection._force_close()

    def tables(self) -> list[Table]:
        with self._connection.cursor() as cursor:
            cursor.execute(TABLES_SQL, (SCHEMA_COLUMN_LIMIT,))
            return group_columns(cursor.fetchall())

    def self_test(self) -> Report:
        return test_account(self._connection)


def _connect(params: Params, limit_s: float) -> Any:
    return pymysql.connect(
        **params.values["connect"],
        charset="utf8mb4",
        autocommit=True,
        conv=_CONVERSIONS,
        connect_timeout=limit_s,
        read_timeout=limit_s,
        local_infile=False,
        client_flag=CLIENT.CAPABILITIES & ~CLIENT.MULTI_STATEMENTS & ~CLIENT.LOCAL_FILES,
        program_name="plugbay",
    )


def _kill(connection: Any, what: str, number: int) -> bool:
    """Stop a statement or a session of this account; whether it was there."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW PROCESSLIST")
        # behind a balancer this may be another server, where the number is somebody else's
        if not any(row[0] == number and row[1] == _name(connection) for row in cursor.fetchall()):
            return False
        try:
            cursor.execute(f"KILL {what} {number}")
        except pymysql.MySQLError as error:
            if error.args[0] == NO_SUCH_THREAD:
                return False
            raise
    return True


def session_settings(server: str, timeout_s: float) -> str:
    """What makes a session read-only and limits its statements, in the words of this server."""
    # DDL ends a transaction before it runs, so the session must be read-only too
    if "MariaDB" in server:
        return f"SESSION tx_read_only = ON, SESSION max_statement_time = {timeout_s:.3f}"
    return (
        f"SESSION transaction_read_only = ON, SESSION max_execution_time = {max(1, round(timeout_s * 1000))}"
    )


def _name(connection: Any) -> str:
    return str(connection.user.decode())


def _abandon(cursor: Any) -> None:
    # left alone, a cursor reads its result to the end before it goes, however long that is
    result, cursor._result = cursor._result, None
    if result is not None:
        result.unbuffered_active = False
    cursor.connection = None


def test_account(connection: Any) -> Report:
    """The account's rights beyond reading, in plain words."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT VERSION(), DATABASE()")
        version, database = cursor.fetchone()
        cursor.execute("SHOW GRANTS")
        warnings = grant_warnings(row[0] for row in cursor.fetchall())
    server = f"MariaDB {version}" if "MariaDB" in version else f"MySQL {version}"
    return Report(server, warnings, _reader_statements(database) if warnings else ())


def grant_warnings(grants: Iterable[str]) -> list[str]:
    """One sentence for each grant that allows more than reading."""
    found = []
    for grant in grants:
        if match := _GRANT.match(grant):
            rights = {right.strip().upper() for right in _COLUMN_LIST.sub("", match["rights"]).split(",")}
            if extra := sorted(rights - HARMLESS_RIGHTS):
                found.append(_sentence(extra, match["place"]))
    return found


def _sentence(rights: list[str], place: str) -> str:
    shown = ", ".join(rights[:5]) + (", …" if len(rights) > 5 else "")
    return f"this account can write ({shown} on {place}): use a SELECT-only account"


def _reader_statements(database: str | None) -> list[str]:
    place = "`" + (database or "your_database").replace("`", "``") + "`"
    return [
        f"CREATE USER '{READER}'@'%' IDENTIFIED BY '…';",
        f"GRANT SELECT, SHOW VIEW ON {place}.* TO '{READER}'@'%';",
    ]


def _integer(raw: bytes) -> int:
    return int.from_bytes(raw, "big")


def geometry_text(raw: bytes) -> str:
    """A binary geometry as `POINT(1 2)` and the like, with its `SRID=…;` if set; hex when unreadable."""
    try:
        srid = struct.unpack_from("<I", raw)[0]
        text = _GeometryReader(raw, _SRID_BYTES).geometry()
    except (struct.error, IndexError):
        return raw.hex()
    return f"SRID={srid};{text}" if srid else text


class _GeometryReader:
    """A place in the bytes that moves on as it reads."""

    def __init__(self, raw: bytes, at: int) -> None:
        self._raw, self._at, self._order = raw, at, "<"

    def geometry(self, depth: int = 0) -> str:
        name, body = self._named_body(depth)
        return f"{name}{body}"

    def _named_body(self, depth: int) -> tuple[str, str]:
        if depth > _GEOMETRY_NESTING_LIMIT:
            raise IndexError
        self._order = "<" if self._take("B") else ">"
        name = _GEOMETRIES[self._take("I") - 1]
        return name, self._body(name, depth)

    def _body(self, name: str, depth: int) -> str:
        if name == "POINT":
            return f"({self._point()})"
        if name == "LINESTRING":
            return self._line()
        if name == "POLYGON":
            return f"({','.join([self._line() for _ in range(self._take('I'))])})"
        if name == "GEOMETRYCOLLECTION":
            return f"({','.join([self.geometry(depth + 1) for _ in range(self._take('I'))])})"
        return f"({','.join([self._named_body(depth + 1)[1] for _ in range(self._take('I'))])})"

    def _line(self) -> str:
        return f"({','.join([self._point() for _ in range(self._take('I'))])})"

    def _point(self) -> str:
        return " ".join(repr(value).removesuffix(".0") for value in self._take("dd"))

    def _take(self, form: str) -> Any:
        found = struct.unpack_from(self._order + form, self._raw, self._at)
        self._at += struct.calcsize(self._order + form)
        return found if len(found) > 1 else found[0]


# dates stay text, because 0000-00-00 and 839 hours are values here
_CONVERSIONS: Any = {
    **conversions,
    FIELD_TYPE.BIT: _integer,
    FIELD_TYPE.DATE: str,
    FIELD_TYPE.DATETIME: iso_text,
    FIELD_TYPE.DECIMAL: NumberText,
    FIELD_TYPE.GEOMETRY: geometry_text,
    FIELD_TYPE.JSON: JsonText,
    FIELD_TYPE.NEWDECIMAL: NumberText,
    FIELD_TYPE.TIME: str,
    FIELD_TYPE.TIMESTAMP: iso_text,
}
