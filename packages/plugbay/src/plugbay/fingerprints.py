"""Which keys a store is used with: a process with others is stopped before it writes what nobody can read."""

import hashlib
from collections.abc import Sequence

import sqlalchemy as sa

from plugbay.errors import KeyMismatch
from plugbay.keys import ENCRYPTION_KEY_VARIABLE, SESSION_SECRET_VARIABLE
from plugbay.logs import get_logger
from plugbay.store import Store
from plugbay.store.tables import key_fingerprints

log = get_logger(__name__)


def check_keys(store: Store, session_key: bytes, encryption_keys: Sequence[bytes]) -> None:
    """Compares the keys with those the store knows: PostgreSQL refuses others, SQLite logs the change."""
    _check(store, "session", SESSION_SECRET_VARIABLE, [session_key])
    _check(store, "encryption", ENCRYPTION_KEY_VARIABLE, encryption_keys)


def fingerprint(kind: str, key: bytes) -> str:
    """What is kept of a key: enough to know it again, nothing to find it by."""
    return hashlib.blake2b(key, digest_size=16, person=kind.encode()).hexdigest()


def _check(store: Store, kind: str, variable: str, keys: Sequence[bytes]) -> None:
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
