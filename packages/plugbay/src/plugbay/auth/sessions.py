"""Logins of browsers: a random id in a cookie, its hash and all else in the store."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from plugbay.auth.accounts import Account
from plugbay.auth.touch import is_stale, touch
from plugbay.auth.user import User
from plugbay.clock import Clock
from plugbay.store import Store
from plugbay.store.tables import sessions, users

ID_BYTES = 32  # 256 bits: nobody guesses one
IDLE_S = 12 * 60 * 60  # a lunch or a long meeting does not sign anyone out, a night does
LONGEST_S = 7 * 24 * 60 * 60  # a dashboard on a wall asks for its password once a week
_MAX_ADDRESS, _MAX_AGENT = 64, 255

_FIND = (
    sa.select(users.c.id, users.c.name, users.c.role, sessions.c.last_seen_at, sessions.c.expires_at)
    .join(users, users.c.id == sessions.c.user_id)
    .where(sessions.c.id_hash == sa.bindparam("id_hash"))
)
_LOCK_HASH = sa.select(users.c.password_hash).where(users.c.id == sa.bindparam("id")).with_for_update()


class Sessions:
    """Opens, finds and ends sessions."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def open(self, account: Account, address: str, agent: str, instead_of: str | None = None) -> str | None:
        """A new session's cookie value; the session that the browser had before is over.

        None if the account is not as it was when its password was checked: changed meanwhile, or gone.
        """
        value, now = secrets.token_urlsafe(ID_BYTES), self._clock.now()
        row = {
            "id_hash": _hash(value),
            "user_id": account.id,
            "created_at": now,
            "last_seen_at": now,
            "expires_at": now + timedelta(seconds=LONGEST_S),
            "address": _shown(address, _MAX_ADDRESS),
            "user_agent": _shown(agent, _MAX_AGENT),
        }
        with self._store.begin() as connection:
            stored = connection.execute(_LOCK_HASH, {"id": account.id}).scalar_one_or_none()
            if stored != account.password_hash:
                return None
            connection.execute(_delete_over(now))
            connection.execute(sa.delete(sessions).where(sessions.c.id_hash == _hash(instead_of or "")))
            connection.execute(sa.insert(sessions).values(row))
        return value

    def find(self, value: str) -> User | None:
        """Whose session it is, as the user is now; None when it is over."""
        id_hash, now = _hash(value), self._clock.now()
        with self._store.connect() as connection:
            row = connection.execute(_FIND, {"id_hash": id_hash}).first()
        if row is None or row.expires_at <= now or row.last_seen_at <= now - timedelta(seconds=IDLE_S):
            return None
        if is_stale(row.last_seen_at, now):
            touch(self._store, sessions.c.id_hash == id_hash, sessions.c.last_seen_at, now)
        return User(row.name, row.role, "session", row.id, id_hash)

    def close(self, value: str) -> None:
        with self._store.begin() as connection:
            connection.execute(sa.delete(sessions).where(sessions.c.id_hash == _hash(value)))

    def close_others(self, user: User) -> int:
        """Ends the user's sessions but the one that asks; tells how many."""
        others = (sessions.c.user_id == user.id) & (sessions.c.id_hash != (user.session or ""))
        with self._store.begin() as connection:
            return connection.execute(sa.delete(sessions).where(others)).rowcount

    def of_user(self, user_id: int) -> Sequence[sa.Row[Any]]:
        """The sessions of a user that are not over, the latest first."""
        alive = sa.not_(_is_over(self._clock.now()))
        query = sa.select(sessions).where(sessions.c.user_id == user_id, alive)
        with self._store.connect() as connection:
            return connection.execute(query.order_by(sessions.c.last_seen_at.desc())).all()


def _is_over(now: datetime) -> sa.ColumnElement[bool]:
    idle = sessions.c.last_seen_at <= now - timedelta(seconds=IDLE_S)
    return (sessions.c.expires_at <= now) | idle


def _delete_over(now: datetime) -> sa.Delete:
    # what another login is deleting just now is left to it: two that wait for each other would both fail
    over = sa.select(sessions.c.id_hash).where(_is_over(now)).with_for_update(skip_locked=True)
    return sa.delete(sessions).where(sessions.c.id_hash.in_(over))


def _hash(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()


def _shown(text: str, length: int) -> str:
    return "".join(filter(str.isprintable, text))[:length]
