"""A change of the encryption key: every secret is renewed, then the old key can be dropped."""

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from cryptography.fernet import Fernet
from plugbay import Plugbay, new_metadata
from plugbay.cli import root
from plugbay.errors import SecretUnreadable
from plugbay.secrets import Secrets, rotate
from plugbay.store import Store

OLD, NEW, LOST = (Fernet.generate_key().decode() for _ in range(3))

vaults = sa.Table(
    "vaults",
    new_metadata(),
    sa.Column("house", sa.String(20), primary_key=True),
    sa.Column("room", sa.Integer, primary_key=True),
    sa.Column("combination", sa.Text, nullable=False),
)


def keyed(*keys: str) -> Secrets:
    secrets = Secrets([key.encode() for key in keys])
    secrets.add("bank", vaults.c.combination)
    return secrets


@pytest.fixture
def bank(store: Store) -> Callable[[], dict[int, str]]:
    """A table with five vaults: old, old, new, empty and lost. Answers with what is in them."""
    texts = [keyed(key).encrypt(f"combination {key}") for key in (OLD, OLD, NEW, LOST)]
    with store.begin() as connection:
        vaults.create(connection)
        rows = [
            {"house": "here", "room": room, "combination": text} for room, text in enumerate([*texts, ""])
        ]
        connection.execute(sa.insert(vaults), rows)

    def read() -> dict[int, str]:
        with store.connect() as connection:
            return {row.room: row.combination for row in connection.execute(sa.select(vaults))}

    return read


def test_what_an_older_key_encrypted_is_renewed_and_all_else_left_alone(
    store: Store, bank: Callable[[], dict[int, str]]
) -> None:
    before = bank()
    [found] = rotate(store, keyed(NEW, OLD))
    after = bank()
    assert found.counts == {"renewed": 2, "current": 1, "unreadable": 1}
    assert [room for room in before if before[room] != after[room]] == [0, 1]
    assert keyed(NEW).decrypt(after[0]) == f"combination {OLD}"
    [again] = rotate(store, keyed(NEW, OLD))
    assert again.counts == {"current": 3, "unreadable": 1}


def test_secrets_of_an_owner_that_went_are_not_looked_at(store: Store) -> None:
    secrets = keyed(NEW)
    secrets.remove_owner("bank")
    assert rotate(store, secrets) == []


def settings_of(host: Plugbay) -> str:
    return host.get_module("greeter").module_settings.password.get_secret_value()


def test_secret_settings_are_renewed_and_nothing_else(make_host: Callable[..., Plugbay]) -> None:
    host = make_host("good", config={"encryption_key": OLD})
    host.modules.save_settings("greeter", {"password": "hush", "greeting": "Hi"})
    both = make_host(config={"encryption_key": f"{NEW},{OLD}"})
    assert [part.counts for part in rotate(both.store, both.secrets)] == [{"renewed": 1}]
    alone = make_host(config={"encryption_key": NEW})
    assert settings_of(alone) == "hush"
    assert alone.get_module("greeter").module_settings.greeting == "Hi"
    with pytest.raises(SecretUnreadable):
        Secrets([OLD.encode()]).decrypt(Secrets([NEW.encode()]).encrypt("hush"))


@pytest.fixture
def command(alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Runs `plugbay secrets rotate` with these keys."""
    monkeypatch.chdir(tmp_path)

    def run(*keys: str) -> tuple[int, str]:
        monkeypatch.setenv("PLUGBAY_ENCRYPTION_KEY", ",".join(keys))
        result = CliRunner().invoke(root, ["secrets", "rotate"], catch_exceptions=False)
        return result.exit_code, result.output

    return run


def test_the_command_says_when_the_old_key_can_be_dropped(
    make_host: Callable[..., Plugbay], command: Callable[..., tuple[int, str]]
) -> None:
    host = make_host("good", config={"encryption_key": OLD})
    host.modules.save_settings("greeter", {"password": "hush"})
    status, said = command(NEW, OLD)
    assert status == 0
    assert "1 renewed, 0 current, 0 unreadable" in said
    assert "the others can be dropped" in said
    assert command(NEW)[0] == 0


def test_the_command_says_what_it_could_not_look_at(
    make_host: Callable[..., Plugbay], command: Callable[..., tuple[int, str]]
) -> None:
    host = make_host("good", config={"encryption_key": LOST})
    host.modules.save_settings("greeter", {"password": "hush"})
    host.modules.disable("polite")
    status, said = command(NEW, OLD)
    assert status == 1
    assert "Some secrets fit none of the keys: enter them again." in said
    assert "Not loaded, so not looked at: polite." in said
    assert "can be dropped" not in said
