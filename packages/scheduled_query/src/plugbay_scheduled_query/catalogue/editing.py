"""Data sources as people add, change, test and delete them: the same for API and pages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from plugbay import Clock, SecretUnreadable

from plugbay_scheduled_query.catalogue import Catalogue, Looks, SourceView, Tested
from plugbay_scheduled_query.catalogue.targets import resolve
from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.errors import SourceError, SourceUnavailableError
from plugbay_scheduled_query.core.source import (
    Source,
    Target,
    check_max_parallel,
    check_name,
    check_pace,
    keep_secrets,
)
from plugbay_scheduled_query.core.text import unwelcome_character
from plugbay_scheduled_query.dialects.contract import Report
from plugbay_scheduled_query.repository.sources import NameTaken, Origin, SourceRepository, StoredSource

MAX_URL = 4_000  # characters
FIELDS = ("name", "url", "accepts_unguarded", "pace_s", "max_parallel")
NOWHERE = "nowhere://"  # stands for a URL that is not there: a masked one sent in finds no secret to keep


class UnknownSource(Exception):
    """A data source that is not there, perhaps no longer."""

    def __init__(self) -> None:
        super().__init__("there is no such data source")


class SourceLocked(Exception):
    """A data source that only the setting may change."""

    def __init__(self) -> None:
        super().__init__("it comes from the setting sources: change it there")


@dataclass(frozen=True, slots=True)
class SavedSource:
    """A source that was stored, and what its self-test says."""

    view: SourceView
    warnings: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotReached(Refused):
    """A source that may be right, and cannot be reached now: stored only by who wants it anyway."""


class SourceEditing:
    """Checks what people enter about sources, and stores it."""

    def __init__(self, sources: SourceRepository, catalogue: Catalogue, looks: Looks, clock: Clock) -> None:
        self._sources = sources
        self._catalogue = catalogue
        self._looks = looks
        self._clock = clock

    def add(self, given: Mapping[str, Any], anyway: bool = True) -> SavedSource | Refused:
        """Stores a new source, after a self-test; one that cannot be reached now, `anyway` with a warning."""
        wanted = {"name": "", "url": "", **{name: given[name] for name in FIELDS if name in given}}
        source, errors = _read(Source("", ""), wanted)
        checked = self._checked(source, errors, anyway)
        if isinstance(checked, Refused):
            return checked
        target, tested = checked
        try:
            stored = self._sources.add(source, target.language)
        except NameTaken:
            return _taken(source.name)
        return self._saved(stored, tested)

    def edit(self, source_id: int, given: Mapping[str, Any], anyway: bool = True) -> SavedSource | Refused:
        """Stores the fields that were sent; raises UnknownSource, or SourceLocked for the setting's own."""
        stored = self._editable(source_id)
        current = Source(
            stored.name,
            self._url_or_nothing(stored),
            stored.accepts_unguarded,
            stored.pace_s,
            stored.max_parallel,
        )
        source, errors = _read(current, {name: given[name] for name in FIELDS if name in given})
        if not errors and _place(source) == _place(current):
            return self._rename(stored, source)
        checked = self._checked(source, errors, anyway)
        if isinstance(checked, Refused):
            return checked
        target, tested = checked
        try:
            changed = self._sources.update(stored.id, source, target.language, Origin.ADMIN)
        except NameTaken:
            return _taken(source.name)
        return self._saved(changed, tested)

    def delete(self, source_id: int) -> None:
        """Takes a source away; raises UnknownSource, SourceLocked or SourceInUse."""
        self._editable(source_id)
        if not self._sources.delete(source_id):
            raise UnknownSource
        self._catalogue.forget(source_id)

    def test(self, source_id: int) -> Tested:
        """Connects and says what the account can do; raises UnknownSource."""
        view = self._catalogue.view(source_id)
        if view is None:
            raise UnknownSource
        tested = replace(self._look(view), at=self._clock.now())
        self._sources.note_test(source_id, tested.as_text())
        return tested

    def _look(self, view: SourceView) -> Tested:
        if view.problem:
            return Tested(view.problem)
        try:
            return _tested(self._looks.self_test(self._catalogue.target(view.stored.id)))
        except (SourceError, SourceUnavailableError) as error:
            return Tested(str(error))

    def _editable(self, source_id: int) -> StoredSource:
        stored = self._sources.get(source_id)
        if stored is None:
            raise UnknownSource
        if stored.is_locked:
            raise SourceLocked
        return stored

    def _url_or_nothing(self, stored: StoredSource) -> str:
        try:
            return self._sources.url_of(stored) if stored.secret_url else ""
        except SecretUnreadable:
            return ""

    def _checked(
        self, source: Source, errors: dict[str, str], anyway: bool
    ) -> tuple[Target, Tested] | Refused:
        if errors:
            return Refused(errors)
        try:
            target = resolve(source, self._catalogue.own_store)
            return target, _tested(self._looks.self_test(target))
        except SourceUnavailableError as error:
            return (target, Tested(str(error))) if anyway else NotReached({"url": _unreached(str(error))})
        except SourceError as error:
            return Refused({"url": str(error)})

    def _rename(self, stored: StoredSource, source: Source) -> SavedSource | Refused:
        """Another name or pace alone: whatever is wrong with its URL stays as it is."""
        pace = {"pace_s": source.pace_s, "max_parallel": source.max_parallel}
        try:
            return self._saved(self._sources.rename(stored.id, source.name, **pace))
        except NameTaken:
            return _taken(source.name)

    def _saved(self, stored: StoredSource | None, tested: Tested | None = None) -> SavedSource:
        if stored and tested:
            self._sources.note_test(stored.id, replace(tested, at=self._clock.now()).as_text())
        view = self._catalogue.view(stored.id) if stored else None
        if view is None:  # deleted by somebody else a moment ago
            raise UnknownSource
        self._catalogue.forget(view.stored.id)
        found = tested or Tested()
        warnings = (_unreached(found.error),) if found.error else found.warnings
        return SavedSource(view, warnings, found.statements)


