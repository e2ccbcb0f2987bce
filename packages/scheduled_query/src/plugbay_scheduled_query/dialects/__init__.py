"""The databases that can be asked, one folder each: a new one is a folder, imported and listed here.

Each folder's `__init__` fills in the record (`contract.Dialect`); a runner loads only the driver of the
dialect that it serves, and the parser is loaded with the first verdict.
"""

from functools import cache
from typing import TYPE_CHECKING

from plugbay_scheduled_query.core.errors import SourceError
from plugbay_scheduled_query.dialects.contract import Dialect
from plugbay_scheduled_query.dialects.duckdb import DUCKDB
from plugbay_scheduled_query.dialects.mysql import MYSQL
from plugbay_scheduled_query.dialects.postgresql import POSTGRESQL
from plugbay_scheduled_query.dialects.sqlite import SQLITE
from plugbay_scheduled_query.dialects.unguarded import UNGUARDED

if TYPE_CHECKING:
    from plugbay_scheduled_query.core.guard import Rejection, Rules, Verdict
    from plugbay_scheduled_query.core.guard.judging import Language, VerdictCache

DIALECTS = (  # in the order in which pages show them
    POSTGRESQL,
    MYSQL,
    SQLITE,
    DUCKDB,
)
VERDICTS_KEPT = 4096

_BY_NAME = {dialect.name: dialect for dialect in (*DIALECTS, UNGUARDED)}
_BY_SCHEME = {scheme: dialect for dialect in DIALECTS for scheme in dialect.schemes}


def dialect_named(name: str) -> Dialect:
    """The dialect of that name."""
    return _BY_NAME[name]


def dialect_of(scheme: str) -> Dialect:
    """The dialect that a URL's scheme leads to; any that is not known here has no proven guard."""
    written = scheme.partition("+")[0]
    return _BY_SCHEME.get(written) or _BY_SCHEME.get(_sqlalchemy_name(scheme), UNGUARDED)


@cache
def _sqlalchemy_name(scheme: str) -> str:
    """What SQLAlchemy makes of a scheme: it takes `sqlite.pysqlite` for `sqlite+pysqlite`."""
    from sqlalchemy import URL
    from sqlalchemy.exc import NoSuchModuleError

    try:
        return str(URL.create(scheme).get_dialect().name)
    except NoSuchModuleError:  # perhaps installed later; whoever opens it says so
        return ""
    except Exception:
        raise SourceError("the scheme of the URL leads to no dialect of SQLAlchemy") from None


def editor_name(language: str) -> str:
    """What the editor on the pages calls the SQL of a source."""
    return dialect_of(language).editor or language


def check(sql: str, language: str, rules: "Rules | None" = None) -> "Verdict":
    """Whether the text only reads, in the words of this database (SQLAlchemy's name for it); never raises."""
    # with the parser: half a second, after which a server can be ready
    from plugbay_scheduled_query.core.guard import Rejection, Rules
    from plugbay_scheduled_query.core.guard.judging import judge

    rules = rules or Rules()
    try:
        return _verdicts().get(sql, language, rules, lambda: judge(sql, language_named(language), rules))
    except Exception:  # a guard that stumbles has not understood the text; it may do better another time
        return Rejection("parse", "The query could not be understood; write it in plainer SQL.")


def check_words(sql: str, rules: "Rules") -> "Rejection | None":
    """What is refused whatever the database is: a forbidden keyword, too much text, deceiving characters."""
    from plugbay_scheduled_query.core.guard.judging import reject_characters, reject_keywords

    return reject_characters(sql, rules.max_length) or reject_keywords(sql, rules.forbidden_keywords)


@cache
def _verdicts() -> "VerdictCache":
    from plugbay_scheduled_query.core.guard.judging import VerdictCache

    return VerdictCache(VERDICTS_KEPT)


@cache
def language_named(name: str) -> "Language":
    """What the guard knows of a database; of one that it does not know, what the standard says."""
    return dialect_of(name).language(name)
