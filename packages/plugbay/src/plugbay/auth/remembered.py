"""Passwords that were checked a moment ago, so that a scraper does not cost 64 MiB each time."""

import hashlib
import hmac
import secrets
from collections import OrderedDict
from weakref import WeakValueDictionary

import anyio

from plugbay.auth.credentials import BasicLogin
from plugbay.clock import Clock

REMEMBER_S = 60
MOST = 256  # logins; the oldest goes first


class RememberedPasswords:
    """Keeps, for a minute, a keyed hash of name and password beside the stored hash that it matched."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)  # of this process alone: elsewhere the hashes mean nothing
        self._known: OrderedDict[bytes, tuple[float, str]] = OrderedDict()
        self._turns: WeakValueDictionary[bytes, anyio.Lock] = WeakValueDictionary()

    def remember(self, login: BasicLogin, stored: str) -> None:
        digest = self._digest(login)
        self._known[digest] = (self._clock.monotonic() + REMEMBER_S, stored)
        self._known.move_to_end(digest)
        while len(self._known) > MOST:
            self._known.popitem(last=False)

    def matched(self, login: BasicLogin) -> str | None:
        """The stored hash that this login matched; it counts only while the user still has that hash."""
        digest = self._digest(login)
        until, stored = self._known.get(digest, (0.0, ""))
        if self._clock.monotonic() < until:
            return stored
        self._known.pop(digest, None)
        return None

    def turn(self, login: BasicLogin) -> anyio.Lock:
        """For those who show the same login at the same moment: one has it checked, the others know then."""
        return self._turns.setdefault(self._digest(login), anyio.Lock())

    def _digest(self, login: BasicLogin) -> bytes:
        text = f"{login.name}\0{login.password}"
        return hmac.digest(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256)
