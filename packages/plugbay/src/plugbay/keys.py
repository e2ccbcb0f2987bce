"""The two keys of an installation: one signs what the browser carries, one encrypts secrets at rest."""

import secrets
from collections.abc import Callable
from pathlib import Path

from plugbay.errors import DataDirUnusable, KeyRefused
from plugbay.logs import get_logger
from plugbay.private_files import file_lock, make_private_dir, write_private_file

log = get_logger(__name__)
SESSION_SECRET_VARIABLE = "PLUGBAY_SESSION_SECRET_KEY"  # noqa: S105 - a name, not a secret
ENCRYPTION_KEY_VARIABLE = "PLUGBAY_ENCRYPTION_KEY"
SESSION_SECRET_PLACEHOLDER = "<SESSION_SECRET>"  # noqa: S105 - it never signs anything
SESSION_SECRET_MIN_BYTES = 32
SESSION_SECRET_FILE = "session.key"  # noqa: S105
ENCRYPTION_KEY_FILE = "encryption.key"


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
    from cryptography.fernet import Fernet

    if configured is None:
        path = data_dir / ENCRYPTION_KEY_FILE
        return _checked_keys(_kept_key(path, Fernet.generate_key), str(path))
    return _checked_keys(configured.encode(), ENCRYPTION_KEY_VARIABLE)


def _checked_keys(given: bytes, variable: str) -> list[bytes]:
    from cryptography.fernet import Fernet

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
