"""Which data sources there are, from the store and from the settings, and where each of them is.

`targets` turns one into what a runner opens, `editing` is how people add and change them.
"""

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Protocol

from plugbay import SecretUnreadable

from plugbay_scheduled_query.catalogue.targets import Host, language_of, own_store_of, resolve
from plugbay_scheduled_query.core.errors import SourceError, SourceProblem, SourceUnavailableError
from plugbay_scheduled_query.core.source import Source, Target, mask_url
from plugbay_scheduled_query.dialects.contract import Report, Table
from plugbay_scheduled_query.repository.sources import Origin, SourceInUse, SourceRepository, StoredSource

LOOK_S = 0.05  # until a row is read again: an edit anywhere counts at once, and a thousand runs ask once
SCHEMA_S = 600.0  # how long a list of tables is shown before it is read again
UNREADABLE = "secret unreadable, enter it again"
REMOVED = "no longer in the setting sources: put it back there, or enter its URL here"


class Looks(Protocol):
    """Looks at a source under the same guards as a query."""

    def tables(self, target: Target) -> list[Table]: ...
    def self_test(self, target: Target) -> Report: ...


@dataclass(frozen=True, slots=True)
class Tested:
    """What a test of a source found; `error` says why it could not be reached."""

    error: str | None = None
    server: str | None = None
    warnings: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    at: datetime | None = None

    def as_text(self) -> str:
        """As it is kept."""
        return json.dumps(asdict(self) | {"at": self.at and self.at.isoformat()}, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceView:
    """A source as it may be shown; the URL is masked, and None where it cannot be read."""

    stored: StoredSource
    masked_url: str | None
    problem: str | None
    query_count: int
    failing_count: int
    tested: Tested | None


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a source, as they were at a time."""

    tables: list[Table]
    read_at: datetime


class Catalogue:
    """Knows the sources of all processes; any thread may ask."""

    def __init__(self, sources: SourceRepository, looks: Looks, host: Host) -> None:
        self._sources = sources
        self._looks = looks
        self._clock = host.clock
        self.own_store = own_store_of(host)
        self._lock = threading.Lock()
        self._targets: dict[int, tuple[float, Target]] = {}
        self._schemas: dict[str, tuple[float, Schema]] = {}  # by the target's key, which an edit changes

    def target(self, source_id: int) -> Target:
        """What a runner needs to ask the source; raises SourceProblem, in a sentence for its users."""
        now = self._clock.monotonic()
        known = self._targets.get(source_id)
        if known and now - known[0] < LOOK_S:
            return known[1]
        stored = self._sources.get(source_id)
        if stored is None:
            raise SourceProblem("the data source does not exist any more")
        try:
            target = self._resolved(stored)
        except (SourceError, SecretUnreadable) as error:
            raise SourceProblem(f"the data source “{stored.name}” cannot be used: {_reason(error)}") from None
        self._targets[source_id] = now, target
        return target

    def forget(self, source_id: int) -> None:
        """An edit in this process counts with the very next call."""
        self._targets.pop(source_id, None)

    def adopt(self, wanted: Iterable[Source]) -> None:
        """Brings the sources of the setting into the store."""
        adopt_setting(self._sources, list(wanted), self.dialect_of)
        self._targets.clear()

    def dialect_of(self, source: Source) -> str:
        """Whose SQL a source speaks."""
        return language_of(source, self.own_store)

    def all(self) -> list[StoredSource]:
        """Every source, by name."""
        return self._sources.all()

    def views(self) -> list[SourceView]:
        """Every source with what is wrong with it, by name."""
        counts = self._counts()
        return [self._view(stored, *counts) for stored in self._sources.all()]

    def view(self, source_id: int) -> SourceView | None:
        stored = self._sources.get(source_id)
        return self._view(stored, *self._counts()) if stored else None

    def schema(self, source_id: int, is_fresh: bool = False) -> Schema:
        """The tables and columns of a source, from memory unless they are old or asked for anew."""
        target = self.target(source_id)
        read = self._schemas.get(target.key)
        if read and not is_fresh and self._clock.monotonic() - read[0] < SCHEMA_S:
            return read[1]
        try:
            schema = Schema(self._looks.tables(target), self._clock.now())
        except (SourceError, SourceUnavailableError) as error:
            raise SourceProblem(str(error)) from None
        with self._lock:
            self._let_old_schemas_go()
            self._schemas[target.key] = self._clock.monotonic(), schema
        return schema

    def _resolved(self, stored: StoredSource) -> Target:
        if stored.origin is Origin.REMOVED:
            raise SourceError(REMOVED)
        source = Source(stored.name, self._sources.url_of(stored), stored.accepts_unguarded)
        return resolve(source, self.own_store)

    def _counts(self) -> tuple[dict[int, int], dict[int, int]]:
        return self._sources.query_counts(), self._sources.failing_counts()

    def _view(self, stored: StoredSource, counts: dict[int, int], failing: dict[int, int]) -> SourceView:
        url, problem = None, None
        try:
            url = None if stored.origin is Origin.REMOVED else mask_url(self._sources.url_of(stored))
            self._resolved(stored)
        except (SourceError, SecretUnreadable) as error:
            problem = _reason(error)
        return SourceView(
            stored=stored,
            masked_url=url,
            problem=problem,
            query_count=counts.get(stored.id, 0),
            failing_count=failing.get(stored.id, 0),
            tested=_kept_test(stored.last_test),
        )

    def _let_old_schemas_go(self) -> None:
        now = self._clock.monotonic()
        for key in [key for key, (at, _) in self._schemas.items() if now - at >= SCHEMA_S]:
            del self._schemas[key]


def adopt_setting(
    sources: SourceRepository, wanted: Sequence[Source], dialect_of: Callable[[Source], str]
) -> None:
    """Adds and changes what the setting names; what it names no longer goes, or stays without its URL.

    A name that an admin used before becomes the setting's: its queries then ask where the setting says. Any
    number of servers may do this at the same time with the same setting.
    """
    bring_in(sources, wanted, dialect_of)
    names = {source.name for source in wanted}
    for stored in sources.all():
        if stored.is_locked and stored.name not in names:
            _let_go(sources, stored)


def bring_in(
    sources: SourceRepository, wanted: Sequence[Source], dialect_of: Callable[[Source], str]
) -> None:
    """Adds and changes what the setting names, and lets everything else be."""
    for source in wanted:
        _put(sources, source, dialect_of(source))


def _put(sources: SourceRepository, source: Source, dialect: str) -> None:
    stored = sources.by_name(source.name)
    if stored is None and sources.add_unless_there(source, dialect, Origin.SETTINGS):
        return
    stored = stored or sources.by_name(source.name)
    if stored and not sources.is_same(stored, source):
        sources.update(stored.id, source, dialect, Origin.SETTINGS)


def _let_go(sources: SourceRepository, stored: StoredSource) -> None:
    try:
        sources.delete(stored.id)
    except SourceInUse:
        sources.forget_url(stored)


def _kept_test(text: str | None) -> Tested | None:
    if text is None:
        return None
    kept = json.loads(text)
    at = datetime.fromisoformat(kept["at"]) if kept["at"] else None
    return Tested(kept["error"], kept["server"], tuple(kept["warnings"]), tuple(kept["statements"]), at)


def _reason(error: Exception) -> str:
    return UNREADABLE if isinstance(error, SecretUnreadable) else str(error)
