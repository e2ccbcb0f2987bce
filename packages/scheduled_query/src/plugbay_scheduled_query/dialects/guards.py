"""What the guard knows of each database, by name, and its verdicts, remembered."""

from functools import cache

from plugbay_scheduled_query.core.guard.judging import Language, VerdictCache, judge
from plugbay_scheduled_query.core.guard.verdict import Rejection, Rules, Verdict
from plugbay_scheduled_query.dialects.duckdb.guard import DUCKDB
from plugbay_scheduled_query.dialects.mysql.guard import MYSQL
from plugbay_scheduled_query.dialects.postgresql.guard import POSTGRESQL
from plugbay_scheduled_query.dialects.sqlite.guard import SQLITE
from plugbay_scheduled_query.dialects.unguarded.guard import other

_LANGUAGES = {"sqlite": SQLITE, "postgresql": POSTGRESQL, "mysql": MYSQL, "mariadb": MYSQL, "duckdb": DUCKDB}
_verdicts = VerdictCache(4096)


def check(sql: str, language: str, rules: Rules) -> Verdict:
    """Whether the text only reads, in the words of this database (SQLAlchemy's name for it); never raises."""
    try:
        return _verdicts.get(sql, language, rules, lambda: judge(sql, language_named(language), rules))
    except Exception:  # a guard that stumbles has not understood the text; it may do better another time
        return Rejection("parse", "The query could not be understood; write it in plainer SQL.")


@cache
def language_named(name: str) -> Language:
    """What the guard knows of a database; of one that it does not know, what the standard says."""
    return _LANGUAGES.get(name) or other(name)
