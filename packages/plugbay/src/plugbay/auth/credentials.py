"""What a request can show to say who sends it: a session's cookie, an API token, a name and a password."""

import base64
import binascii
import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, cast

import sqlalchemy as sa
from starlette.requests import HTTPConnection
from starlette.responses import Response

from plugbay.auth.accounts import Account, checked_label
from plugbay.auth.remembering import Found
from plugbay.auth.roles import SCOPES, TokenScope, User, Via
from plugbay.clock import Clock
from plugbay.errors import (
    DaysRefused,
    PlugbayError,
    TokenExpired,
    TooManyTokens,
    UnknownScope,
    UnknownUser,
)
from plugbay.logs import get_logger
from plugbay.store import Store
from plugbay.store.tables import api_tokens, name_key, sessions, users
from plugbay.web.requests import root_path

TOKEN_PREFIX = "pb_"  # noqa: S105 - lets people and secret scanners see what it is
MAX_HEADER = 8192  # characters of `Authorization`; a name and a password of full length fit in
COOKIE_NAME = "plugbay_session"
MAX_COOKIE = 128  # characters; ours have 43
SESSION_BYTES = 32  # 256 bits: nobody guesses one
IDLE_S = 12 * 60 * 60  # a lunch or a long meeting does not sign anyone out, a night does
LONGEST_S = 7 * 24 * 60 * 60  # a dashboard on a wall asks for its password once a week
TOKEN_BYTES = 32  # 256 bits: with no way to guess one, a plain SHA-256 is enough to keep it by
MOST_TOKENS = 100  # of one user
MOST_DAYS = 3650  # ten years; who wants more wants no end
WRITE_EVERY_S = 60  # `last used`: a scraper asks every few seconds; the page shows minutes

_MAX_ADDRESS, _MAX_AGENT = 64, 255
_FIND_SESSION = (
    sa.select(users.c.id, users.c.name, users.c.role, sessions.c.last_seen_at, sessions.c.expires_at)
    .join(users, users.c.id == sessions.c.user_id)
    .where(sessions.c.id_hash == sa.bindparam("id_hash"))
)
_LOCK_HASH = sa.select(users.c.password_hash).where(users.c.id == sa.bindparam("id")).with_for_update()
_FIND_TOKEN = (
    sa.select(
        users.c.id,
        users.c.name,
        users.c.name_key,
        users.c.role,
        api_tokens.c.id.label("token_id"),
        api_tokens.c.last_used_at,
        api_tokens.c.scope,
        api_tokens.c.expires_at,
    )
    .join(users, users.c.id == api_tokens.c.user_id)
    .where(api_tokens.c.token_hash == sa.bindparam("token_hash"), api_tokens.c.revoked_at.is_(None))
)
_LOCK_NAME = sa.select(users.c.name).where(users.c.id == sa.bindparam("id")).with_for_update()

log = get_logger(__name__)


@dataclass(frozen=True)
class SessionCookie:
    """The value of our cookie."""

    value: str

    @property
    def key(self) -> str:
        """What an answer about it is remembered by; nobody can guess the value from it."""
        return f"session {_session_hash(self.value)}"


@dataclass(frozen=True)
class BearerToken:
    """An API token."""

    value: str

    @property
    def key(self) -> str:
        return f"token {_token_hash(self.value)}"


@dataclass(frozen=True)
class BasicLogin:
    """A name with a password, or with a token in the place of the password."""

    name: str
    password: str

    @property
    def is_token(self) -> bool:
        return self.password.startswith(TOKEN_PREFIX)

    @property
    def key(self) -> str:
        return f"basic {_token_hash(self.password)} {name_key(self.name)}"


Credential = SessionCookie | BearerToken | BasicLogin


def read_credential(request: HTTPConnection) -> Credential | None:
    """The one credential that counts: `Authorization`, when it is there, else the cookie."""
    headers = request.headers.getlist("authorization")
    if headers:
        return _from_header(headers[0]) if len(headers) == 1 else None
    value = session_cookie(request)
    return SessionCookie(value) if value else None


def _from_header(header: str) -> Credential | None:
    scheme, _, value = header.strip().partition(" ")
    value = value.strip()
    if len(header) > MAX_HEADER or not value:
        return None
    if scheme.lower() == "bearer":
        return BearerToken(value)
    return _read_basic(value) if scheme.lower() == "basic" else None


