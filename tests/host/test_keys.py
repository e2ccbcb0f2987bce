"""The two keys: what the operator may set, and what is made once when nothing is set."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from plugbay.errors import DataDirUnusable, KeyRefused, OperatorError
from plugbay.secrets import encryption_keys, session_secret
from plugbay.settings import SESSION_SECRET_PLACEHOLDER


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_configured_session_secret_is_taken_as_it_is(data_dir: Path) -> None:
    assert session_secret("s" * 32, data_dir) == b"s" * 32
    assert not data_dir.exists()


def test_the_length_of_a_session_secret_counts_in_bytes(data_dir: Path) -> None:
    assert session_secret("ä" * 16, data_dir) == ("ä" * 16).encode()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (SESSION_SECRET_PLACEHOLDER, "still the placeholder"),
        ("", "is empty"),
        (" " * 40, "is empty"),
        ("s" * 31, "fewer than 32 bytes"),
    ],
)
def test_a_bad_session_secret_is_refused_by_name_and_not_repeated(
    value: str, reason: str, data_dir: Path
) -> None:
    with pytest.raises(KeyRefused, match="PLUGBAY_SESSION_SECRET_KEY") as refused:
        session_secret(value, data_dir)
    assert reason in str(refused.value)
    assert "sss" not in str(refused.value)
    assert isinstance(refused.value, OperatorError)


def test_an_unset_session_secret_is_made_once_and_kept(data_dir: Path) -> None:
    first = session_secret(None, data_dir)
    assert len(first) >= 32
    assert session_secret(None, data_dir) == first
    assert mode(data_dir / "session.key") == 0o600
    assert mode(data_dir) == 0o700


def test_two_installations_do_not_make_the_same_key(tmp_path: Path) -> None:
    assert session_secret(None, tmp_path / "a") != session_secret(None, tmp_path / "b")


def test_the_log_says_that_a_key_was_made_but_not_which(
    data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        key = session_secret(None, data_dir)
        session_secret(None, data_dir)
    assert [record.getMessage() for record in caplog.records] == [f"key_made file={data_dir}/session.key"]
    assert key.decode() not in caplog.text


def test_a_kept_key_that_others_may_read_is_reported(
    data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = session_secret(None, data_dir)
    (data_dir / "session.key").chmod(0o644)
    assert session_secret(None, data_dir) == key
    assert f"key_readable_by_others file={data_dir}/session.key mode=644" in caplog.text


@pytest.mark.parametrize("content", [b"", b"\n", b"short\n"])
def test_a_kept_session_secret_that_was_cut_is_refused(data_dir: Path, content: bytes) -> None:
    session_secret(None, data_dir)
    (data_dir / "session.key").write_bytes(content)
    with pytest.raises(KeyRefused, match=r"session\.key cannot be used"):
        session_secret(None, data_dir)


def test_configured_encryption_keys_are_taken_in_order(data_dir: Path) -> None:
    new, old = Fernet.generate_key(), Fernet.generate_key()
    assert encryption_keys(f"{new.decode()}, {old.decode()},", data_dir) == [new, old]
    assert not data_dir.exists()


@pytest.mark.parametrize("value", ["", " , "])
def test_an_empty_encryption_key_is_refused(value: str, data_dir: Path) -> None:
    with pytest.raises(KeyRefused, match="PLUGBAY_ENCRYPTION_KEY cannot be used: it is empty"):
        encryption_keys(value, data_dir)


def test_a_bad_encryption_key_is_named_by_its_place_and_not_repeated(data_dir: Path) -> None:
    good = Fernet.generate_key().decode()
    with pytest.raises(KeyRefused, match="PLUGBAY_ENCRYPTION_KEY cannot be used: key 2 of 2") as refused:
        encryption_keys(f"{good},hunter2", data_dir)
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_an_unset_encryption_key_is_made_once_and_kept(data_dir: Path) -> None:
    first = encryption_keys(None, data_dir)
    assert encryption_keys(None, data_dir) == first
    assert mode(data_dir / "encryption.key") == 0o600


def test_the_kept_file_may_hold_several_keys_too(data_dir: Path) -> None:
    [old] = encryption_keys(None, data_dir)
    new = Fernet.generate_key()
    (data_dir / "encryption.key").write_bytes(new + b",\n" + old + b"\n")
    assert encryption_keys(None, data_dir) == [new, old]


def test_a_kept_encryption_key_that_was_spoiled_is_refused_by_its_file(data_dir: Path) -> None:
    encryption_keys(None, data_dir)
    (data_dir / "encryption.key").write_text("spoiled")
    with pytest.raises(KeyRefused, match=r"encryption\.key cannot be used: key 1 of 1"):
        encryption_keys(None, data_dir)


def test_a_place_where_no_key_can_be_kept_is_named(tmp_path: Path) -> None:
    (tmp_path / "session.key").mkdir()
    with pytest.raises(DataDirUnusable, match=r"session\.key: Is a directory"):
        session_secret(None, tmp_path)


def test_processes_that_start_at_once_agree_on_the_keys(data_dir: Path) -> None:
    program = """if True:
        import sys
        from pathlib import Path
        from plugbay.secrets import encryption_keys, session_secret
        from cryptography.fernet import Fernet
        print("ready", flush=True)
        sys.stdin.read()
        print(session_secret(None, Path(sys.argv[1])), encryption_keys(None, Path(sys.argv[1])))
    """
    command = [sys.executable, "-c", program, str(data_dir)]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(5)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    answers = {process.communicate()[0] for process in processes}
    assert len(answers) == 1
    assert "b'" in answers.pop()


def test_reading_the_configuration_does_not_load_the_cryptography() -> None:
    program = (
        "import sys, plugbay.settings; print('cryptography' in sys.modules, 'sqlalchemy' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.split()[0] == "False"
