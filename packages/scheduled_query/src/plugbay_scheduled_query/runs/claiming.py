"""Taking on what is due: when to look for it, how much of it to claim, and who goes to work first."""

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime, timedelta
from typing import Any, Protocol

from plugbay import Clock

from plugbay_scheduled_query.core.capacity import Pace
from plugbay_scheduled_query.core.model import Execution, Run, Trigger
from plugbay_scheduled_query.repository.claims import Claims
from plugbay_scheduled_query.runs.hold import LOOK_S, Hold
from plugbay_scheduled_query.runs.places import NO_PLACES, NOTHING_OWN, Own, Places, places
from plugbay_scheduled_query.settings import Settings

OWNER = "scheduled_query"
PERIOD_S = 60
LEND_A_HAND_S = 0.5  # after the full minute: by then the node that ticked has taken its share
AGAIN_S = 5.0  # after the store could not be asked what is due
WINDOW_S = 1.0  # over which throughput is counted
BATCH = 256  # runs that a process has claimed at the most when nothing paces them
AHEAD = 2  # times max_parallel: what it claims at the least, so that no slot waits for the next claim
SLICE = 16  # runs of one source for one worker at the most: they share its price, and are soon done

Promise = Future[Execution | None]


class Timers(Protocol):
    """What claiming asks of the task worker."""

    @property
    def workers(self) -> int: ...
    @property
    def works(self) -> bool: ...
    def at(self, *, owner: str, name: str, when: datetime, call: Callable[[Any], object]) -> None: ...


