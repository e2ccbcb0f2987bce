"""Keys and the store: another key is refused where machines share a store, reported where there is one."""

import pytest
import sqlalchemy as sa
from cryptography.fernet import Fernet
from plugbay.errors import KeyMismatch, OperatorError
from plugbay.secrets import check_keys, fingerprint
from plugbay.store import Store
from plugbay.store.tables import key_fingerprints

SIGN, OTHER_SIGN = b"s" * 32, b"t" * 32
OLD, NEW = Fernet.generate_key(), Fernet.generate_key()


def stored(store: Store) -> dict[str, str]:
    with store.connect() as connection:
        rows = connection.execute(sa.select(key_fingerprints.c.kind, key_fingerprints.c.fingerprint))
        return {row.kind: row.fingerprint for row in rows}


@pytest.fixture
def known(store: Store) -> Store:
    """A store that has been used with the keys SIGN and OLD."""
    check_keys(store, SIGN, [OLD])
    return store


def test_the_first_keys_are_remembered_by_their_fingerprints(known: Store) -> None:
    assert stored(known) == {
        "session": fingerprint("session", SIGN),
        "encryption": fingerprint("encryption", OLD),
    }
    assert OLD.decode() not in str(stored(known))


def test_the_same_keys_are_welcome_again(known: Store) -> None:
    before = stored(known)
    check_keys(known, SIGN, [OLD])
    assert stored(known) == before


def test_one_key_used_for_both_does_not_show(known: Store) -> None:
    assert fingerprint("session", SIGN) != fingerprint("encryption", SIGN)


@pytest.mark.parametrize(
    ("sign", "encrypt", "variable"),
    [
        (OTHER_SIGN, OLD, "PLUGBAY_SESSION_SECRET_KEY"),
        (SIGN, NEW, "PLUGBAY_ENCRYPTION_KEY"),
    ],
    ids=["session", "encryption"],
)
def test_another_key_is_refused_on_postgresql_and_reported_on_sqlite(
    known: Store, sign: bytes, encrypt: bytes, variable: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = stored(known)
    if known.dialect == "postgresql":
        with pytest.raises(KeyMismatch, match=f"^{variable} is not the key that this store is used with"):
            check_keys(known, sign, [encrypt])
        assert stored(known) == before
    else:
        check_keys(known, sign, [encrypt])
        assert (
            f"key_changed kind={'session' if sign != SIGN else 'encryption'} variable={variable}"
            in caplog.text
        )
        assert stored(known) != before


def test_a_mismatch_is_the_operators_to_mend() -> None:
    assert issubclass(KeyMismatch, OperatorError)


def test_encryption_keys_can_be_changed_one_process_after_the_other(
    known: Store, caplog: pytest.LogCaptureFixture
) -> None:
    for keys in ([OLD, NEW], [OLD, NEW], [NEW, OLD], [OLD, NEW], [NEW, OLD], [NEW]):
        check_keys(known, SIGN, keys)
    assert stored(known)["encryption"] == fingerprint("encryption", NEW)
    assert "key_changed" not in caplog.text


def test_a_forgotten_fingerprint_makes_room_for_a_new_session_secret(known: Store) -> None:
    with known.begin() as connection:
        connection.exec_driver_sql("DELETE FROM key_fingerprints WHERE kind = 'session'")
    check_keys(known, OTHER_SIGN, [OLD])
    assert stored(known)["session"] == fingerprint("session", OTHER_SIGN)
