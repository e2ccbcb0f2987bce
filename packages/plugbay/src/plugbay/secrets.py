"""Secrets at rest: encrypted with the host's keys, never in the store as they are."""

from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from plugbay.errors import SecretUnreadable


class Secrets:
    """Encrypts with the first of the keys, decrypts with any of them."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._fernet = MultiFernet([Fernet(key) for key in keys])

    def encrypt(self, text: str) -> str:
        """The text as a token that is safe to store."""
        return self._fernet.encrypt(text.encode()).decode()

    def decrypt(self, token: str) -> str:
        """The text of a token; raises SecretUnreadable when no key here fits."""
        try:
            return self._fernet.decrypt(token.encode()).decode()
        except (InvalidToken, UnicodeError) as error:
            raise SecretUnreadable from error

    def __repr__(self) -> str:
        return "Secrets(…)"