class InFlight:
    """The runs of this process between claim and record, and those who wait for them; for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, Run] = {}
        self._begun: dict[int, Run] = {}
        self._promises: dict[int, list[Promise]] = {}
        self._watched: dict[int, tuple[set[int], threading.Event]] = {}

    def __len__(self) -> int:
        with self._lock:
            return len(self._waiting) + len(self._begun)

    def add(self, runs: Iterable[Run]) -> None:
        with self._lock:
            self._waiting.update((run.id, run) for run in runs)

    def begin(self, run_ids: Iterable[int]) -> list[Run]:
        """Of these runs those that nobody has begun before."""
        with self._lock:
            begun = [run for run_id in run_ids if (run := self._waiting.pop(run_id, None))]
            self._begun.update((run.id, run) for run in begun)
            return begun

    def give_back(self, runs: Iterable[Run]) -> None:
        """These have not begun after all."""
        with self._lock:
            self._waiting.update((run.id, run) for run in runs if self._begun.pop(run.id, None))

    def ids(self) -> list[int]:
        with self._lock:
            return [*self._waiting, *self._begun]

    def scheduled(self) -> Counter[int]:
        """How many of them the clock asked for, by source."""
        with self._lock:
            runs = [*self._waiting.values(), *self._begun.values()]
        return Counter(run.source_id for run in runs if run.trigger is Trigger.SCHEDULE)

    def waiting_queries(self) -> set[int]:
        """The queries whose runs have not begun."""
        with self._lock:
            return {run.query_id for run in self._waiting.values()}

    def has_begun(self, run_id: int) -> bool:
        with self._lock:
            return run_id in self._begun

    def promise(self, run_id: int) -> Promise | None:
        """A promise of the execution; None when the run is not here (any more)."""
        with self._lock:
            if run_id not in self._waiting and run_id not in self._begun:
                return None
            promise: Promise = Future()
            self._promises.setdefault(run_id, []).append(promise)
            return promise

    def is_awaited(self, run_id: int) -> bool:
        """Whether somebody was promised its end."""
        with self._lock:
            return run_id in self._promises

    def gone(self, run_ids: Iterable[int]) -> threading.Event:
        """Set when all of these have ended here."""
        left, event = set(run_ids), threading.Event()
        with self._lock:
            self._watched.update((run_id, (left, event)) for run_id in left)
        return event

    def expect(self, run_id: int) -> Promise:
        """A promise that is kept if the run ends in this process, wherever it is now."""
        with self._lock:
            promise: Promise = Future()
            self._promises.setdefault(run_id, []).append(promise)
            return promise

    def forget(self, run_id: int, promise: Promise) -> None:
        """Nobody waits for this one any more."""
        with self._lock:
            left = [one for one in self._promises.pop(run_id, []) if one is not promise]
            if left:
                self._promises[run_id] = left

    def end(self, run_id: int, execution: Execution | None) -> None:
        """The run is over here: recorded, or left to somebody else (None)."""
        with self._lock:
            self._waiting.pop(run_id, None)
            self._begun.pop(run_id, None)
            promises = self._promises.pop(run_id, [])
            left, event = self._watched.pop(run_id, (set(), None))
            left.discard(run_id)
            if event and not left:
                event.set()
        for promise in promises:
            promise.set_result(execution)


class Claiming:
    """Between the store, where things are due, and the engine, which has so many workers."""

    def __init__(
        self,
        clock: Clock,
        claims: Claims,
        engine: Timers,
        runs: InFlight,
        settings: Callable[[], Settings],
        submit: Callable[[list[list[Run]]], None],
    ) -> None:
        self._clock = clock
        self._claims = claims
        self._engine = engine
        self._runs = runs
        self._settings = settings
        self._lock = threading.Lock()
        self._throughput = Throughput(clock)
        self._own: dict[int, Own] = {}  # what sources said about their pace when something was due there
        self._hold = Hold(clock, claims.is_held)
        self.admission = Admission(submit, self.places)

    def start(self) -> None:
        """From now on this node looks for what is due, also when another one ticks."""
        if self._engine.works:
            self._look_again(None)

    def refill(self, job: object = None) -> None:
        """Starts as much of what is due as can start now; called whenever a lane or a slot becomes free.

        After each full minute every node looks again: what the one that ticked has no room for is not kept
        waiting, and what a fault kept from being seen is found.
        """
        if self.admission.is_shut or not self._engine.works:
            return
        with self._lock:  # around the timer, too: it is set by who looked last
            again_s: float | None = AGAIN_S
            try:
                while claimed := self._claim():
                    self._take_on(claimed)
                self.admission.look()
                again_s = LOOK_S if self._hold.is_known else self._rest_s()
            finally:
                self._look_again(again_s)

    def done(self, runs: Iterable[Run]) -> None:
        """These are recorded: others may start."""
        sources = [run.source_id for run in runs]
        self._throughput.add(len(sources))
        if self._hold.is_known or self._is_worth_a_claim(set(sources)):
            self.refill()

    def places(self) -> Places:
        """How many slices of the schedule may be at work here, in all and of each source."""
        if self._hold.is_on():
            return NO_PLACES
        return places(self._engine.workers, self._settings().pace, self._own)

    def _take_on(self, claimed: list[Run]) -> None:
        self._runs.add(claimed)
        self.admission.put(claimed)

    def _claim(self) -> list[Run]:
        due, settings = self._due_sources(), self._settings()
        unpaced = {source: pace.max_parallel for source, pace in due.items() if not pace.is_paced}
        claimed: list[Run] = []
        if len(unpaced) < len(due):
            claimed += self._claims.claim_paced(settings.timezone, settings.interval)
        if unpaced:
            claimed += self._claim_unpaced(unpaced, only_these=len(unpaced) < len(due))
        return claimed

    def _due_sources(self) -> dict[int, Pace]:
        """The sources in which something is due, and the pace of each, as of now."""
        usual, found = self._settings().pace, self._claims.due_sources()
        self._own |= {source.source_id: (source.pace_s, source.max_parallel) for source in found}
        return {source.source_id: usual.with_own(source.pace_s, source.max_parallel) for source in found}

    def _pace_of(self, source_id: int) -> Pace:
        return self._settings().pace.with_own(*self._own.get(source_id, NOTHING_OWN))

    def _held(self) -> Counter[int]:
        """The scheduled runs of this process that no lane paces, by source."""
        held = self._runs.scheduled()
        return Counter({source: runs for source, runs in held.items() if not self._pace_of(source).is_paced})

    def _claim_unpaced(self, least: Mapping[int, int], only_these: bool) -> list[Run]:
        """As much as there is room for; where one source fills it all, the others get in all the same."""
        held = self._held()
        room = self._most_claimed() - held.total()
        if room <= 0 and all(held[source] >= count for source, count in least.items()):
            return []
        settings = self._settings()
        return self._claims.claim_batch(
            room, settings.timezone, least, held, only_these, interval_s=settings.interval
        )

    def _most_claimed(self) -> int:
        """About what this node does in a second: slow runs are left to whoever has a slot for them."""
        at_once = max([self._settings().max_parallel, *(most or 0 for _, most in self._own.values())])
        return max(AHEAD * at_once, min(self._throughput.per_second, BATCH))

    def _is_worth_a_claim(self, sources: Iterable[int]) -> bool:
        """A lane counts for itself; of slots, some are claimed for at a time, in all or of one source."""
        held, paces = self._held(), {source: self._pace_of(source) for source in sources}
        return (
            any(pace.is_paced for pace in paces.values())
            or 2 * held.total() <= self._most_claimed()
            or any(2 * held[source] <= pace.max_parallel for source, pace in paces.items())
        )

    def _look_again(self, rest_s: float | None) -> None:
        now = self._clock.now()
        minute = now.replace(second=0, microsecond=0) + timedelta(seconds=PERIOD_S + LEND_A_HAND_S)
        when = minute if rest_s is None else min(minute, now + timedelta(seconds=rest_s))
        self._engine.at(owner=OWNER, name="refill", when=when, call=self.refill)

    def _rest_s(self) -> float | None:
        """When a lane that something waits for has rested; for a slot nobody need wait by the clock."""
        interval = self._settings().interval
        is_any_paced = interval > 0 or any(pace_s for pace_s, _ in self._own.values())
        return self._claims.rest_s(interval) if is_any_paced else None


class Admission:
    """A queue with a door: as many slices are inside as there are places, each of one source; others wait.

    Sources take turns. Within a source runs go in the order of their claim. Only where many wait do they
    share a slice.
    """

    def __init__(
        self, let_in: Callable[[list[list[Run]]], None], places: Callable[[], Places], largest: int = SLICE
    ) -> None:
        self._let_in = let_in
        self._places = places
        self._largest = largest
        self._lock = threading.Lock()
        self._waiting: dict[int, deque[Run]] = {}  # by source, of all that ever came, in their turn
        self._inside: dict[int, int] = {}  # first run of a slice → source
        self.is_shut = False

    def put(self, runs: Iterable[Run]) -> None:
        with self._lock:
            for run in runs:
                self._queue(run.source_id).append(run)
        self._open()

    def put_back(self, runs: Sequence[Run]) -> None:
        """These come first again."""
        with self._lock:
            for run in reversed(runs):
                self._queue(run.source_id).appendleft(run)
        self._open()

    def look(self) -> None:
        """There may be places by now."""
        self._open()

    def leave(self, first_run_id: int) -> None:
        """A slice is over: another may come in."""
        with self._lock:
            if self._inside.pop(first_run_id, None) is None:
                return  # it came through another door
        self._open()

    def shut(self) -> list[Run]:
        """Nobody comes in any more; returns those who wait."""
        with self._lock:
            self.is_shut = True
            return [run for waiting in self._waiting.values() for run in waiting]

    def _queue(self, source_id: int) -> deque[Run]:
        if source_id not in self._waiting:  # who is new comes next
            self._waiting = {source_id: deque(), **self._waiting}
        return self._waiting[source_id]

    def _open(self) -> None:
        with self._lock:
            coming = [] if self.is_shut else self._admitted(self._places())
        if coming:
            self._let_in(coming)

    def _admitted(self, places: Places) -> list[list[Run]]:
        inside, admitted = Counter(self._inside.values()), []
        is_alone = len(self._waiting) < 2
        size = max(1, min(self._largest, sum(map(len, self._waiting.values())) // max(1, places.total)))
        while len(self._inside) < places.total:
            free = [
                source
                for source, runs in self._waiting.items()
                if runs and places.is_one_left(source, inside, is_alone)
            ]
            if not free:
                break
            source = min(free, key=inside.__getitem__)
            self._waiting[source] = waiting = self._waiting.pop(source)  # of equals the others are next
            runs = [waiting.popleft() for _ in range(min(size, len(waiting)))]
            self._inside[runs[0].id] = source
            inside[source] += 1
            admitted.append(runs)
        return admitted


class Throughput:
    """How much this process does in a second, as of late: it takes on no more than it can do."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since = clock.monotonic()
        self._done = 0
        self._last = 0

    def add(self, done: int) -> None:
        """So much more got done."""
        self._turn_over()
        self._done += done

    @property
    def per_second(self) -> int:
        """What got done in the last second, or already in this one if that is more."""
        self._turn_over()
        return max(self._last, self._done)

    def _turn_over(self) -> None:
        now = self._clock.monotonic()
        elapsed = now - self._since
        if elapsed >= WINDOW_S:
            self._last = round(self._done / elapsed)
            self._since, self._done = now, 0
