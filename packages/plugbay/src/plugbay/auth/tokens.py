"""API tokens: shown once, kept as a hash, revocable."""

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from plugbay.auth.errors import TooManyTokens, UnknownUser
from plugbay.auth.names import checked_label
from plugbay.auth.touch import is_stale, touch
from plugbay.auth.user import User, Via
from plugbay.clock import Clock
from plugbay.logs import get_logger
from plugbay.store import Store
from plugbay.store.tables import api_tokens, name_key, users

PREFIX = "pb_"  # lets people and secret scanners see what it is
TOKEN_BYTES = 32  # 256 bits: with no way to guess one, a plain SHA-256 is enough to keep it by
MOST_PER_USER = 100

_FIND = (
    sa.select(
        users.c.id,
        users.c.name,
        users.c.name_key,
        users.c.role,
        api_tokens.c.id.label("token_id"),
        api_tokens.c.last_used_at,
    )
    .join(users, users.c.id == api_tokens.c.user_id)
    .where(api_tokens.c.token_hash == sa.bindparam("token_hash"), api_tokens.c.revoked_at.is_(None))
)
_LOCK_NAME = sa.select(users.c.name).where(users.c.id == sa.bindparam("id")).with_for_update()

log = get_logger(__name__)


class Tokens:
    """Makes, finds and revokes tokens."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def create(self, user_id: int, label: str) -> str:
        """A new token; this is the only time it can be read."""
        label, token = checked_label(label), PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
        with self._store.begin() as connection:
            name = connection.execute(_LOCK_NAME, {"id": user_id}).scalar_one_or_none()
            if name is None:  # removed by an admin a moment ago
                raise UnknownUser(name="")
            count = connection.execute(sa.select(sa.func.count()).where(*_alive(user_id))).scalar_one()
            if count >= MOST_PER_USER:
                raise TooManyTokens(most=MOST_PER_USER)
            connection.execute(
                sa.insert(api_tokens).values(
                    user_id=user_id, name=label, token_hash=_hash(token), created_at=self._clock.now()
                )
            )
        log.info("token_created", user=name, token=label)
        return token

    def find(self, token: str, via: Via = "token", name: str | None = None) -> User | None:
        """Whose token it is, as the user is now; with a `name`, only if it is that user's."""
        if not token.startswith(PREFIX):
            return None
        now = self._clock.now()
        with self._store.connect() as connection:
            row = connection.execute(_FIND, {"token_hash": _hash(token)}).first()
        if row is None or (name is not None and name_key(name) != row.name_key):
            return None
        if is_stale(row.last_used_at, now):
            touch(self._store, api_tokens.c.id == row.token_id, api_tokens.c.last_used_at, now)
        return User(row.name, row.role, via, row.id)

    def revoke(self, user_id: int, token_id: int) -> str | None:
        """Ends a token of this user at once; tells its name, or None if there is none."""
        end = sa.update(api_tokens).where(api_tokens.c.id == token_id, *_alive(user_id))
        with self._store.begin() as connection:
            ended = end.values(revoked_at=self._clock.now()).returning(api_tokens.c.name)
            name = connection.execute(ended).scalar_one_or_none()
        log.info("token_revoked", user_id=user_id, token=name)
        return name

    def revoke_all(self, user_id: int) -> int:
        """Ends all tokens of a user; tells how many."""
        end = sa.update(api_tokens).where(*_alive(user_id)).values(revoked_at=self._clock.now())
        with self._store.begin() as connection:
            count = connection.execute(end).rowcount
        log.info("tokens_revoked", user_id=user_id, count=count)
        return count

    def of_user(self, user_id: int) -> Sequence[sa.Row[Any]]:
        """The user's tokens that can be used, the newest first."""
        query = sa.select(api_tokens).where(*_alive(user_id)).order_by(api_tokens.c.id.desc())
        with self._store.connect() as connection:
            return connection.execute(query).all()


def _alive(user_id: int) -> tuple[sa.ColumnElement[bool], ...]:
    return (api_tokens.c.user_id == user_id, api_tokens.c.revoked_at.is_(None))


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
