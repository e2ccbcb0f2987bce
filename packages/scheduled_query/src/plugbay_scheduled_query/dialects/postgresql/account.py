"""What a PostgreSQL account can do: the self-test, and the refusal to read the product's own tables."""

from collections.abc import Mapping
from typing import Any

import psycopg

from plugbay_scheduled_query.core.errors import SourceRefusedError
from plugbay_scheduled_query.core.source import IDENTITY_SQL
from plugbay_scheduled_query.dialects.contract import Report

TABLES_SQL = """
    SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
      AND has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
    ORDER BY n.nspname, c.relname, a.attnum LIMIT %s
"""
_READABLE_SQL = """
    SELECT format('%%I.%%I', n.nspname, c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = ANY(%s) AND c.relkind IN ('r', 'p') AND n.nspname !~ '^(pg_|information_schema)'
      AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'))
    ORDER BY 1
"""
_WRITABLE_SQL = """
    SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'f') AND n.nspname !~ '^(pg_|information_schema)'
      AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE') ORDER BY 1 LIMIT 3
"""
_CREATES_SQL = """
    SELECT nspname FROM pg_namespace
    WHERE nspname !~ '^(pg_|information_schema)' AND has_schema_privilege(oid, 'CREATE') ORDER BY 1 LIMIT 3
"""
_SERVER_ROLES_SQL = """
    SELECT rolname FROM pg_roles
    WHERE rolname IN ('pg_write_server_files', 'pg_read_server_files', 'pg_execute_server_program',
      'pg_write_all_data', 'pg_signal_backend') AND pg_has_role(oid, 'MEMBER') ORDER BY 1
"""
_SETTINGS_SQL = """
    SELECT name FROM pg_settings
    WHERE name IN ('primary_conninfo', 'ssl_passphrase_command') AND setting <> '' ORDER BY 1
"""
_SEQUENCES_SQL = """
    SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE CASE WHEN c.relkind = 'S' THEN has_sequence_privilege(c.oid, 'USAGE, UPDATE') END ORDER BY 1 LIMIT 3
"""
READER = "plugbay_reader"


def refuse_own_store(connection: "psycopg.Connection[Any]", store: Mapping[str, Any] | None) -> None:
    """Raise when this session is on the product's own store and could read its tables."""
    if store is None or not _may_be(connection, store["identity"]):
        return
    tables = _column(connection, _READABLE_SQL, (list(store["tables"]),))
    if tables:
        statements = " ".join(_reader_statements(connection, except_tables=tables))
        raise SourceRefusedError(
            f"this account can read {len(tables)} of Plugbay's own tables ({tables[0]}, …);"
            f" use a role that cannot: {statements}"
        )


def _may_be(connection: "psycopg.Connection[Any]", identity: str) -> bool:
    try:
        return _column(connection, IDENTITY_SQL) == [identity]
    except psycopg.errors.InsufficientPrivilege:
        return True  # a server that does not say who it is: its tables decide


def can_read_secret_settings(connection: "psycopg.Connection[Any]") -> bool:
    """Whether the server shows this account settings in which a password can stand."""
    return bool(_column(connection, _SETTINGS_SQL))


def test_account(connection: "psycopg.Connection[Any]") -> Report:
    """The account's rights beyond reading, in plain words."""
    version = connection.info.server_version
    server = f"PostgreSQL {version // 10000}.{version % 10000}"
    warnings = _warnings(connection)
    return Report(server, warnings, _reader_statements(connection) if warnings else ())


def _warnings(connection: "psycopg.Connection[Any]") -> list[str]:
    if _column(connection, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") == [True]:
        return ["this account is a superuser: it can do anything on the server; use a SELECT-only role"]
    sentences = {
        "this account can write ({}): use a SELECT-only role": _WRITABLE_SQL,
        "this account can create objects in the schema {}: use a SELECT-only role": _CREATES_SQL,
        "this account is a member of {}: use a SELECT-only role": _SERVER_ROLES_SQL,
        "this account can read {}, a setting that can hold a password:"
        " use a role that is no member of pg_monitor or pg_read_all_settings": _SETTINGS_SQL,
        "this account can move the sequence {}: use a SELECT-only role": _SEQUENCES_SQL,
    }
    found = ((text, _column(connection, query)) for text, query in sentences.items())
    return [text.format(", ".join(names)) for text, names in found if names]


def _reader_statements(connection: "psycopg.Connection[Any]", except_tables: Any = ()) -> list[str]:
    database = _column(connection, "SELECT quote_ident(current_database())")[0]
    statements = [
        f"CREATE ROLE {READER} LOGIN PASSWORD '…';",
        f"GRANT CONNECT ON DATABASE {database} TO {READER};",
        f"GRANT USAGE ON SCHEMA public TO {READER};",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {READER};",
    ]
    if except_tables:
        names = ", ".join(except_tables)
        return [*statements, f"REVOKE SELECT ON {names} FROM {READER};"]  # noqa: S608
    return [*statements, f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO {READER};"]


def _column(connection: "psycopg.Connection[Any]", query: str, params: Any = None) -> list[Any]:
    return [row[0] for row in connection.execute(query, params)]
