"""What a MariaDB or MySQL account can do besides reading."""

import re
from collections.abc import Iterable
from typing import Any

from plugbay_scheduled_query.dialects.contract import Report

TABLES_SQL = """
    SELECT table_schema, table_name, column_name, column_type FROM information_schema.columns
    WHERE table_schema NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys')
    ORDER BY table_schema, table_name, ordinal_position LIMIT %s
"""
HARMLESS = {
    "USAGE",
    "SELECT",
    "SHOW DATABASES",
    "SHOW VIEW",
    "PROCESS",
    "REPLICATION CLIENT",
    "BINLOG MONITOR",
}
READER = "plugbay_reader"

_GRANT = re.compile(r"GRANT (?P<rights>.+?) ON (?P<place>.+?) TO ", re.IGNORECASE)
_COLUMNS = re.compile(r"\([^)]*\)")


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
            rights = {right.strip().upper() for right in _COLUMNS.sub("", match["rights"]).split(",")}
            if extra := sorted(rights - HARMLESS):
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
