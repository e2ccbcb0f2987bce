"""The sources of the setting `sources`, brought into the store: the setting decides, the rows follow."""

from collections.abc import Callable, Sequence

from plugbay_scheduled_query.repository.sources import (
    Origin,
    SourceInUse,
    SourceRepository,
    StoredSource,
)
from plugbay_scheduled_query.sources.source import Source


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
