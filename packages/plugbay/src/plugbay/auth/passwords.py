"""Passwords are kept as argon2id hashes; checking one is meant to be slow."""

import secrets
import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

# RFC 9106, second recommended option: 64 MiB, three passes, four lanes; about 0.1 s on one core
TIME_COST = 3
MEMORY_KIB = 64 * 1024
LANES = 4


class Passwords:
    """Hashes and checks passwords with one set of costs."""

    def __init__(self, time_cost: int = TIME_COST, memory_kib: int = MEMORY_KIB, lanes: int = LANES) -> None:
        self._hasher = PasswordHasher(time_cost=time_cost, memory_cost=memory_kib, parallelism=lanes)
        # the hash of nothing: checking against it takes as long as checking against a user's
        salt, digest = secrets.token_hex(11), secrets.token_hex(32)[:43]
        self._nobody = f"$argon2id$v=19$m={memory_kib},t={time_cost},p={lanes}${salt}${digest}"

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
