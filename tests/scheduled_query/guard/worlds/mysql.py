import contextlib
import time
from typing import Any

import pymysql
import sqlalchemy as sa
from pymysql.constants import CLIENT
from scheduled_query.guard.banks import mysql as bank

from .world import Outcome, World

SCHEMA_QUERIES = (
    "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = %s ORDER BY 1",
    "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = %s ORDER BY 1, 2",
    "SELECT index_name FROM information_schema.statistics WHERE table_schema = %s ORDER BY 1",
    "SELECT routine_name FROM information_schema.routines WHERE routine_schema = %s ORDER BY 1",
    "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = %s ORDER BY 1",
    "SELECT event_name FROM information_schema.events WHERE event_schema = %s ORDER BY 1",
)
NO_WAIT = "lock_wait_timeout = 0, innodb_lock_wait_timeout = 0"
PASSING = {"timestamp", "rand_seed1", "rand_seed2", "error_count", "warning_count", "identity"}


class MysqlWorld(World):
    """A database of a real MariaDB, a root's session in it that takes many statements, and a victim."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = sa.make_url(url)
        self.connection, self.other, self.victim = (self._connect() for _ in range(3))
        self._rows(self.connection, bank.SCHEMA)
        self._rows(self.connection, "CREATE USER with_password IDENTIFIED BY 'x'")
        self._connections_before = self._ask("SELECT @@global.max_connections")[0][0]

    def _connect(self) -> "pymysql.Connection[Any]":
        return pymysql.connect(
            unix_socket=self._url.query["unix_socket"],
            user=self._url.username,
            database=self._url.database,
            charset="utf8mb4",
            autocommit=True,
            client_flag=CLIENT.MULTI_STATEMENTS,
            ssl_disabled=True,  # else the machine's certificates are read each time, for 50 ms
        )

    def names(self) -> dict[str, str]:
        return {
            **super().names(),
            "database": str(self._url.database),
            "victim": str(self.victim.thread_id()),
        }

    def run(self, sql: str, limit_s: float | None = None) -> Outcome:
        if limit_s is not None:
            self._rows(self.connection, f"SET max_statement_time = {limit_s}")
        started = time.monotonic()
        try:
            rows, error = self._rows(self.connection, sql), ""
        except pymysql.Error as failure:
            rows, error = [], str(failure)
        return Outcome(rows, error, time.monotonic() - started)

    def _rows(self, connection: "pymysql.Connection[Any]", sql: str) -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            rows = list(cursor.fetchall())
            while cursor.nextset():
                rows = list(cursor.fetchall()) or rows
        return rows

    def _ask(self, sql: str) -> list[Any]:
        return self._rows(self.other, sql)

    def data(self) -> object:
        tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
        return {name: self._ask(f"SELECT * FROM `{name}`") for (name,) in self._ask(tables)}

    def schema(self) -> object:
        name = f"'{self._url.database}'"
        state = self._ask(f"SELECT * FROM {self._url.database}.counter") if self._exists() else []
        return [self._ask(query.replace("%s", name)) for query in SCHEMA_QUERIES], state

    def _exists(self) -> bool:
        return bool(self._ask(f"SHOW DATABASES LIKE '{self._url.database}'"))

    def session(self) -> object:
        variables = {
            name: value
            for name, value in self._rows(self.connection, "SHOW VARIABLES")
            if name not in PASSING
        }
        state = self._rows(self.connection, "SELECT @a, DATABASE(), LAST_INSERT_ID(), @@in_transaction")
        return variables, state, [self._works(probe) for probe in ("EXECUTE x", "SELECT * FROM x")]

    def _works(self, sql: str) -> bool:
        try:
            self._rows(self.connection, sql)
        except pymysql.Error:
            return False
        return True

    def server(self) -> object:
        alive = f"SELECT COUNT(*) FROM information_schema.processlist WHERE id = {self.names()['victim']}"
        queries = (
            "SELECT @@global.max_connections",
            "SELECT User FROM mysql.global_priv ORDER BY 1",
            "SELECT Server_name FROM mysql.servers",
            f"SELECT table_name FROM mysql.table_stats WHERE db_name = '{self._url.database}'",
            alive,
        )
        return [self._ask(query) for query in queries]

    def begin(self) -> None:
        self._rows(self.connection, "START TRANSACTION")

    def is_locked(self) -> bool:
        if self._ask("SELECT IS_USED_LOCK('evil')")[0][0] is not None:
            return True
        try:
            self._ask(f"SET STATEMENT {NO_WAIT} FOR UPDATE orders SET amount = 1")
        except pymysql.err.OperationalError:
            return True
        return False

    def close(self) -> None:
        with contextlib.suppress(pymysql.Error):
            self.connection.close()
        for statement in (
            f"SET GLOBAL max_connections = {self._connections_before}",
            "DROP USER IF EXISTS evil, with_password",
            "DROP ROLE IF EXISTS evil",
            "DROP SERVER IF EXISTS evil",
            f"DROP DATABASE IF EXISTS {self._url.database}",
            f"CREATE DATABASE {self._url.database}",
        ):
            self._ask(statement)
        self.other.close()
        with contextlib.suppress(pymysql.Error):
            self.victim.close()
        super().close()
