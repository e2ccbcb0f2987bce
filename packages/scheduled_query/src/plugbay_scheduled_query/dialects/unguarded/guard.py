"""Any other database, by standard SQL: what an administrator accepts has no proven guard."""

from sqlglot.dialects.dialect import Dialect as SqlglotDialect

from plugbay_scheduled_query.core.guard.calls import Functions
from plugbay_scheduled_query.core.guard.judging import Language
from plugbay_scheduled_query.core.guard.lexis import (
    BACKSLASH_STRING,
    DOUBLE_QUOTED,
    LINE_COMMENT,
    PLAIN_STRING,
    Lexis,
    lexis,
)
from plugbay_scheduled_query.dialects.duckdb.functions import FUNCTIONS as DUCKDB
from plugbay_scheduled_query.dialects.mysql.functions import FUNCTIONS as MYSQL
from plugbay_scheduled_query.dialects.postgresql.functions import FUNCTIONS as POSTGRESQL
from plugbay_scheduled_query.dialects.sqlite.guard import FUNCTIONS as SQLITE

# where sqlglot has another name
_PARSERS = {"mssql": "tsql", "cockroachdb": "postgres", "awsathena": "athena"}
_KNOWN = (SQLITE, POSTGRESQL, MYSQL, DUCKDB)


def _lexis(string: str) -> Lexis:
    return lexis(
        strings=[f"[nNxX]?{string}"],
        names=[DOUBLE_QUOTED],
        comments=[LINE_COMMENT],
        nesting="flat",
        operators=r"(?:(?!--|/\*)[-+*/<>=~!%^&|])++|::|:",
        placeholders=r"[?@$#:]\w*+",
        opening=r"['\"`\[$]",
    )


_READINGS = (_lexis(PLAIN_STRING), _lexis(BACKSLASH_STRING))
_FUNCTIONS = Functions(
    frozenset().union(*(known.harmless for known in _KNOWN)),
    tuple(rule for known in _KNOWN for rule in known.dangerous),
)


def other(name: str) -> Language:
    """Standard SQL, parsed by sqlglot's rules for this database where it has some."""
    parser = _PARSERS.get(name, name)
    return Language(parser if SqlglotDialect.get(parser) else "", _READINGS, _FUNCTIONS)
