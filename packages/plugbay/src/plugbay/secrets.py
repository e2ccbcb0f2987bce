"""The keys of an installation, and the secrets that are encrypted with them."""

import hashlib
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa
from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from plugbay.errors import DataDirUnusable, KeyMismatch, KeyRefused, SecretUnreadable
from plugbay.logs import get_logger
from plugbay.private_files import file_lock, make_private_dir, write_private_file
from plugbay.settings import SESSION_SECRET_PLACEHOLDER
from plugbay.store import Store
from plugbay.store.tables import key_fingerprints

SESSION_SECRET_VARIABLE = "PLUGBAY_SESSION_SECRET_KEY"  # noqa: S105 - a name, not a secret
ENCRYPTION_KEY_VARIABLE = "PLUGBAY_ENCRYPTION_KEY"
SESSION_SECRET_MIN_BYTES = 32
SESSION_SECRET_FILE = "session.key"  # noqa: S105
ENCRYPTION_KEY_FILE = "encryption.key"

Outcome = Literal["renewed", "current", "unreadable"]  # what became of one secret when the key changed
OUTCOMES: tuple[Outcome, ...] = ("renewed", "current", "unreadable")

log = get_logger(__name__)


def session_secret(configured: str | None, data_dir: Path) -> bytes:
    """The key that signs: the configured one, else a random one, made once and kept in the data directory."""
    if configured is not None:
        return _checked_secret(configured.encode(), SESSION_SECRET_VARIABLE)
    path = data_dir / SESSION_SECRET_FILE
    return _checked_secret(_kept_key(path, lambda: secrets.token_urlsafe(48).encode()), str(path))


def _checked_secret(secret: bytes, variable: str) -> bytes:
    if not secret.strip():
        raise KeyRefused(variable=variable, reason="it is empty; leave it unset to have a key made")
    if secret == SESSION_SECRET_PLACEHOLDER.encode():
        reason = "it is still the placeholder; set a long random value, or leave it unset to have one made"
        raise KeyRefused(variable=variable, reason=reason)
    if len(secret) < SESSION_SECRET_MIN_BYTES:
        raise KeyRefused(variable=variable, reason=f"it has fewer than {SESSION_SECRET_MIN_BYTES} bytes")
    return secret


def encryption_keys(configured: str | None, data_dir: Path) -> list[bytes]:
    """The keys that decrypt, of which the first encrypts: the configured ones, else the data directory's."""
    if configured is None:
        path = data_dir / ENCRYPTION_KEY_FILE
        return _checked_keys(_kept_key(path, Fernet.generate_key), str(path))
    return _checked_keys(configured.encode(), ENCRYPTION_KEY_VARIABLE)


def _checked_keys(given: bytes, variable: str) -> list[bytes]:
    keys = [part.strip() for part in given.split(b",") if part.strip()]
    if not keys:
        raise KeyRefused(variable=variable, reason="it is empty; leave it unset to have a key made")
    for number, key in enumerate(keys, start=1):
        try:
            Fernet(key)
        except ValueError:
            reason = f"key {number} of {len(keys)} is not 32 bytes in URL-safe base64"
            raise KeyRefused(variable=variable, reason=reason) from None
    return keys


def _kept_key(path: Path, make: Callable[[], bytes]) -> bytes:
    make_private_dir(path.parent)
    try:
        if not path.exists():
            _make_key(path, make)
        _warn_of_readers(path)
        return path.read_bytes().strip()
    except OSError as error:
        raise DataDirUnusable(path=path, reason=error.strerror) from error


def _make_key(path: Path, make: Callable[[], bytes]) -> None:
    with file_lock(path.parent):  # of several processes that start at once, one makes the key
        if not path.exists():
            write_private_file(path, make() + b"\n")
            log.info("key_made", file=path)


def _warn_of_readers(path: Path) -> None:
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        log.warning("key_readable_by_others", file=path, mode=f"{mode:o}")


def check_keys(store: Store, session_key: bytes, encryption_keys: Sequence[bytes]) -> None:
    """Compares the keys with those the store knows: PostgreSQL refuses others, SQLite logs the change."""
    _check_fingerprint(store, "session", SESSION_SECRET_VARIABLE, [session_key])
    _check_fingerprint(store, "encryption", ENCRYPTION_KEY_VARIABLE, encryption_keys)


def fingerprint(kind: str, key: bytes) -> str:
    """What is kept of a key: enough to know it again, nothing to find it by."""
    return hashlib.blake2b(key, digest_size=16, person=kind.encode()).hexdigest()


