import time
from typing import Any

import psycopg
import sqlalchemy as sa
from scheduled_query.guard.banks import postgresql as bank

from .world import Outcome, World

PUBLIC = "(SELECT oid FROM pg_namespace WHERE nspname = 'public')"
SCHEMA_QUERIES = (
    f"SELECT relname, relacl::text, relrowsecurity FROM pg_class WHERE relnamespace = {PUBLIC} ORDER BY 1",
    "SELECT attrelid::regclass::text, attname FROM pg_attribute WHERE attrelid > 16383 ORDER BY 1, 2",
    f"SELECT proname FROM pg_proc WHERE pronamespace = {PUBLIC} ORDER BY 1",
    f"SELECT typname FROM pg_type WHERE typnamespace = {PUBLIC} ORDER BY 1",
    "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY 1",
    "SELECT oid FROM pg_largeobject_metadata ORDER BY 1",
    "SELECT tgname FROM pg_trigger ORDER BY 1",
    "SELECT rulename FROM pg_rules ORDER BY 1",
    "SELECT extname FROM pg_extension ORDER BY 1",
    "SELECT description FROM pg_description WHERE objoid >= 16384",
    "SELECT fdwname FROM pg_foreign_data_wrapper",
    "SELECT sequencename, last_value FROM pg_sequences ORDER BY 1",
    f"SELECT relname, reltuples FROM pg_class WHERE relnamespace = {PUBLIC} ORDER BY 1",
)
SESSION_QUERIES = (
    "SELECT name, setting FROM pg_settings WHERE name NOT IN ('transaction_read_only')",
    "SELECT name FROM pg_prepared_statements",
    "SELECT name FROM pg_cursors WHERE name = 'x'",
    "SELECT * FROM pg_listening_channels()",
    "SELECT relname FROM pg_class WHERE relpersistence = 't'",
)
SERVER_QUERIES = (
    "SELECT rolname FROM pg_roles ORDER BY 1",
    "SELECT slot_name FROM pg_replication_slots",
    "SELECT roname FROM pg_replication_origin",
    "SELECT setconfig FROM pg_db_role_setting",
    "SELECT name, setting FROM pg_file_settings WHERE sourcefile ~ 'auto.conf'",
    "SELECT stats_reset FROM pg_stat_database WHERE datname = current_database()",
    "SELECT pg_snapshot_xmax(pg_current_snapshot())",
    "SELECT pg_current_wal_insert_lsn()",
)

ELSEWHERE = """
CREATE FOREIGN DATA WRAPPER elsewhere;
CREATE SERVER elsewhere FOREIGN DATA WRAPPER elsewhere OPTIONS (password 'of-elsewhere');
CREATE USER MAPPING FOR PUBLIC SERVER elsewhere OPTIONS (password 'of-elsewhere');
CREATE FOREIGN TABLE elsewhere () SERVER elsewhere OPTIONS (password 'of-elsewhere');
CREATE SUBSCRIPTION elsewhere CONNECTION 'password=of-elsewhere' PUBLICATION p
  WITH (connect = false, slot_name = NONE);
"""
RESET = (
    "DROP SCHEMA IF EXISTS public, x CASCADE",
    "SELECT lo_unlink(oid) FROM pg_largeobject_metadata",
    "DROP FOREIGN DATA WRAPPER IF EXISTS x, elsewhere CASCADE",
    "DROP SUBSCRIPTION IF EXISTS elsewhere",
    "DROP EXTENSION IF EXISTS vector",
    "DROP ROLE IF EXISTS evil, with_password",
    "ALTER SYSTEM RESET ALL",
    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = 'evil'",
    "SELECT pg_replication_origin_drop(roname) FROM pg_replication_origin WHERE roname = 'evil'",
)


class PostgresqlWorld(World):
    """A database of a real server, a superuser's session in it, and a victim beside it."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        self.connection, self.other, self.victim = (self._connect() for _ in range(3))
        self.connection.execute("CREATE SCHEMA IF NOT EXISTS public")
        self.connection.execute(bank.SCHEMA)
        self.connection.execute("CREATE ROLE with_password LOGIN PASSWORD 'x'")
        for statement in ELSEWHERE.split(";"):
            self.connection.execute(statement)
        self.other.execute("LISTEN channel")

    def _connect(self) -> "psycopg.Connection[Any]":
        return psycopg.connect(self._url, autocommit=True)

    def names(self) -> dict[str, str]:
        database = str(self.other.info.dbname)
        return {**super().names(), "database": database, "victim": str(self.victim.info.backend_pid)}

    def run(self, sql: str, limit_s: float | None = None) -> Outcome:
        if limit_s is not None:
            self.connection.execute(f"SET statement_timeout = {int(limit_s * 1000)}")
        started = time.monotonic()
        try:
            rows, error = self._rows(sql), ""
        except psycopg.Error as failure:
            rows, error = [], str(failure)
        return Outcome(rows, error, time.monotonic() - started)

    def _rows(self, sql: str) -> list[Any]:
        cursor = self.connection.execute(sql)  # without parameters: as many statements as the text holds
        rows = cursor.fetchall() if cursor.description else []
        while cursor.nextset():
            rows = cursor.fetchall() if cursor.description else rows
        return rows

    def _ask_other(self, *queries: str) -> list[Any]:
        return [self.other.execute(query).fetchall() for query in queries]

    def data(self) -> object:
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
        return {name: self._ask_other(f'SELECT * FROM "{name}"') for (name,) in self._ask_other(tables)[0]}

    def schema(self) -> object:
        return self._ask_other(*SCHEMA_QUERIES)

    def session(self) -> object:
        return [self.connection.execute(query).fetchall() for query in SESSION_QUERIES]

    def server(self) -> object:
        alive = "SELECT count(*) FROM pg_stat_activity WHERE pid = " + self.names()["victim"]
        return self._ask_other(*SERVER_QUERIES, alive)

    def begin(self) -> None:
        self.connection.execute("BEGIN")

    def is_locked(self) -> bool:
        held = "locktype = 'advisory' OR (relation = 'orders'::regclass AND mode <> 'AccessShareLock')"
        mine = f"SELECT count(*) FROM pg_locks WHERE pid = {self.connection.info.backend_pid} AND ({held})"
        return bool(self._ask_other(mine)[0][0][0])

    def was_reached(self) -> bool:
        deadline = time.monotonic() + 60
        while not (self.door.is_open or any(self.other.notifies(timeout=0.1, stop_after=1))):
            if time.monotonic() > deadline:
                return False
        return True

    def close(self) -> None:
        self.connection.close()
        self.victim.close()
        for statement in RESET:
            self.other.execute(statement)
        self.other.execute(f"ALTER DATABASE {self.other.info.dbname} RESET ALL")
        self.other.close()
        super().close()
