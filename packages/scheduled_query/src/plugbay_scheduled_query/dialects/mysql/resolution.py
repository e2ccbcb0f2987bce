"""Whose functions the names of a statement lead to, asked of MariaDB or MySQL before it is run.

A harmless name leads to somebody's stored function where this server has none of its own of that name, and,
with some names, where quotes or a space stand before the bracket: `max (x)` is the owner's, if there is one.
"""

from collections import OrderedDict
from typing import Any

from plugbay_scheduled_query.core.errors import SourceError
from plugbay_scheduled_query.core.guard.calls import calls
from plugbay_scheduled_query.core.guard.lexis import scan
from plugbay_scheduled_query.dialects.mysql.lexis import READINGS

TEXTS_KEPT = 512  # of one session, which lives for ten minutes at most

# Only those are listed that the account may call. The two schemas are no databases on MariaDB, but names for
# its own functions; elsewhere somebody may have made them.
_FOUND_SQL = """
    SELECT routine_schema, routine_name FROM information_schema.routines
    WHERE routine_type = 'FUNCTION' AND routine_name IN ({})
      AND (routine_schema = DATABASE() OR routine_schema IN ('mariadb_schema', 'oracle_schema'))
"""


class Resolution:
    """The verdicts of one session, each text asked about once."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._verdicts: OrderedDict[tuple[str, frozenset[str]], str | None] = OrderedDict()

    def check(self, sql: str, allowed: frozenset[str]) -> None:
        """Raises SourceError when a name of the statement leads to somebody's function that is on no list."""
        key = (sql, allowed)
        if key not in self._verdicts:
            self._verdicts[key] = self._refusal(sql, allowed)
            if len(self._verdicts) > TEXTS_KEPT:
                self._verdicts.popitem(last=False)
        if found := self._verdicts[key]:
            raise SourceError(found)

    def _refusal(self, sql: str, allowed: frozenset[str]) -> str | None:
        names = sorted(called(sql))
        if not names:
            return None
        with self._connection.cursor() as cursor:
            cursor.execute(_FOUND_SQL.format(", ".join(["%s"] * len(names))), names)
            found = [(schema.lower(), name.lower()) for schema, name in cursor.fetchall()]
        refused = next((one for one in found if not {one[1], ".".join(one)} & allowed), None)
        return None if refused is None else _sentence(".".join(refused))


def called(sql: str) -> set[str]:
    """The names that a statement calls, in any way in which a server can read it."""
    readings = (scan(sql, reading) for reading in READINGS)
    understood = (tokens for tokens in readings if isinstance(tokens, list))
    return {call.name for tokens in understood for call in calls(tokens)}


def _sentence(name: str) -> str:
    return (
        f"The server finds the stored function {name} behind a name here; it is not among those known to be"
        " harmless. If it only reads, an administrator can add it to allowed_functions."
    )
