"""The databases that can be asked, one folder each: a folder and a line in `DIALECTS` make a new one.

Each folder's `__init__` fills in the record (`contract.Dialect`); a runner loads only the driver of the
dialect that it serves, and the parser is loaded with the first verdict.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from plugbay_scheduled_query.core.guard import Rejection, Rules, Verdict
from plugbay_scheduled_query.dialects.contract import Dialect
from plugbay_scheduled_query.dialects.duckdb import DUCKDB
from plugbay_scheduled_query.dialects.mysql import MYSQL
from plugbay_scheduled_query.dialects.postgresql import POSTGRESQL
from plugbay_scheduled_query.dialects.sqlite import SQLITE
from plugbay_scheduled_query.dialects.unguarded import UNGUARDED

if TYPE_CHECKING:
    from plugbay_scheduled_query.core.guard.judging import Language

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
    """The dialect that a URL's scheme names; any that is not known here has no proven guard."""
    return _BY_SCHEME.get(scheme.partition("+")[0], UNGUARDED)


def editor_name(language: str) -> str:
    """What the editor on the pages calls the SQL of a source."""
    return dialect_of(language).editor or language


def check(sql: str, language: str, rules: Rules = Rules()) -> Verdict:  # noqa: B008 — it is frozen
    """Whether the text only reads, in the words of this database (SQLAlchemy's name for it); never raises."""
    try:
        return _verdicts.get(sql, language, rules, lambda: _judge(sql, language, rules))
    except Exception:  # a guard that stumbles has not understood the text; it may do better another time
        return Rejection("parse", "The query could not be understood; write it in plainer SQL.")


@cache
def language_named(name: str) -> "Language":
    """What the guard knows of a database; of one that it does not know, what the standard says."""
    return dialect_of(name).language(name)


def _judge(sql: str, language: str, rules: Rules) -> Verdict:
    # with the parser: half a second, after which a server can be ready
    from plugbay_scheduled_query.core.guard.judging import judge

    return judge(sql, language_named(language), rules)


class VerdictCache:
    """At most so many verdicts, the least used forgotten first; of the texts it keeps only digests."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._verdicts: OrderedDict[tuple[bytes, str, Rules], Verdict] = OrderedDict()
        self._lock = Lock()

    def get(self, sql: str, language: str, rules: Rules, judge: Callable[[], Verdict]) -> Verdict:
        """The verdict from memory, or a new one."""
        key = (hashlib.sha256(sql.encode("utf-8", "surrogatepass")).digest(), language, rules)
        with self._lock:
            if (known := self._verdicts.get(key)) is not None:
                self._verdicts.move_to_end(key)
                return known
        verdict = judge()
        with self._lock:
            self._verdicts[key] = verdict
            while len(self._verdicts) > self._capacity:
                self._verdicts.popitem(last=False)
        return verdict

    def __len__(self) -> int:
        return len(self._verdicts)


_verdicts = VerdictCache(VERDICTS_KEPT)