def _check_fingerprint(store: Store, kind: str, variable: str, keys: Sequence[bytes]) -> None:
    ours = [fingerprint(kind, key) for key in keys]
    row = key_fingerprints.c.kind == kind
    with store.begin() as connection:
        first = store.insert(key_fingerprints).values(kind=kind, fingerprint=ours[0])
        connection.execute(first.on_conflict_do_nothing())
        stored = connection.scalars(sa.select(key_fingerprints.c.fingerprint).where(row)).one()
        if stored not in ours:
            _meet_stranger(store.dialect, kind, variable)
        if stored != ours[0]:
            connection.execute(sa.update(key_fingerprints).where(row).values(fingerprint=ours[0]))


def _meet_stranger(dialect: str, kind: str, variable: str) -> None:
    # machines may share a PostgreSQL store; a SQLite store has one machine, whose key was lost or replaced
    if dialect == "postgresql":
        raise KeyMismatch(variable=variable, kind=kind)
    log.warning("key_changed", kind=kind, variable=variable)


@dataclass(frozen=True)
class SecretColumn:
    """A column that holds encrypted secrets; `where` says in which rows, if not in all."""

    owner: str
    column: sa.Column[Any]
    where: sa.ColumnElement[bool] | None = None


class Secrets:
    """Encrypts with the first of the keys, decrypts with any of them."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._first = Fernet(keys[0])
        self._fernet = MultiFernet([Fernet(key) for key in keys])
        self._columns: tuple[SecretColumn, ...] = ()
        self._lock = threading.Lock()

    def encrypt(self, text: str) -> str:
        """The text as a token that is safe to store."""
        return self._fernet.encrypt(text.encode()).decode()

    def decrypt(self, token: str) -> str:
        """The text of a token; raises SecretUnreadable when no key here fits."""
        try:
            return self._fernet.decrypt(token.encode()).decode()
        except (InvalidToken, UnicodeError) as error:
            raise SecretUnreadable from error

    def renewed(self, token: str) -> str:
        """The same secret under the first key: the token itself, if that key made it."""
        try:
            self._first.decrypt(token.encode())
        except (InvalidToken, UnicodeError):
            return self.encrypt(self.decrypt(token))
        return token

    def add(self, owner: str, column: sa.Column[Any], where: sa.ColumnElement[bool] | None = None) -> None:
        """Says where an owner keeps what it encrypted, so that it is renewed when the key changes."""
        with self._lock:
            self._columns = (*self._columns, SecretColumn(owner, column, where))

    def remove_owner(self, owner: str) -> None:
        with self._lock:
            self._columns = tuple(item for item in self._columns if item.owner != owner)

    @property
    def columns(self) -> tuple[SecretColumn, ...]:
        """Where secrets are kept, as far as their owners are loaded."""
        return self._columns

    def __repr__(self) -> str:
        return "Secrets(…)"


@dataclass(frozen=True)
class Rotation:
    """What became of the secrets in one column; no key fits those that are unreadable."""

    kept: SecretColumn
    counts: Counter[Outcome]


def rotate(store: Store, secrets: Secrets) -> list[Rotation]:
    """Renews all secrets that an older key encrypted; servers may go on meanwhile."""
    return [Rotation(kept, _rotate(store, secrets, kept)) for kept in secrets.columns]


def _rotate(store: Store, secrets: Secrets, kept: SecretColumn) -> Counter[Outcome]:
    is_secret = sa.true() if kept.where is None else kept.where
    query = sa.select(*kept.column.table.primary_key, kept.column.label("token"))
    with store.begin() as connection:
        rows = connection.execute(query.where(is_secret, kept.column != "")).all()
        return Counter(_renew(connection, secrets, kept, key, token) for *key, token in rows)


def _renew(
    connection: sa.Connection, secrets: Secrets, kept: SecretColumn, key: Sequence[Any], token: str
) -> Outcome:
    try:
        fresh = secrets.renewed(token)
    except SecretUnreadable:
        return "unreadable"
    if fresh == token:
        return "current"
    table = kept.column.table
    is_this_row = [column == value for column, value in zip(table.primary_key, key, strict=True)]
    # only the token that was read: somebody may have entered another secret just now
    update = sa.update(table).where(*is_this_row, kept.column == token)
    connection.execute(update.values({kept.column.name: fresh}))
    return "renewed"
