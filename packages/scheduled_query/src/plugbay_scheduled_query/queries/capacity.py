"""How full each source is: starts that its queries need against starts that its pace allows."""

import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Protocol

from plugbay import Clock

from plugbay_scheduled_query.core.capacity import Capacity, Pace, measure, warning
from plugbay_scheduled_query.repository.definitions import Definitions
from plugbay_scheduled_query.repository.sources import StoredSource
from plugbay_scheduled_query.settings import Settings

FRESH_S = 30.0  # for so long a page does without what other processes edit, and how long queries take by now


class KnownSources(Protocol):
    """Knows which sources there are."""

    def all(self) -> list[StoredSource]: ...


class Capacities:
    """Measures every source, and remembers the figures for pages until what they depend on changes."""

    def __init__(
        self,
        definitions: Definitions,
        sources: KnownSources,
        settings: Callable[[], Settings],
        clock: Clock,
    ) -> None:
        self._definitions = definitions
        self._sources = sources
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._edits = 0
        self._known: tuple[Hashable, Mapping[str, Capacity]] | None = None

    def by_source(self) -> Mapping[str, Capacity]:
        """The figures for a page, by name: of now as far as queries, sources and settings go."""
        with self._lock:
            half_minute = self._clock.monotonic() // FRESH_S
            key = (self._edits, tuple(self.paces().items()), self._settings().timezone, half_minute)
            if self._known is None or self._known[0] != key:
                self._known = key, self.measured()
            return self._known[1]

    def forget(self) -> None:
        """A definition changed: the next to ask gets new figures."""
        self._edits += 1

    def measured(self) -> dict[str, Capacity]:
        """The figures of this moment, by name."""
        loads = self._definitions.loads(self._settings().timezone)
        now = self._clock.now()
        return {name: measure(loads.get(name, ()), pace, now) for name, pace in self.paces().items()}

    def overloads(self, data_source: str | None = None) -> list[str]:
        """A sentence for each source that cannot keep up or will run late; of all of them, or of one."""
        loads = self._definitions.loads(self._settings().timezone, data_source)
        paces, now = self.paces(), self._clock.now()
        known = [(name, asked, paces[name]) for name, asked in loads.items() if name in paces]
        found = (warning(name, measure(asked, pace, now), pace) for name, asked, pace in known)
        return [sentence for sentence in found if sentence]

    def paces(self) -> dict[str, Pace]:
        """How runs are let in at each source, by name."""
        usual = self._settings().pace
        return {
            source.name: usual.with_own(source.pace_s, source.max_parallel) for source in self._sources.all()
        }
