"""Passwords are kept as argon2id hashes; checking one is meant to be slow."""

import base64
import secrets
import unicodedata
from dataclasses import dataclass

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError


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
