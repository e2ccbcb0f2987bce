"""Secrets at rest: unreadable without a key, readable through a change of keys."""

import pytest
from cryptography.fernet import Fernet
from hypothesis import given
from hypothesis import strategies as st
from plugbay.errors import SecretUnreadable
from plugbay.secrets import Secrets

OLD, NEW = Fernet.generate_key(), Fernet.generate_key()
URL = "postgresql://anna:hunter2@db.example/shop"


def test_a_secret_comes_back_and_cannot_be_seen_in_between() -> None:
    token = Secrets([OLD]).encrypt(URL)
    assert Secrets([OLD]).decrypt(token) == URL
    assert "hunter2" not in token
    assert token.isascii()


def test_the_same_secret_never_looks_the_same() -> None:
    secrets = Secrets([OLD])
    assert secrets.encrypt(URL) != secrets.encrypt(URL)


def test_without_its_key_a_secret_is_unreadable() -> None:
    token = Secrets([OLD]).encrypt(URL)
    with pytest.raises(SecretUnreadable, match="enter it again"):
        Secrets([NEW]).decrypt(token)


@pytest.mark.parametrize("spoil", ["", "x", "gAAAA", "ä", "postgresql://anna:hunter2@db.example/shop"])
def test_what_is_no_token_is_unreadable_and_not_repeated(spoil: str) -> None:
    with pytest.raises(SecretUnreadable) as unreadable:
        Secrets([OLD]).decrypt(spoil)
    assert "hunter2" not in str(unreadable.value)


def test_a_token_that_was_tampered_with_is_unreadable() -> None:
    token = Secrets([OLD]).encrypt(URL)
    other = "A" if token[40] != "A" else "B"
    with pytest.raises(SecretUnreadable):
        Secrets([OLD]).decrypt(token[:40] + other + token[41:])


def test_the_first_key_encrypts_and_all_decrypt() -> None:
    both = Secrets([NEW, OLD])
    assert both.decrypt(Secrets([OLD]).encrypt(URL)) == URL
    assert Secrets([NEW]).decrypt(both.encrypt(URL)) == URL
    with pytest.raises(SecretUnreadable):
        Secrets([OLD]).decrypt(both.encrypt(URL))


def test_its_picture_shows_no_key() -> None:
    assert repr(Secrets([OLD])) == "Secrets(…)"


@given(st.text())
def test_every_text_comes_back(text: str) -> None:
    secrets = Secrets([OLD])
    assert secrets.decrypt(secrets.encrypt(text)) == text
