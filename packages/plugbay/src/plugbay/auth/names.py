"""What a user, a password and a token may be called."""

import unicodedata

from plugbay.auth.errors import LabelRefused, NameRefused, PasswordRefused
from plugbay.store.tables import name_key, users

MAX_NAME = 64  # characters; a name must fit beside others in a table
MAX_LABEL = 100
MIN_PASSWORD = 8  # characters; what NIST SP 800-63B asks of a password that people choose
MAX_PASSWORD = 1024  # characters; more says nothing and only costs time
_MAX_KEY = users.c.name_key.type.length  # type: ignore[attr-defined]


def checked_name(name: str) -> str:
    """The name in its one spelling, or NameRefused."""
    name = unicodedata.normalize("NFC", name)
    if not is_possible_name(name):
        raise NameRefused(most=MAX_NAME)
    return name


def is_possible_name(name: str) -> bool:
    # a colon ends the name in HTTP Basic; what is not printable can make two names look like one
    plain = 0 < len(name) <= MAX_NAME and name.isprintable() and ":" not in name and name == name.strip()
    return plain and 0 < len(name_key(name)) <= _MAX_KEY


def checked_label(label: str) -> str:
    """A token's name without the spaces around it, or LabelRefused."""
    label = unicodedata.normalize("NFC", label.strip())
    if not (0 < len(label) <= MAX_LABEL and label.isprintable()):
        raise LabelRefused(most=MAX_LABEL)
    return label


def checked_password(password: str) -> str:
    """The password, if people may choose it, or PasswordRefused."""
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise PasswordRefused(least=MIN_PASSWORD, most=MAX_PASSWORD)
    return password
