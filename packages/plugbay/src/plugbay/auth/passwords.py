"""Passwords: kept as hashes, checked a few at a time, and slowed after failures."""

import base64
import hashlib
import ipaddress
import math
import secrets
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ParamSpec, TypeVar

import anyio
import anyio.to_thread
import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from plugbay.clock import Clock
from plugbay.errors import TooManyAttempts
from plugbay.store import Store
from plugbay.store.tables import login_failures, name_key

CHECKS_AT_ONCE = 2  # 128 MiB for a moment, and one core is enough for either
MOST_WAITING = 32  # requests, some four seconds; whoever comes then is told to come again
BUSY_RETRY_S = 5
FREE_FAILURES = 5
FIRST_WAIT_S = 30  # doubled with each further failure: 30 s, 1 min, 2 min, …
LONGEST_WAIT_S = 15 * 60  # seconds; someone who forgot a password can still try today
FORGET_AFTER_S = 60 * 60  # seconds without a failure; longer than the longest wait, so that it keeps growing

_MAX_ADDRESS = login_failures.c.address.type.length  # type: ignore[attr-defined]
_MAX_HASHED = 1024  # characters; longer names are nobody's, and need no entries of their own

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Costs:
    """RFC 9106, second recommended option: three passes over 64 MiB in four lanes, about 0.1 s."""

    passes: int = 3
    memory_kib: int = 64 * 1024
    lanes: int = 4


class Passwords:
    """Hashes and checks passwords with one set of costs."""

    costs = Costs()

    def __init__(self, costs: Costs | None = None) -> None:
        costs = costs or self.costs
        self._hasher = PasswordHasher(costs.passes, costs.memory_kib, costs.lanes)
        # the hash of nothing: checking against it takes as long as checking against a user's
        head = f"$argon2id$v=19$m={costs.memory_kib},t={costs.passes},p={costs.lanes}"
        self._nobody = f"{head}${_random_part(16)}${_random_part(32)}"

    def hash(self, password: str) -> str:
        return self._hasher.hash(_as_bytes(password))

    def match(self, stored: str | None, password: str) -> bool:
        """Whether the password is the one; without a stored hash, no, after the same time."""
        try:
            return self._hasher.verify(stored or self._nobody, _as_bytes(password)) and stored is not None
        except (VerificationError, InvalidHashError):
            return False

    def are_outdated(self, stored: str) -> bool:
        """Whether the hash was made with other costs than today's."""
        return self._hasher.check_needs_rehash(stored)


def _as_bytes(password: str) -> bytes:
    # one spelling, whichever keyboard typed the accents
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")


def _random_part(size: int) -> str:
    return base64.b64encode(secrets.token_bytes(size)).decode().rstrip("=")


class CheckQueue:
    """Runs slow work in threads of its own count, and turns away what could only wait too long."""

    def __init__(self, at_once: int = CHECKS_AT_ONCE, most_waiting: int = MOST_WAITING) -> None:
        self._limiter = anyio.CapacityLimiter(at_once)
        self._most = at_once + most_waiting
        self._most_of_one = (self._most + 1) // 2  # a crowd from one address leaves room for others
        self._inside = 0
        self._inside_by_address: Counter[str] = Counter()

    async def run_for(self, address: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for a stranger, whose address may not take all the places there are."""
        if self._inside_by_address[address] >= self._most_of_one:
            raise TooManyAttempts(retry_after=BUSY_RETRY_S)
        self._inside_by_address[address] += 1
        try:
            return await self.run(work, *args, **kwargs)
        finally:
            self._inside_by_address -= Counter([address])

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._inside >= self._most:
            raise TooManyAttempts(retry_after=BUSY_RETRY_S)
        self._inside += 1
        try:
            return await anyio.to_thread.run_sync(lambda: work(*args, **kwargs), limiter=self._limiter)
        finally:
            self._inside -= 1


def wait_after(failures: int) -> int:
    """Seconds to wait after that many failures in a row."""
    if failures < FREE_FAILURES:
        return 0
    doublings = min(failures - FREE_FAILURES, 10)
    return int(min(FIRST_WAIT_S * 2**doublings, LONGEST_WAIT_S))


@dataclass(frozen=True)
class Attempt:
    """A name from an address; the name only as a hash, for people type passwords into that field."""

    name_hash: str
    address: str

    @classmethod
    def of(cls, name: str, address: str) -> "Attempt":
        key = name_key(name[:_MAX_HASHED]).encode("utf-8", "replace")
        return cls(hashlib.sha256(key).hexdigest(), neighbourhood(address))


class Throttle:
    """Counts failures in the store, so that all processes count together."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def check(self, attempt: Attempt) -> bool:
        """Raises TooManyAttempts while waiting; tells whether there are failures to forget."""
        query = sa.select(login_failures.c.blocked_until).where(*_is(attempt))
        with self._store.connect() as connection:
            row = connection.execute(query).first()
        wait = (row.blocked_until - self._clock.now()).total_seconds() if row and row.blocked_until else 0
        if wait > 0:
            raise TooManyAttempts(retry_after=math.ceil(wait))
        return row is not None

    def failed(self, attempt: Attempt) -> None:
        """Counts one failure more and sets the time to wait."""
        now = self._clock.now()
        long_ago = now - timedelta(seconds=FORGET_AFTER_S)
        with self._store.begin() as connection:
            connection.execute(_delete_before(long_ago))
            count = connection.execute(self._count_up(attempt, now)).scalar_one()
            until = now + timedelta(seconds=wait_after(count))
            connection.execute(
                sa.update(login_failures)
                .where(*_is(attempt))
                .values(blocked_until=until if until > now else None)
            )

    def succeeded(self, attempt: Attempt) -> None:
        """Forgets the failures of this name from this address."""
        with self._store.begin() as connection:
            connection.execute(sa.delete(login_failures).where(*_is(attempt)))

    def forget_name(self, name: str) -> None:
        """Forgets the failures of a name from everywhere: an admin gave it a new password."""
        known = Attempt.of(name, "").name_hash
        with self._store.begin() as connection:
            connection.execute(sa.delete(login_failures).where(login_failures.c.name_key == known))

    def _count_up(self, attempt: Attempt, now: datetime) -> sa.Executable:
        insert = self._store.insert(login_failures).values(
            name_key=attempt.name_hash, address=attempt.address, count=1, last_at=now
        )
        again = {"count": login_failures.c.count + 1, "last_at": now}
        pair = [login_failures.c.name_key, login_failures.c.address]
        return insert.on_conflict_do_update(index_elements=pair, set_=again).returning(login_failures.c.count)


def neighbourhood(address: str) -> str:
    """What counts as one address: with IPv6 a whole /64, which is what one household is given."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "".join(filter(str.isprintable, address))[:_MAX_ADDRESS]
    if parsed.version == 4:
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


def _delete_before(moment: datetime) -> sa.Delete:
    # what another failure is deleting just now is left to it: two that wait for each other would both fail
    pair = sa.tuple_(login_failures.c.name_key, login_failures.c.address)
    old = sa.select(login_failures.c.name_key, login_failures.c.address)
    old = old.where(login_failures.c.last_at < moment).with_for_update(skip_locked=True)
    return sa.delete(login_failures).where(pair.in_(old))


def _is(attempt: Attempt) -> tuple[sa.ColumnElement[bool], ...]:
    return (login_failures.c.name_key == attempt.name_hash, login_failures.c.address == attempt.address)
