"""Secrets at rest: encrypted with the host's keys, never in the store as they are."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from plugbay.errors import SecretUnreadable

if TYPE_CHECKING:
    import sqlalchemy as sa


@dataclass(frozen=True)
class SecretColumn:
    """A column that holds encrypted secrets; `where` says in which rows, if not in all."""

    owner: str
    column: "sa.Column[Any]"
    where: "sa.ColumnElement[bool] | None" = None


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

    def add(
        self, owner: str, column: "sa.Column[Any]", where: "sa.ColumnElement[bool] | None" = None
    ) -> None:
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
