"""An online copy of a SQLite store: one moment of it, taken while others go on writing.

The target is there whole or not at all, and a file that exists is left alone.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import sqlalchemy as sa

from plugbay.errors import BackupFailed
from plugbay.private_files import PRIVATE_FILE, make_private_file, sync_dir

PAGES_PER_STEP = 1024  # 4 MB: between two steps a Ctrl-C is heard


def backup_store(url: sa.URL, target: Path) -> None:
    """Copies the store at this URL, opened by others or not, as it is: without migrating it first."""
    if url.get_backend_name() != "sqlite":
        raise BackupFailed(target=target, reason="a PostgreSQL store is copied with pg_dump")
    assert url.database is not None
    if not Path(url.database).is_file():
        raise BackupFailed(target=target, reason=f"there is no store at {url.database}")
    _backup_sqlite(Path(url.database), target)


def _backup_sqlite(source: Path, target: Path) -> None:
    try:
        if target.exists():
            raise FileExistsError(f"{target.name} exists already")
        # a folder of its own: what SQLite puts beside the copy goes with it, whatever happens
        with TemporaryDirectory(prefix=".plugbay-backup-", dir=target.parent) as folder:
            part = Path(folder, "copy")
            make_private_file(part)
            _copy(source, part)
            _publish(part, target)
    except (OSError, sqlite3.Error) as error:
        raise BackupFailed(target=target, reason=getattr(error, "strerror", None) or error) from error


def _copy(source: Path, part: Path) -> None:
    address = f"{source.as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as reader:
        # one read transaction around all steps: without it, every write by others starts the copy anew
        reader.execute("BEGIN")
        reader.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        with closing(sqlite3.connect(part, isolation_level=None)) as copy:
            reader.backup(copy, pages=PAGES_PER_STEP)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file that stands alone


def _publish(part: Path, target: Path) -> None:
    with part.open("rb") as file:
        os.fsync(file.fileno())
    try:
        os.link(part, target)  # unlike a rename, it never replaces a file that came in between
    except FileExistsError:
        raise
    except OSError:
        _publish_without_link(part, target)
    sync_dir(target.parent)


def _publish_without_link(part: Path, target: Path) -> None:
    """For file systems without hard links, such as exFAT: an empty file takes the name first."""
    target.touch(PRIVATE_FILE, exist_ok=False)
    try:
        part.replace(target)
    except BaseException:
        target.unlink()
        raise
