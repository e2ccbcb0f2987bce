"""What the store said about a credential a moment ago, so that it is not asked again for each request."""

import threading
from dataclasses import dataclass
from datetime import datetime

from plugbay.auth.roles import User
from plugbay.clock import Clock

FRESH_S = 1.5  # what another node takes back counts here within two seconds, the time to ask included
MOST = 1024  # credentials; the one that was kept longest ago goes first

Asked = tuple[int, float]


@dataclass(frozen=True, slots=True)
class Found:
    """Whose credential it is, and from when on the store has to be asked whatever it said."""

    user: User
    until: datetime


class Remembered:
    """Fresh answers of the store; whatever changes access in this process has all of them forgotten.

    Only what was found is kept: a login or token that was made just now is seen at once.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._answers: dict[str, tuple[float, Found]] = {}
        self._forgotten = 0

    def get(self, key: str) -> User | None:
        """The user, if the answer is fresh and still holds."""
        read_at, found = self._answers.get(key, (0.0, None))
        if found is None or self._clock.monotonic() - read_at >= FRESH_S or self._clock.now() >= found.until:
            return None
        return found.user

    def asking(self) -> Asked:
        """To be called before the store is asked: an answer is as old as the question."""
        return self._forgotten, self._clock.monotonic()

    def keep(self, key: str, found: Found, asked: Asked) -> None:
        """Keeps an answer, unless all was forgotten while it was on its way."""
        forgotten, asked_at = asked
        with self._lock:
            if forgotten != self._forgotten:
                return
            self._answers.pop(key, None)
            self._answers[key] = (asked_at, found)
            if len(self._answers) > MOST:
                del self._answers[next(iter(self._answers))]

    def forget(self) -> None:
        """Access was changed here."""
        with self._lock:
            self._forgotten += 1
            self._answers.clear()
