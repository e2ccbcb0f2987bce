"""The online copy: whole, of one moment, while others write; never over an existing file."""

import errno
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Self

import pytest
import sqlalchemy as sa
from plugbay.errors import BackupFailed
from plugbay.store import Store, backup_store, new_metadata, open_store
from plugbay.store.engines import sqlite_url

PAIRS = 2000
ledger = sa.Table(
    "ledger",
    new_metadata(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("amount", sa.Integer, nullable=False),
    sa.Column("memo", sa.Text),
)


@pytest.fixture
def sqlite_store(sqlite_store: Store) -> Store:
    """A store of some 4 MB in which all amounts sum up to nought after every transaction."""
    rows = [{"amount": sign, "memo": "x" * 1000} for _ in range(PAIRS) for sign in (1, -1)]
    with sqlite_store.begin() as connection:
        ledger.create(connection)
        connection.execute(sa.insert(ledger), rows)
    return sqlite_store


def ask(path: Path, query: str) -> object:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchone()[0]


def test_the_copy_is_a_store_like_the_first(sqlite_store: Store, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    sqlite_store.backup(target)
    assert ask(target, "PRAGMA integrity_check") == "ok"
    copy = open_store(f"sqlite:///{target}", tmp_path / "other")
    with copy.connect() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(ledger)) == 2 * PAIRS
    copy.close()


def test_the_copy_is_one_file_that_only_its_owner_may_read(sqlite_store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    sqlite_store.backup(folder / "copy.db")
    assert [path.name for path in folder.iterdir()] == ["copy.db"]
    assert (folder / "copy.db").stat().st_mode & 0o777 == 0o600
    assert ask(folder / "copy.db", "PRAGMA journal_mode") == "delete"


class Writer:
    """Moves amounts about, without end; counts its transactions."""

    def __init__(self, store: Store) -> None:
        self.done = 0
        self._store = store
        self._moved, self._stop = threading.Condition(), threading.Event()
        self._thread = threading.Thread(target=self._write)

    def _write(self) -> None:
        while not self._stop.is_set():
            with self._store.begin() as connection:
                connection.execute(sa.update(ledger).values(amount=-ledger.c.amount))
                connection.execute(sa.insert(ledger), [{"amount": 7}, {"amount": -7}])
            with self._moved:
                self.done += 1
                self._moved.notify()

    def wait_for_more_than(self, done: int) -> None:
        with self._moved:
            assert self._moved.wait_for(lambda: self.done > done, 60)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def test_a_copy_taken_among_writers_is_of_one_moment(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []  # how many transactions were finished at each step of the copy

    class InSmallSteps(sqlite3.Connection):
        def backup(self, target: sqlite3.Connection, **_: object) -> None:  # type: ignore[override]
            super().backup(target, pages=64, progress=let_the_writer_in)

    def let_the_writer_in(*_: int) -> None:
        steps.append(writer.done)
        if len(steps) < 5:
            writer.wait_for_more_than(steps[-1])

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{"factory": InSmallSteps, **k}))
    with Writer(sqlite_store) as writer:
        sqlite_store.backup(tmp_path / "copy.db")
    monkeypatch.undo()
    copy = tmp_path / "copy.db"
    assert steps[4] >= steps[0] + 4
    assert ask(copy, "PRAGMA integrity_check") == "ok"
    assert ask(copy, "SELECT sum(amount) FROM ledger") == 0
    # the copy is of its first moment, not of its last: it was not begun anew at each of the writer's commits
    assert ask(copy, f"SELECT count(*) <= {2 * PAIRS + 2 * (steps[0] + 1)} FROM ledger") == 1


def test_a_file_that_exists_is_refused_and_left_alone(sqlite_store: Store, tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_text("precious")
    with pytest.raises(BackupFailed, match=r"No backup was made at .*copy\.db: copy\.db exists already"):
        sqlite_store.backup(tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "precious"


def test_a_file_that_comes_in_between_is_left_alone(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, link = tmp_path / "copy.db", os.link

    def slow_link(source: Path, to: Path) -> None:
        target.write_text("precious")
        link(source, to)

    monkeypatch.setattr(os, "link", slow_link)
    with pytest.raises(BackupFailed, match="File exists"):
        sqlite_store.backup(target)
    assert target.read_text() == "precious"


def without_links(*_: object) -> None:
    raise PermissionError(errno.EPERM, "Operation not permitted")


def test_a_file_system_without_hard_links_gets_its_copy(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    monkeypatch.setattr(os, "link", without_links)
    sqlite_store.backup(folder / "copy.db")
    assert [path.name for path in folder.iterdir()] == ["copy.db"]
    assert (folder / "copy.db").stat().st_mode & 0o777 == 0o600
    assert ask(folder / "copy.db", "PRAGMA integrity_check") == "ok"


def test_without_hard_links_a_file_that_comes_in_between_is_left_alone(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "copy.db"

    def slow_link(source: Path, to: Path) -> None:
        target.write_text("precious")
        without_links()

    monkeypatch.setattr(os, "link", slow_link)
    with pytest.raises(BackupFailed, match="File exists"):
        sqlite_store.backup(target)
    assert target.read_text() == "precious"


def test_without_hard_links_a_copy_that_breaks_off_leaves_no_empty_file(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    monkeypatch.setattr(os, "link", without_links)
    monkeypatch.setattr(os, "replace", without_links)
    with pytest.raises(BackupFailed, match="Operation not permitted"):
        sqlite_store.backup(folder / "copy.db")
    assert list(folder.iterdir()) == []


def test_a_folder_that_is_missing_is_named(sqlite_store: Store, tmp_path: Path) -> None:
    with pytest.raises(BackupFailed, match="No such file or directory"):
        sqlite_store.backup(tmp_path / "nowhere" / "copy.db")


def test_a_copy_that_does_not_fit_leaves_nothing_behind(sqlite_store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    program = """if True:
        import resource, signal, sys
        from pathlib import Path
        from plugbay.errors import BackupFailed
        from plugbay.store import backup_store
        from plugbay.store.engines import sqlite_url
        url = sqlite_url(Path(sys.argv[1]))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
        try:
            backup_store(url, Path(sys.argv[2]))
        except BackupFailed as error:
            print(error)
    """
    command = [sys.executable, "-c", program, str(sqlite_store.url.database), str(folder / "copy.db")]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert said.stdout.startswith(f"No backup was made at {folder / 'copy.db'}:")
    assert list(folder.iterdir()) == []


def test_postgresql_has_a_tool_of_its_own(postgres_url: str, data_dir: Path, tmp_path: Path) -> None:
    store = Store(postgres_url, data_dir)
    with pytest.raises(BackupFailed, match="pg_dump"):
        store.backup(tmp_path / "copy.db")
    store.close()


def test_a_store_that_is_not_there_is_named_and_not_made(tmp_path: Path) -> None:
    missing = tmp_path / "data" / "plugbay.db"
    with pytest.raises(BackupFailed, match=f"there is no store at {missing}"):
        backup_store(sqlite_url(missing), tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []


def test_a_store_of_an_older_version_is_copied_as_it_is(data_dir: Path, tmp_path: Path) -> None:
    old = Store("", data_dir)  # the file alone, without a single table
    backup_store(old.url, tmp_path / "copy.db")
    old.close()
    assert ask(tmp_path / "copy.db", "SELECT count(*) FROM sqlite_master") == 0


def plugbay_backup(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("plugbay")), "backup", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_command_copies_a_store_that_is_in_use(
    sqlite_store: Store, data_dir: Path, tmp_path: Path
) -> None:
    with sqlite_store.begin() as connection:
        connection.execute(sa.insert(ledger).values(amount=1000))
        done = plugbay_backup(tmp_path / "copy.db", "--data-dir", data_dir)
    assert (done.returncode, done.stdout) == (0, "")
    assert ask(tmp_path / "copy.db", "SELECT sum(amount) FROM ledger") == 0


def test_the_command_says_in_one_line_why_it_did_not(tmp_path: Path) -> None:
    done = plugbay_backup(tmp_path / "copy.db", "--data-dir", tmp_path / "nowhere")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "there is no store at" in done.stderr
