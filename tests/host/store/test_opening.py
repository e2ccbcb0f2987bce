"""Opening the store: what is made, what is accepted, and what an operator reads when it cannot be."""

import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from plugbay.errors import (
    DataDirUnusable,
    OperatorError,
    PostgresqlDriverMissing,
    StoreDamaged,
    StoreNotADatabase,
    StoreUnavailable,
    StoreUrlRefused,
    StoreWithoutWal,
)
from plugbay.store import Store, open_store
from plugbay.store.engines import CONNECTION_PRAGMAS, store_url


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_an_empty_url_is_a_file_in_the_data_directory(data_dir: Path) -> None:
    store = open_store("", data_dir)
    assert store.dialect == "sqlite"
    assert store.url.database == str(data_dir / "plugbay.db")
    store.close()


def test_only_the_owner_may_read_the_data_directory_and_every_file_in_it(data_dir: Path) -> None:
    old = os.umask(0o000)
    try:
        store = open_store("", data_dir)
        assert mode(data_dir) == 0o700
        assert {path.name: mode(path) for path in data_dir.iterdir()} == {
            "plugbay.db": 0o600,
            "plugbay.db-wal": 0o600,
            "plugbay.db-shm": 0o600,
            "plugbay.db-lock": 0o600,
        }
        store.close()
    finally:
        os.umask(old)


def test_a_data_directory_that_exists_keeps_its_mode(data_dir: Path) -> None:
    data_dir.mkdir(mode=0o750)
    data_dir.chmod(0o750)
    open_store("", data_dir).close()
    assert mode(data_dir) == 0o750


def test_sqlite_keeps_references_waits_for_others_and_syncs_every_commit(sqlite_store: Store) -> None:
    def setting(name: str) -> object:
        with sqlite_store.engine.connect() as connection:
            return connection.exec_driver_sql(f"PRAGMA {name}").scalar()

    assert setting("journal_mode") == "wal"
    assert setting("foreign_keys") == 1
    assert setting("synchronous") == 2
    assert setting("busy_timeout") == 10_000
    assert len(CONNECTION_PRAGMAS) == 3


def test_a_sqlite_url_names_a_file_of_its_own(tmp_path: Path, data_dir: Path) -> None:
    path = tmp_path / "else where" / "it's #1?.db"
    store = open_store(sa.URL.create("sqlite", database=str(path)).render_as_string(), data_dir)
    assert path.is_file()
    assert mode(path.parent) == 0o700
    store.close()


def test_a_relative_path_counts_from_the_current_directory(
    tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert store_url("sqlite:///some.db", data_dir).database == str(tmp_path / "some.db")


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_spelling_of_postgresql_is_taken_to_psycopg(scheme: str, data_dir: Path) -> None:
    url = store_url(f"{scheme}://u:p@db.example/plugbay", data_dir)
    assert url.drivername == "postgresql+psycopg"
    assert url.password == "p"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("mysql://u:secret@db.example/x", "it names 'mysql'"),
        ("oracle+oracledb://u:secret@db.example/x", "it names 'oracle+oracledb'"),
        ("postgresql+asyncpg://u:secret@db.example/x", "it names 'postgresql+asyncpg'"),
        ("sqlite://", "a plain file"),
        ("sqlite:///:memory:", "a plain file"),
        ("sqlite:///x.db?mode=ro", "a plain file"),
        ("secret", "it is no URL"),
    ],
)
def test_another_database_is_refused_without_repeating_the_password(
    text: str, reason: str, data_dir: Path
) -> None:
    with pytest.raises(StoreUrlRefused) as refused:
        Store(text, data_dir)
    assert reason in str(refused.value)
    assert "PLUGBAY_DATABASE_URL" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_missing_driver_is_named_with_the_way_to_install_it(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(PostgresqlDriverMissing, match=r"pip install 'plugbay\[postgresql\]'"):
        Store("postgresql://u@db.example/x", data_dir)


def test_a_data_directory_below_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataDirUnusable, match=r"file: File exists"):
        Store("", tmp_path / "file" / "data")


def test_a_data_directory_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(DataDirUnusable, match=r"data: File exists"):
        Store("", tmp_path / "data")


OPEN_AND_SAY = """
import os, pwd, sys
from pathlib import Path
from plugbay.errors import PlugbayError
from plugbay.store import open_store
if os.geteuid() == 0:  # root may write everywhere
    os.setuid(pwd.getpwnam("nobody").pw_uid)
try:
    open_store("", Path(sys.argv[1]))
except PlugbayError as error:
    print(type(error).__name__, error)
"""


