"""After five wrong passwords for one name from one address, waiting; others do not notice."""

import hashlib
import ipaddress
import math
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from plugbay.auth.errors import TooManyAttempts
from plugbay.clock import Clock
from plugbay.store import Store
from plugbay.store.tables import login_failures, name_key

FREE_FAILURES = 5
FIRST_WAIT_S = 30  # doubled with each further failure: 30 s, 1 min, 2 min, …
LONGEST_WAIT_S = 15 * 60  # seconds; someone who forgot a password can still try today
FORGET_AFTER_S = 60 * 60  # seconds without a failure; longer than the longest wait, so that it keeps growing
_MAX_ADDRESS = login_failures.c.address.type.length  # type: ignore[attr-defined]


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


_MAX_HASHED = 1024  # characters; longer names are nobody's, and need no entries of their own


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
