"""How many runs may be at work in a process: the schedule's, of each source, and what people start."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from plugbay_scheduled_query.core.capacity import Pace

BY_HAND = 6  # workers at the most, and a third of them, that are there for what people start by hand

Own = tuple[int | None, int | None]  # a source's pace in seconds and max_parallel; none is the setting's
NOTHING_OWN: Own = (None, None)


@dataclass(frozen=True, slots=True)
class Places:
    """How many slices may be at work: in all, of sources that share places, and of those with their own."""

    total: int
    shared: int
    own: Mapping[int, int] = field(default_factory=dict)
    is_paced: bool = False  # those that share: then each has one

    def is_one_left(self, source: int, inside: Counter[int], is_alone: bool) -> bool:
        """Whether a slice of this source may join those inside.

        Where there are several sources none takes the last place: one that hangs or is slow keeps nobody else
        waiting.
        """
        spare = 0 if is_alone else 1
        if source in self.own:
            return inside[source] < min(self.own[source], max(1, self.total - spare))
        sharing = sum(count for other, count in inside.items() if other not in self.own)
        each = 1 if self.is_paced else max(1, self.shared - spare)
        return sharing < self.shared and inside[source] < each


NO_PLACES = Places(0, 0)


def places(workers: int, usual: Pace, own: Mapping[int, Own]) -> Places:
    """Those of the schedule: who has a number of their own has places of their own, while workers last."""
    most, shared = workers_of_schedule(workers), most_at_once(workers, usual)
    apart = {
        source: 1 if pace.is_paced else pace.max_parallel
        for source, given in own.items()
        if (pace := usual.with_own(*given)) and (given[1] is not None or pace.is_paced != usual.is_paced)
    }
    return Places(min(most, shared + sum(apart.values())), shared, apart, usual.is_paced)


def places_by_hand(workers: int) -> Places:
    """Those of what people start, whosever it is."""
    return Places(most_by_hand(workers), most_by_hand(workers))


def most_by_hand(workers: int) -> int:
    """Runs that people have at the same time: the schedule keeps its workers, and people theirs."""
    return max(1, min(BY_HAND, workers // 3))


def workers_of_schedule(workers: int) -> int:
    """The workers that people leave to the clock."""
    return max(1, workers - most_by_hand(workers))


def most_at_once(workers: int, usual: Pace) -> int:
    """Slices of sources that go by the settings: one of each with a pace, without one so many in all."""
    free = workers_of_schedule(workers)
    return free if usual.is_paced else min(free, usual.max_parallel)