def open_as_nobody(data_dir: Path) -> str:
    """What a user without special rights is told."""
    command = [sys.executable, "-c", OPEN_AND_SAY, str(data_dir)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


@pytest.fixture
def public_dir() -> Iterator[Path]:
    """A folder that `nobody` can walk to, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_folder_that_this_user_may_not_write_is_named(public_dir: Path) -> None:
    data_dir = public_dir / "data"
    data_dir.mkdir()
    data_dir.chmod(0o555)
    said = open_as_nobody(data_dir)
    assert said.startswith(f"DataDirUnusable Cannot write {data_dir}: it is read-only.")


def test_a_store_that_this_user_may_not_write_is_named(public_dir: Path) -> None:
    data_dir = public_dir / "data"
    open_store("", data_dir).close()
    (data_dir / "plugbay.db").chmod(0o444)
    data_dir.chmod(0o777)
    assert open_as_nobody(data_dir).startswith(f"DataDirUnusable Cannot write {data_dir / 'plugbay.db'}:")


def test_a_file_that_is_no_database_is_left_alone_and_named(data_dir: Path) -> None:
    data_dir.mkdir()
    path = data_dir / "plugbay.db"
    path.write_text("the diary of a young engineer, " * 100)
    with pytest.raises(StoreNotADatabase, match=r"plugbay\.db is not a SQLite database"):
        Store("", data_dir)
    assert path.read_text().startswith("the diary")


def test_a_disk_that_cannot_have_a_write_ahead_log_is_named(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect
    without_shared_memory = "&vfs=unix-dotfile"  # what SQLite falls back to on some network drives
    monkeypatch.setattr(sqlite3, "connect", lambda url, **k: connect(url + without_shared_memory, **k))
    with pytest.raises(StoreWithoutWal, match="Put the store on a local disk"):
        Store("", data_dir)


def test_a_damaged_database_is_named(data_dir: Path) -> None:
    store = open_store("", data_dir)
    store.close()
    path = data_dir / "plugbay.db"
    content = bytearray(path.read_bytes())
    content[100:4096] = b"\x07" * 3996
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match="put back a backup"):
        open_store("", data_dir)


def test_a_database_that_is_down_is_named_with_its_password_hidden(data_dir: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(StoreUnavailable) as down:
            Store(f"postgresql://anna:secret@127.0.0.1:{port}/plugbay", data_dir)
    assert f"anna:***@127.0.0.1:{port}/plugbay" in str(down.value)
    assert "Connection refused" in str(down.value)
    assert "secret" not in str(down.value)


def test_a_database_that_does_not_exist_is_named(postgres_server: str, data_dir: Path) -> None:
    url = sa.make_url(postgres_server).set(database="nowhere").render_as_string(hide_password=False)
    with pytest.raises(StoreUnavailable, match='database "nowhere" does not exist'):
        Store(url, data_dir)


def test_what_stops_a_start_is_the_operators_to_mend() -> None:
    for error in (StoreUrlRefused, DataDirUnusable, StoreNotADatabase, StoreDamaged, StoreUnavailable):
        assert issubclass(error, OperatorError)


def test_postgresql_answers_in_utc_under_the_name_of_the_product(postgres_url: str, data_dir: Path) -> None:
    store = Store(postgres_url, data_dir)
    with store.connect() as connection:
        assert connection.exec_driver_sql("SHOW timezone").scalar() == "UTC"
        assert connection.exec_driver_sql("SHOW application_name").scalar() == "plugbay"
    store.close()


def test_it_says_where_it_is_without_its_secrets(
    postgres_url: str, sqlite_store: Store, data_dir: Path
) -> None:
    assert sqlite_store.place == str(data_dir / "plugbay.db")
    store = Store(f"{postgres_url}&password=secret", data_dir)
    assert store.place == f"postgresql://postgres@/{store.url.database}"
    store.close()


def test_what_the_url_says_of_the_connection_wins(postgres_url: str, data_dir: Path) -> None:
    store = Store(f"{postgres_url}&application_name=monitor", data_dir)
    with store.connect() as connection:
        assert connection.exec_driver_sql("SHOW application_name").scalar() == "monitor"
    store.close()


def test_a_store_that_went_away_is_missed_by_the_next_ping(sqlite_store: Store, data_dir: Path) -> None:
    sqlite_store.ping()
    sqlite_store.close()
    for path in data_dir.iterdir():
        path.unlink()
    data_dir.rmdir()
    with pytest.raises(StoreUnavailable, match="unable to open database file"):
        sqlite_store.ping()
