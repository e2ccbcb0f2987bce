"""Any other database, by standard SQL: what an administrator accepts has no proven guard."""

from sqlglot.dialects.dialect import Dialect as SqlglotDialect

from ..functions import Functions
from ..functions.duckdb import DUCKDB
from ..functions.mysql import MYSQL
from ..functions.postgresql import POSTGRESQL
from ..functions.sqlite import SQLITE
from ..lexis import BACKSLASH_STRING, DOUBLE_QUOTED, LINE_COMMENT, PLAIN_STRING, Lexis, lexis
from . import Dialect

_PARSERS = {
    "mssql": "tsql",
    "cockroachdb": "postgres",
    "awsathena": "athena",
}  # where sqlglot has another name
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


def other(name: str) -> Dialect:
    """Standard SQL, parsed by sqlglot's rules for this database where it has some."""
    parser = _PARSERS.get(name, name)
    return Dialect(parser if SqlglotDialect.get(parser) else "", _READINGS, _FUNCTIONS)
