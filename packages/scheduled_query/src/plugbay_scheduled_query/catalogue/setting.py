"""The sources that the settings name: `SCHEDULED_QUERY_SOURCES`, an object of name to URL."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from plugbay_scheduled_query.catalogue.resolving import dialect_of_url
from plugbay_scheduled_query.core.source import Source, SourceError
from plugbay_scheduled_query.repository.sources import Origin, SourceInUse, SourceRepository, StoredSource

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}")


def check_name(name: str) -> str:
    """The name itself when it can name a source."""
    if NAME.fullmatch(name) is None:
        raise SourceError(
            "a source's name has 1 to 63 letters, digits, spaces, dots, dashes or underscores"
            " and begins with a letter or digit"
        )
    return name


def sources_from_settings(found: Mapping[str, Any]) -> list[Source]:
    """`{"orders": "postgresql://…", "odd": {"url": "…", "accepts_unguarded": true}}` as sources."""
    return [_source(name, value) for name, value in found.items()]


def _source(name: str, value: Any) -> Source:
    details = value if isinstance(value, dict) else {"url": value}
    url, accepts = details.get("url"), details.get("accepts_unguarded", False)
    is_odd = bool(details.keys() - {"url", "accepts_unguarded"})
    if is_odd or not isinstance(url, str) or not isinstance(accepts, bool):
        raise SourceError(f"the source {name} needs a URL, or an object of url and accepts_unguarded")
    dialect_of_url(url)  # says at once when it is no URL
    return Source(check_name(name), url, accepts)


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
