"""Sessions that runs left behind: ended, and where a server does not end one, its source is paused.

A database can go on with a statement that nobody waits for any more, and some of what it does cannot be
stopped at all. So after each run whose session may still be at it, another session looks and ends it. What is
still there after a few seconds pauses its source: nothing starts there until it is gone.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from plugbay import Clock, EventBus, get_logger

from plugbay_scheduled_query.core.errors import SourceError, SourceProblem, SourceUnavailableError
from plugbay_scheduled_query.core.source import Target
from plugbay_scheduled_query.repository.pauses import Pause, Pauses, StuckSession

FIRST_LOOK_S = 0.1  # after a run: most sessions are gone by the second look
LOOK_AGAIN_S = 0.4
PATIENCE_S = 1.5  # so that a source is paused within 5 s of a time limit, of which the runner has had 2 s
SOON_AGAIN_S = (3.0, 5.0, 10.0, 20.0)  # then: who is just slow to end need not wait for the minute
FRESH_S = 0.05  # for so long a thousand runs ask once whether their source is paused
TITLE_LENGTH = 200  # characters

log = get_logger(__name__)


class Ender(Protocol):
    """Ends sessions from another one."""

    def end(self, target: Target, mark: str) -> bool: ...


class Targets(Protocol):
    """Knows where each source is."""

    def target(self, source_id: int) -> Target: ...


@dataclass(frozen=True, slots=True)
class Left:
    """A session that may be at it still, and where."""

    session: StuckSession
    target: Target


class StuckSessions:
    """Sees to sessions that were left behind, each in a thread of its own; any thread may ask."""

    def __init__(
        self,
        clock: Clock,
        pauses: Pauses,
        ender: Ender,
        targets: Targets,
        events: EventBus,
        resumed: Callable[[], object] = lambda: None,
    ) -> None:
        self._clock = clock
        self._pauses = pauses
        self._ender = ender
        self._targets = targets
        self._events = events
        self.resumed = resumed
        self._lock = threading.Lock()
        self._is_closing = threading.Event()
        self._unseen: set[Left] = set()  # whose servers could not be asked
        self._revisit = threading.Lock()
        self._known: tuple[float, Mapping[int, Pause]] | None = None

    def pauses(self) -> Mapping[int, Pause]:
        """The paused sources, by their numbers."""
        now = self._clock.monotonic()
        known = self._known
        if known is None or now - known[0] >= FRESH_S:
            self._known = known = now, self._pauses.by_source()
        return known[1]

    def pause_of(self, source_id: int) -> Pause | None:
        """Why nothing may start at a source, if so."""
        return self.pauses().get(source_id)

    def pause_named(self, source: str) -> Pause | None:
        """The same, by the name of the source."""
        return next((pause for pause in self.pauses().values() if pause.source == source), None)

    def look_after(self, source_id: int, target: Target, mark: str, title: str) -> None:
        """A run is over and its session perhaps not: sees that it is, or pauses the source."""
        session = StuckSession(source_id, mark, title[:TITLE_LENGTH], self._clock.now())
        self._start(lambda: self._look_after(Left(session, target)))

    def revisit(self) -> None:
        """Each minute: looks again at what did not end, without keeping anybody waiting."""
        self._start(self._look_again)

    def resume(self, source_id: int, by: str) -> Pause | None:
        """An admin lets a source go on, whatever became of its sessions; None when it was not paused."""
        pause = self._pauses.by_source().get(source_id)
        if pause is None or not self._pauses.remove(source_id, self._clock.now(), by=by):
            return None
        self._tell_resumed(pause.source, by=by)
        return pause

    def close(self) -> None:
        """Looks no more; what is paused stays so for whoever comes next."""
        self._is_closing.set()

    def _start(self, look: Callable[[], None]) -> None:
        threading.Thread(target=self._run, args=(look,), name="scheduled-query-stuck", daemon=True).start()

    def _run(self, look: Callable[[], None]) -> None:
        try:
            look()
        except Exception as error:
            if not self._is_closing.is_set():
                log.error("look_at_sessions_failed", error=error)

    def _look_after(self, left: Left) -> None:
        deadline = time.monotonic() + PATIENCE_S
        if self._is_closing.wait(FIRST_LOOK_S) or self._is_there(left) is False:
            return
        while not self._is_closing.wait(LOOK_AGAIN_S):
            is_there = self._is_there(left)
            if is_there is False:
                return
            if time.monotonic() >= deadline:
                break
        else:
            return
        if is_there is None:
            with self._lock:
                self._unseen.add(left)
        elif self._pause(left.session):
            self._await_end(left)

    def _await_end(self, left: Left) -> None:
        for pause_s in SOON_AGAIN_S:
            if self._is_closing.wait(pause_s) or self._has_ended(left):
                return

    def _look_again(self) -> None:
        """One at a time: a server that does not answer must not gather threads."""
        if not self._revisit.acquire(blocking=False):
            return
        try:
            self._look_at_unseen()
            for source_id, pause in self._pauses.by_source().items():
                self._look_at_paused(source_id, pause)
        finally:
            self._revisit.release()

    def _look_at_unseen(self) -> None:
        with self._lock:
            unseen, self._unseen = self._unseen, set()
        for left in unseen:
            self._start(lambda left=left: self._look_after(left))  # type: ignore[misc]

    def _look_at_paused(self, source_id: int, pause: Pause) -> None:
        try:
            target = self._targets.target(source_id)
        except SourceProblem:
            return  # it cannot be asked, nor can anything start there
        for session in pause.sessions:
            self._has_ended(Left(session, target))

    def _has_ended(self, left: Left) -> bool:
        """Looks at a session that a source is paused for; without it the source goes on."""
        if self._is_there(left) is not False:
            return False
        source_id = left.session.source_id
        pause = self._pauses.by_source().get(source_id)
        if pause and self._pauses.remove(source_id, self._clock.now(), left.session.mark):
            self._tell_resumed(pause.source, by=None)
        return True

    def _is_there(self, left: Left) -> bool | None:
        """Whether a session, which is told to end, was there; None when its server could not be asked."""
        try:
            return self._ender.end(left.target, left.session.mark)
        except (SourceError, SourceUnavailableError):
            return None

    def _pause(self, session: StuckSession) -> bool:
        is_new = self._pauses.add(session)
        self._known = None
        pause = self._pauses.by_source().get(session.source_id) if is_new else None
        if pause is not None:
            log.warning("source_paused", source=pause.source, query=session.title, session=session.mark)
            self._events.post("scheduled_query.source_paused", source=pause.source, reason=pause.reason)
        return pause is not None

    def _tell_resumed(self, source: str, by: str | None) -> None:
        self._known = None
        log.warning("source_resumed", source=source, by=by or "its session is gone")
        self._events.post("scheduled_query.source_resumed", source=source, by=by)
        self.resumed()
