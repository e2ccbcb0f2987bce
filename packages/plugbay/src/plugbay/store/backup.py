"""An online copy of a SQLite store: one moment of it, taken while others go on writing."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from plugbay.errors import BackupFailed
from plugbay.private_files import make_private_file, sync_dir

PAGES_PER_STEP = 1024  # 4 MB: between two steps a Ctrl-C is heard
FOR_POSTGRESQL = "a PostgreSQL store is copied with pg_dump"


def backup_sqlite(source: Path, target: Path) -> None:
    """Copies the store to a new file that is there whole or not at all; a file that exists is left alone."""
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
    os.link(part, target)  # unlike a rename, it never replaces a file that came in between
    sync_dir(target.parent)