def _read_basic(value: str) -> BasicLogin | None:
    try:
        raw = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    name, colon, password = _decode(raw).partition(":")
    return BasicLogin(name, password) if colon else None


def _decode(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")  # what old clients send


def cookie_name(request: HTTPConnection) -> str:
    """Under https with a prefix that keeps a sister domain from setting a cookie of this name."""
    if request.scope.get("scheme") not in ("https", "wss"):
        return COOKIE_NAME
    return f"__Secure-{COOKIE_NAME}" if root_path(request.scope) else f"__Host-{COOKIE_NAME}"


def session_cookie(request: HTTPConnection) -> str | None:
    """The cookie's value; two different ones tell nothing, for one of them was put there by a stranger."""
    name = cookie_name(request)
    values = set()
    for header in request.headers.getlist("cookie"):
        for pair in header.split(";"):
            key, _, value = pair.partition("=")
            if key.strip() == name:
                values.add(value.strip())
    value = values.pop() if len(values) == 1 else ""
    return value if 0 < len(value) <= MAX_COOKIE and value.isascii() else None


def set_session_cookie(request: HTTPConnection, response: Response, value: str, max_age: int) -> None:
    name = cookie_name(request)
    response.set_cookie(
        name,
        value,
        max_age=max_age,
        path=root_path(request.scope) or "/",
        secure=name != COOKIE_NAME,
        httponly=True,
        samesite="lax",
    )


def clear_session_cookie(request: HTTPConnection, response: Response) -> None:
    set_session_cookie(request, response, "", 0)


class Sessions:
    """Opens, finds and ends sessions."""

    def __init__(self, store: Store, clock: Clock, changed: Callable[[], object] = lambda: None) -> None:
        self._store = store
        self._clock = clock
        self._changed = changed  # called when a session is over

    def open(self, account: Account, address: str, agent: str, instead_of: str | None = None) -> str | None:
        """A new session's cookie value; the session that the browser had before is over.

        None if the account is not as it was when its password was checked: changed meanwhile, or gone.
        """
        value, now = secrets.token_urlsafe(SESSION_BYTES), self._clock.now()
        row = {
            "id_hash": _session_hash(value),
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
            connection.execute(
                sa.delete(sessions).where(sessions.c.id_hash == _session_hash(instead_of or ""))
            )
            connection.execute(sa.insert(sessions).values(row))
        self._changed()
        return value

    def find(self, value: str) -> Found | None:
        """Whose session it is, as the user is now; None when it is over."""
        id_hash, now = _session_hash(value), self._clock.now()
        with self._store.connect() as connection:
            row = connection.execute(_FIND_SESSION, {"id_hash": id_hash}).first()
        if row is None or row.expires_at <= now or row.last_seen_at <= now - timedelta(seconds=IDLE_S):
            return None
        seen = row.last_seen_at
        if _is_stale(seen, now):
            _write_last_used(self._store, sessions.c.id_hash == id_hash, sessions.c.last_seen_at, now)
            seen = now
        user = User(row.name, row.role, "session", row.id, id_hash)
        return Found(user, min(row.expires_at, seen + timedelta(seconds=WRITE_EVERY_S)))

    def close(self, value: str) -> None:
        with self._store.begin() as connection:
            connection.execute(sa.delete(sessions).where(sessions.c.id_hash == _session_hash(value)))
        self._changed()

    def close_others(self, user: User) -> int:
        """Ends the user's sessions but the one that asks; tells how many."""
        others = (sessions.c.user_id == user.id) & (sessions.c.id_hash != (user.session or ""))
        with self._store.begin() as connection:
            count = connection.execute(sa.delete(sessions).where(others)).rowcount
        self._changed()
        return count

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


def _session_hash(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()


def _shown(text: str, length: int) -> str:
    return "".join(filter(str.isprintable, text))[:length]


class Tokens:
    """Makes, finds and revokes tokens."""

    def __init__(self, store: Store, clock: Clock, changed: Callable[[], object] = lambda: None) -> None:
        self._store = store
        self._clock = clock
        self._changed = changed  # called when a token is revoked

    def create(self, user_id: int, label: str, scope: str = "all", days: int | None = None) -> str:
        """A new token; this is the only time it can be read."""
        token, now = TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES), self._clock.now()
        row = {
            "user_id": user_id,
            "name": checked_label(label),
            "token_hash": _token_hash(token),
            "created_at": now,
            "scope": _checked_scope(scope),
            "expires_at": None if days is None else now + _checked_days(days),
        }
        with self._store.begin() as connection:
            name = connection.execute(_LOCK_NAME, {"id": user_id}).scalar_one_or_none()
            if name is None:  # removed by an admin a moment ago
                raise UnknownUser(name="")
            count = connection.execute(sa.select(sa.func.count()).where(*_alive(user_id))).scalar_one()
            if count >= MOST_TOKENS:
                raise TooManyTokens(most=MOST_TOKENS)
            connection.execute(sa.insert(api_tokens).values(row))
        log.info("token_created", user=name, token=row["name"], scope=scope, days=days or "no end")
        return token

    def find(self, token: str, via: Via = "token", name: str | None = None) -> Found | None:
        """Whose token it is, as the user is now; with a `name`, only if it is that user's.

        Raises TokenExpired for one that has ended.
        """
        if not token.startswith(TOKEN_PREFIX):
            return None
        now = self._clock.now()
        with self._store.connect() as connection:
            row = connection.execute(_FIND_TOKEN, {"token_hash": _token_hash(token)}).first()
        if row is None or (name is not None and name_key(name) != row.name_key):
            return None
        if row.expires_at is not None and row.expires_at <= now:
            raise TokenExpired(end=row.expires_at)
        used = row.last_used_at
        if used is None or _is_stale(used, now):
            _write_last_used(self._store, api_tokens.c.id == row.token_id, api_tokens.c.last_used_at, now)
            used = now
        until = used + timedelta(seconds=WRITE_EVERY_S)
        user = _narrowed(User(row.name, row.role, via, row.id), row.scope)
        return Found(user, min(until, row.expires_at or until))

    def revoke(self, user_id: int, token_id: int) -> str | None:
        """Ends a token of this user at once; tells its name, or None if there is none."""
        end = sa.update(api_tokens).where(api_tokens.c.id == token_id, *_alive(user_id))
        with self._store.begin() as connection:
            ended = end.values(revoked_at=self._clock.now()).returning(api_tokens.c.name)
            name = connection.execute(ended).scalar_one_or_none()
        self._changed()
        log.info("token_revoked", user_id=user_id, token=name)
        return name

    def revoke_all(self, user_id: int) -> int:
        """Ends all tokens of a user; tells how many."""
        end = sa.update(api_tokens).where(*_alive(user_id)).values(revoked_at=self._clock.now())
        with self._store.begin() as connection:
            count = connection.execute(end).rowcount
        self._changed()
        log.info("tokens_revoked", user_id=user_id, count=count)
        return count

    def of_user(self, user_id: int) -> Sequence[sa.Row[Any]]:
        """The user's tokens that are not revoked, the newest first; some may have ended by themselves."""
        query = sa.select(api_tokens).where(*_alive(user_id)).order_by(api_tokens.c.id.desc())
        with self._store.connect() as connection:
            return connection.execute(query).all()


def _narrowed(user: User, scope: str) -> User:
    """The user with no more rights than the scope gives, and never more than the user has."""
    if scope == "all":
        return user
    if scope not in SCOPES or (scope == "run" and not user.has_role("editor")):
        scope = "read"
    return replace(user, role="viewer", scope=cast("TokenScope", scope))


def _checked_scope(scope: str) -> str:
    if scope not in SCOPES:
        raise UnknownScope(scope=scope)
    return scope


def _checked_days(days: int) -> timedelta:
    if not 1 <= days <= MOST_DAYS:
        raise DaysRefused(most=MOST_DAYS)
    return timedelta(days=days)


def _alive(user_id: int) -> tuple[sa.ColumnElement[bool], ...]:
    return (api_tokens.c.user_id == user_id, api_tokens.c.revoked_at.is_(None))


def _token_hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _is_stale(last: datetime, now: datetime) -> bool:
    return now - last >= timedelta(seconds=WRITE_EVERY_S)


def _write_last_used(
    store: Store, row: sa.ColumnElement[bool], column: sa.Column[datetime], now: datetime
) -> None:
    """Writes the time, unless another process was quicker."""
    before = now - timedelta(seconds=WRITE_EVERY_S)
    update = sa.update(column.table).where(row, (column <= before) | column.is_(None))
    try:
        with store.begin() as connection:
            connection.execute(update.values({column: now}))
    except PlugbayError as error:
        log.warning("last_used_not_written", reason=error)