def _read(current: Source, sent: Mapping[str, Any]) -> tuple[Source, dict[str, str]]:
    """The source with the fields that were sent, and what is wrong with them."""
    checks: dict[str, Callable[[Any], Any]] = {
        "name": _read_name,
        "url": lambda given: _read_url(given, current.url),
        "accepts_unguarded": _read_consent,
        "pace_s": check_pace,
        "max_parallel": check_max_parallel,
    }
    checked: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for name, value in sent.items():
        try:
            checked[name] = checks[name](value)
        except SourceError as error:
            errors[name] = str(error)
    return replace(current, **checked), errors


def _place(source: Source) -> tuple[str, bool]:
    """Of a source what is tested when it changes."""
    return source.url, source.accepts_unguarded


def _read_name(given: Any) -> str:
    if not isinstance(given, str):
        raise SourceError("must be a text")
    return check_name(given.strip())


def _read_url(given: Any, stored: str) -> str:
    if not isinstance(given, str):
        raise SourceError("must be a text")
    url = given.strip()
    if not url:
        raise SourceError("a URL is needed, such as postgresql://user:password@host/database")
    if len(url) > MAX_URL:
        raise SourceError(f"a URL has at most {MAX_URL:,} characters; this one has {len(url):,}")
    if found := unwelcome_character(url):
        raise SourceError(f"must not have {found}")
    return keep_secrets(url, stored or NOWHERE)


def _read_consent(given: Any) -> bool:
    if not isinstance(given, bool):
        raise SourceError("must be true or false")
    return given


def _tested(report: Report) -> Tested:
    return Tested(None, report.server, tuple(report.warnings), tuple(report.statements))


def _unreached(error: str) -> str:
    return f"it cannot be reached now: {error}"


def _taken(name: str) -> Refused:
    return Refused({"name": f"another data source is called “{name}”"})
